/** What must hold before a thesis is hedged and submitted; each failure says what, and by how much. */
import type { Clock } from "../../../lib/clock.ts";
import { SubmissionFailure } from "../../../lib/intents/submitter.ts";
import type { Account } from "../../../lib/protocol/account.ts";
import { findMarket } from "../../../lib/protocol/markets.ts";
import type { NodePrice } from "../../../lib/protocol/price.ts";
import type { Quote, QuoteTerms } from "../../../lib/protocol/quote.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { riskOf } from "./exposure_book.ts";
import type { PricingStrategy } from "../pricing/strategy.ts";

/** What the checks look at. */
export interface PreTradeChecksOptions {
  node: {
    getPrices(): Promise<Record<string, NodePrice>>;
    getAccount(address: Address): Promise<Account>;
  };
  solver: Address;
  clock: Clock;
  /** Most that the solver may lose on one thesis (payout minus bet), USDC with 6 decimals. */
  maxRisk: bigint;
  /** How long a hedge takes. */
  hedgeMs: number;
  /** Looks at the price again. */
  strategy: Pick<PricingStrategy, "recheck">;
  /** What of the solver's balance is promised to executions under way, this one included. */
  reserved(): bigint;
}

/**
 * Made before anything is recorded or hedged, so that what fails here leaves no trace. What concerns
 * the user alone, such as the balance for the bet, is left to the node, whose refusal is a result.
 */
export class PreTradeChecks {
  readonly #options: PreTradeChecksOptions;

  constructor(options: PreTradeChecksOptions) {
    this.#options = options;
  }

  /**
   * @throws {RangemakerError} If a check fails or the node cannot be asked; `retryable` if time may help.
   */
  async require(quote: Quote): Promise<void> {
    this.requireStillGood(quote);
    const { node, solver } = this.#options;
    const [prices, { balance }] = await Promise.all([node.getPrices(), node.getAccount(solver)]);
    requireFreshPrice(quote, prices);
    this.#requireBalance(balance);
  }

  /**
   * What can be told without the node: time enough for the hedge, risk and price. It is asked again
   * before the hedge, since an execution may have been left behind for a while.
   *
   * @throws {RangemakerError} If a check fails; `retryable` if time may help.
   */
  requireStillGood(quote: Quote): void {
    this.requireTimeLeft(quote, this.#options.hedgeMs);
    this.#requireRisk(quote);
    this.#options.strategy.recheck(quote, quote.payout);
  }

  /** @throws {RangemakerError} `DEADLINE_PASSED` if the deadline is less than `neededMs` away. */
  requireTimeLeft({ deadline }: QuoteTerms, neededMs: number): void {
    const leftMs = deadline - this.#options.clock.now();
    if (leftMs < 0) {
      throw new RangemakerError(
        SubmissionFailure.deadlinePassed,
        `Quote deadline ${deadline} passed ${-leftMs} ms ago`,
      );
    }
    if (leftMs >= neededMs) return;
    throw new RangemakerError(
      SubmissionFailure.deadlinePassed,
      `Quote deadline ${deadline} is ${leftMs} ms away: hedging takes ${neededMs} ms, ${
        neededMs - leftMs
      } ms too long`,
    );
  }

  #requireRisk(quote: Quote): void {
    const risk = riskOf(quote);
    const { maxRisk } = this.#options;
    if (risk <= maxRisk) return;
    throw new RangemakerError(
      "RISK_TOO_LARGE",
      `Payout ${quote.payout} would risk ${risk} on one thesis, ${risk - maxRisk} above ${maxRisk}`,
    );
  }

  #requireBalance(balance: bigint): void {
    const needed = this.#options.reserved();
    if (balance >= needed) return;
    throw new RangemakerError(
      "BALANCE_TOO_LOW",
      `Solver balance ${balance} is ${needed - balance} short of the ${needed} at risk in ` +
        "executions under way",
      { retryable: true },
    );
  }
}

function requireFreshPrice({ base, quote }: Quote, prices: Record<string, NodePrice>): void {
  const symbol = findMarket(base, quote)?.symbol ?? "this pair";
  const price = prices[symbol];
  if (price?.state === "fresh") return;
  const age = price === undefined ? "none was ever seen" : `the last is ${price.ageMs} ms old`;
  throw new RangemakerError("PRICE_STALE", `Core node has no fresh price of ${symbol}: ${age}`, {
    retryable: true,
  });
}
