import type { Clock } from "../../../lib/clock.ts";
import { SubmissionFailure } from "../../../lib/intents/submitter_options.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { type Markets, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { NodePrice } from "../../../lib/protocol/price.ts";
import type { Quote, QuoteTerms } from "../../../lib/protocol/quote.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { type Balances, requireBalances } from "./balances.ts";
import { riskOf } from "./bet_at_risk.ts";
import type { PricingStrategy } from "../pricing/strategy.ts";

/** Dependencies of {@link PreTradeChecks}. */
export interface PreTradeChecksOptions {
  node: Pick<CoreClient, "getPrices" | "getAccount">;
  solver: Address;
  clock: Clock;
  /** Those of the specification by default. */
  markets?: Markets;
  /** Most that the solver may lose on one thesis (payout minus bet), USDC with 6 decimals. */
  maxRisk: bigint;
  /** Usual duration of a hedge, in milliseconds. */
  hedgeMs: number;
  strategy: Pick<PricingStrategy, "recheck" | "holdMs">;
}

/** Checks before an execution is recorded or hedged: a refusal here does not use up the quote. */
export class PreTradeChecks {
  readonly #options: PreTradeChecksOptions;

  constructor(options: PreTradeChecksOptions) {
    this.#options = options;
  }

  /**
   * Checks an execution as if it were the only one under way; recording it checks it together with all
   * others.
   *
   * @returns The balances.
   * @throws {RangemakerError} If a check fails or the node cannot be asked; `retryable` if time may help.
   */
  async require(quote: Quote): Promise<Balances> {
    const { node, solver, strategy, hedgeMs, markets = SPEC_MARKETS } = this.#options;
    this.requireTimeLeft(quote, this.holdMs(quote) + hedgeMs);
    this.#requireRisk(quote);
    strategy.recheck(quote, quote.payout, false);
    const [prices, own, users] = await Promise.all([
      node.getPrices(),
      node.getAccount(solver),
      node.getAccount(quote.user),
    ]);
    const symbol = markets.find(quote.base, quote.quote)?.symbol ?? "this pair";
    requireFreshPrice(symbol, prices[symbol]);
    const balances = { user: users.balance, solver: own.balance };
    requireBalances(quote, balances, []);
    return balances;
  }

  /** How long an execution waits before it is checked again and hedged, in milliseconds. */
  holdMs(quote: Quote): number {
    return this.#options.strategy.holdMs?.(quote) ?? 0;
  }

  /**
   * The checks that need no node: time, risk and price. They are made again after the wait of a recorded
   * execution, which may also have been left unfinished for a while, and after its hedge.
   *
   * @param isHedged The hedge needs no more time.
   * @throws {RangemakerError} If a check fails; `retryable` if time may help.
   */
  requireStillGood(quote: Quote, isHedged: boolean): void {
    this.requireTimeLeft(quote, isHedged ? 0 : this.#options.hedgeMs);
    this.#requireRisk(quote);
    this.#options.strategy.recheck(quote, quote.payout, true);
  }

  /** @throws {RangemakerError} `DEADLINE_PASSED` if the deadline is less than `neededMs` away. */
  requireTimeLeft({ deadline }: QuoteTerms, neededMs: number): void {
    const leftMs = deadline - this.#options.clock.now();
    if (leftMs < 0) {
      throw new RangemakerError(
        SubmissionFailure.deadlinePassed,
        `Quote deadline ${deadline} passed ${-leftMs} ms ago; request a new quote`,
        { details: { deadline, leftMs, neededMs } },
      );
    }
    if (leftMs >= neededMs) return;
    throw new RangemakerError(
      SubmissionFailure.deadlinePassed,
      `Quote deadline ${deadline} is ${leftMs} ms away: an execution takes ${neededMs} ms, ${
        neededMs - leftMs
      } ms too long; request a quote with a later deadline`,
      { details: { deadline, leftMs, neededMs } },
    );
  }

  #requireRisk(quote: Quote): void {
    const risk = riskOf(quote);
    const { maxRisk } = this.#options;
    if (risk <= maxRisk) return;
    throw new RangemakerError(
      "RISK_TOO_LARGE",
      `Payout ${quote.payout} would risk ${risk} on one thesis, ${
        risk - maxRisk
      } above ${maxRisk}; bet less`,
      { details: { payout: `${quote.payout}`, risk: `${risk}`, maxRisk: `${maxRisk}` } },
    );
  }
}

function requireFreshPrice(symbol: string, price: NodePrice | undefined): void {
  if (price?.state === "fresh") return;
  const age = price === undefined ? "it never had one" : `the last is ${price.ageMs} ms old`;
  throw new RangemakerError(
    "PRICE_STALE",
    `Core node has no fresh price of ${symbol}: ${age}; try again later`,
    {
      retryable: true,
    },
  );
}
