import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { MARKETS, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { Bet } from "../../../lib/protocol/bet.ts";
import { MarketState } from "../market/market_data.ts";
import { StrategyError } from "../pricing/load_strategy.ts";
import {
  createStrategyContext,
  type MarketView,
  PricingRefusedError,
  type PricingStrategy,
  type StrategyFactory,
} from "../pricing/strategy.ts";
import type { MarketVolatility } from "../pricing/volatility.ts";
import type { Maker, TrialBox, TrialQuote } from "./maker.ts";
import type { SlotPrice } from "./slots.ts";

/** A strategy's view of one market, fed slot by slot as in production. */
export class TapeMarket extends MarketState {
  readonly #priceAgeMs: number;
  /** Prices that are not old enough to be seen. */
  #delayed: NonNullable<MarketView["spot"]>[] = [];

  /** @param priceAgeMs Age of the spot that strategies see, in milliseconds. */
  constructor(volatility: MarketVolatility, priceAgeMs = 0) {
    super(MARKETS[0]!.symbol, volatility); // there are three
    this.#priceAgeMs = priceAgeMs;
  }

  observe({ timeMs, price }: SlotPrice): void {
    const value = BigInt(price);
    this.#delayed.push({ price: value, lastUpdateMs: timeMs, fresh: true });
    while (this.#delayed[0] && this.#delayed[0].lastUpdateMs <= timeMs - this.#priceAgeMs) {
      this.spot = this.#delayed.shift();
    }
    this.addHistory([{ time: timeMs, price: value }], timeMs);
  }
}

/** The bet on each box: 1 USDC. */
const BET = 1_000_000n;

/** Any market works: a recording has only one. */
const { base, quote } = MARKETS[0]!; // there are three

/** A strategy of the solver as a maker: the same code that quotes in production. */
export class StrategyMaker implements Maker {
  readonly name: string;
  readonly #strategy: PricingStrategy;
  readonly #path: string | undefined;

  /**
   * @param market Fed by the caller, since strategies share it.
   * @param path File of the strategy; undefined if it is built in.
   */
  constructor(create: StrategyFactory, market: TapeMarket, path?: string) {
    this.#path = path;
    this.#strategy = create(createStrategyContext({
      clock: { now: () => market.historyEndMs },
      marketView: () => market,
      markets: SPEC_MARKETS,
    }));
    this.name = this.#strategy.name;
  }

  observe(): void {}

  quote(box: TrialBox): TrialQuote | undefined {
    try {
      const { payout, details } = this.#ask((strategy) => strategy.price(betOf(box)));
      const ratio = Number(payout) / Number(BET);
      // Without details, the payout implies the strategy's probability.
      return { probability: details?.probability ?? Math.min(1, 1 / ratio), ratio };
    } catch (thrown) {
      if (!(thrown instanceof PricingRefusedError)) throw thrown;
      const probability = thrown.pricing?.probability;
      return probability === undefined ? undefined : { probability, ratio: undefined };
    }
  }

  accepts(box: TrialBox, _kind: unknown, ratio: number): boolean {
    return this.#passesRecheck(box, ratio, { isRecorded: false });
  }

  holdMs(box: TrialBox, ratio: number): number {
    return this.#ask((strategy) => strategy.holdMs?.(betOf(box), payoutOf(ratio)) ?? 0);
  }

  passesRecheck(box: TrialBox, ratio: number): boolean {
    return this.#passesRecheck(box, ratio, { isRecorded: true });
  }

  #passesRecheck(box: TrialBox, ratio: number, options: { isRecorded: boolean }): boolean {
    try {
      this.#ask((strategy) => strategy.recheck(betOf(box), payoutOf(ratio), options));
      return true;
    } catch (thrown) {
      if (thrown instanceof PricingRefusedError) return false;
      throw thrown;
    }
  }

  /** Asks the strategy. An exception of its file becomes an error for its author. */
  #ask<T>(question: (strategy: PricingStrategy) => T): T {
    try {
      return question(this.#strategy);
    } catch (thrown) {
      if (this.#path === undefined || thrown instanceof RangemakerError) throw thrown;
      throw new StrategyError(`Strategy ${this.#path} threw: ${messageOf(thrown)}`);
    }
  }
}

function payoutOf(ratio: number): bigint {
  return BigInt(Math.round(ratio * Number(BET)));
}

function betOf({ lower, upper, startMs, endMs }: TrialBox): Bet {
  return {
    thesisType: "box",
    base,
    quote,
    lowerPrice: BigInt(lower),
    upperPrice: BigInt(upper),
    betAmount: BET,
    startTime: startMs,
    endTime: endMs,
  };
}
