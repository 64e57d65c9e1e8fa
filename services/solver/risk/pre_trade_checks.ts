/** What must hold before a thesis is hedged and submitted; each failure says what, and by how much. */
import type { Clock } from "../../../lib/clock.ts";
import type { Account } from "../../../lib/protocol/account.ts";
import { findMarket } from "../../../lib/protocol/markets.ts";
import type { NodePrice } from "../../../lib/protocol/price.ts";
import type { Quote, QuoteTerms } from "../../../lib/protocol/quote.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { RequestError } from "../../../lib/http/envelope.ts";
import { SubmissionFailure } from "../../../lib/submitter.ts";
import { riskOf } from "./exposure_book.ts";
import { PricingRefusedError } from "../pricing/refusals.ts";
import type { PricingStrategy } from "../pricing/strategy.ts";
import { betOf } from "../rules.ts";

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
   * @throws {RequestError} 400 where the quote or its user is at fault, 503 where time may help.
   * @throws {RangemakerError} If the node cannot be asked.
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
   * @throws {RequestError} 400 where the quote is at fault, 503 where time may help.
   */
  requireStillGood(quote: Quote): void {
    this.requireTimeLeft(quote, this.#options.hedgeMs);
    this.#requireRisk(quote);
    this.#requirePrice(quote);
  }

  /** @throws {RequestError} 400, if the deadline has passed or comes before `neededMs` are over. */
  requireTimeLeft({ deadline }: QuoteTerms, neededMs: number): void {
    const leftMs = deadline - this.#options.clock.now();
    if (leftMs < 0) {
      throw new RequestError(
        400,
        SubmissionFailure.deadlinePassed,
        `Quote deadline ${deadline} passed ${-leftMs} ms ago`,
      );
    }
    if (leftMs >= neededMs) return;
    throw new RequestError(
      400,
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
    throw new RequestError(
      400,
      "RISK_TOO_LARGE",
      `Payout ${quote.payout} would risk ${risk} on one thesis, ${risk - maxRisk} above ${maxRisk}`,
    );
  }

  /** In plain words: codes stand in front of messages in answers to quotes only. */
  #requirePrice(quote: Quote): void {
    try {
      this.#options.strategy.recheck(betOf(quote), quote.payout);
    } catch (thrown) {
      if (!(thrown instanceof PricingRefusedError)) throw thrown;
      throw new RequestError(thrown.status, thrown.code, thrown.reason, thrown);
    }
  }

  #requireBalance(balance: bigint): void {
    const needed = this.#options.reserved();
    if (balance >= needed) return;
    throw new RequestError(
      503,
      "BALANCE_TOO_LOW",
      `Solver balance ${balance} is ${needed - balance} short of the ${needed} at risk in ` +
        "executions under way",
    );
  }
}

function requireFreshPrice({ oraclePair }: Quote, prices: Record<string, NodePrice>): void {
  const symbol = findMarket(oraclePair.base, oraclePair.quote)?.symbol ?? "this pair";
  const price = prices[symbol];
  if (price?.state === "fresh") return;
  const age = price === undefined ? "none was ever seen" : `the last is ${price.ageMs} ms old`;
  throw new RequestError(503, "PRICE_STALE", `Core node has no fresh price of ${symbol}: ${age}`);
}
