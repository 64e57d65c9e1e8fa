import type { Clock } from "../../../lib/clock.ts";
import type { ChainGuard } from "../../../lib/intents/chain_guard.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import type { Markets } from "../../../lib/protocol/markets.ts";
import type { NodePrice } from "../../../lib/protocol/price.ts";
import type { Quote, UnsignedQuote } from "../../../lib/protocol/quote.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { riskOf } from "../../../lib/protocol/bet.ts";
import { solverError } from "../shared/errors.ts";
import { type Balances, requireBalances } from "./exposure_limit.ts";
import type { PricingStrategy } from "../pricing/strategy.ts";

export interface PreTradeChecksOptions {
  node: Pick<CoreClient, "getPrices" | "getAccount">;
  solver: Address;
  clock: Clock;
  markets: Markets;
  /** Largest loss of the solver on one thesis (payout minus bet), USDC with 6 decimals. */
  maxRisk: bigint;
  /** Usual duration of a hedge, in milliseconds: a quote must live that long. */
  hedgeMs: number;
  strategy: Pick<PricingStrategy, "recheck" | "holdMs">;
  guard: Pick<ChainGuard, "clocks">;
}

/** Checks one execution by itself; `ExposureLimit` checks it together with the others. */
export class PreTradeChecks {
  readonly #options: PreTradeChecksOptions;

  constructor(options: PreTradeChecksOptions) {
    this.#options = options;
  }

  /**
   * The checks of time, risk and balances before an execution is recorded.
   *
   * @returns The balances.
   * @throws {RangemakerError} If a check fails or the node cannot be asked.
   */
  async requirePlaceable(quote: Quote): Promise<Balances> {
    const { node, solver, hedgeMs, markets } = this.#options;
    this.requireTimeLeft(quote, this.holdMs(quote) + hedgeMs);
    this.#requireRisk(quote);
    const [prices, solverAccount, userAccount] = await Promise.all([
      node.getPrices(),
      node.getAccount(solver),
      node.getAccount(quote.user),
    ]);
    const market = markets.find(quote.base, quote.quote);
    requireFreshPrice(market?.symbol ?? "this pair", market && prices[market.symbol]);
    const balances = { user: userAccount.balance, solver: solverAccount.balance };
    requireBalances(quote, balances, []);
    return balances;
  }

  /**
   * The recheck of the price before an execution is recorded.
   *
   * @throws {RangemakerError} If the price is unknown, or the payout no longer acceptable.
   */
  requirePrice(quote: Quote): void {
    this.#options.strategy.recheck(quote, quote.payout, { isRecorded: false });
  }

  /** How long an execution is held before it is rechecked and hedged, in milliseconds. */
  holdMs(quote: Quote): number {
    return this.#options.strategy.holdMs?.(quote, quote.payout) ?? 0;
  }

  /**
   * The checks that need no node: time, risk and price. A recorded execution is rechecked after its
   * hold, since it may have been unfinished for a while, and after its hedge.
   *
   * @param options `isHedged`: the hedge needs no more time.
   * @throws {RangemakerError} If a check fails; `retry` is `later` if the price may be known then.
   */
  recheck(quote: Quote, { isHedged }: { isHedged: boolean }): void {
    this.requireTimeLeft(quote, isHedged ? 0 : this.#options.hedgeMs);
    this.#requireRisk(quote);
    this.#options.strategy.recheck(quote, quote.payout, { isRecorded: true });
  }

  /**
   * @throws {RangemakerError} `DEADLINE_PASSED` if the deadline is less than `neededMs` away, or
   *   `CLOCKS_DIFFER`.
   */
  requireTimeLeft({ deadline }: UnsignedQuote, neededMs: number): void {
    const { clock, guard } = this.#options;
    const leftMs = deadline - clock.now();
    const isInTime = leftMs >= Math.max(0, neededMs); // false also if a time is NaN
    if (isInTime) return;
    // A clock that is known to be wrong proves nothing: another solver may execute the quote.
    throw guard.clocks.problem ?? solverError("DEADLINE_PASSED", { deadline, leftMs, neededMs });
  }

  #requireRisk(quote: Quote): void {
    const { maxRisk } = this.#options;
    const risk = riskOf(quote);
    if (risk > maxRisk) {
      throw solverError("RISK_TOO_LARGE", { payout: quote.payout, risk, maxRisk });
    }
  }
}

function requireFreshPrice(symbol: string, price: NodePrice | undefined): void {
  if (price?.state !== "fresh") {
    throw solverError("PRICE_STALE", { symbol, ageMs: price?.ageMs ?? null });
  }
}
