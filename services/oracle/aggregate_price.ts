import { isDeepStrictEqual } from "node:util";
import { serviceLog } from "../../lib/log/logging.ts";
import { ProblemTracker } from "../../lib/log/problem_tracker.ts";
import { type Market, PRICE_DECIMALS } from "../../lib/protocol/markets.ts";
import { formatPrice, type PriceEntry } from "../../lib/protocol/price.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../lib/protocol/providers.ts";
import { type Aggregation, AGGREGATIONS } from "./aggregation.ts";
import { JumpGuard } from "./jump_guard.ts";

/** The last price of one provider in one market; times are Unix milliseconds. */
interface SourcePrice {
  provider: ProviderName;
  /** Integer with 6 decimals. */
  price: bigint;
  receivedAtMs: number;
  /** When the exchange last showed that this is still its price. */
  confirmedAtMs: number;
  /** When the exchange last sent anything for this market, or reported that it has nothing. */
  aliveAtMs: number;
}

export interface PriceRules {
  aggregation: Aggregation;
  /** With fewer contributing sources there is no price. */
  minSources: number;
  /** A source confirmed longer ago than this is not fresh, in milliseconds. */
  maxSourceAgeMs: number;
}

/**
 * A heartbeat keeps the last trade valid until the trade is this old, in milliseconds. With few
 * orders, a live exchange often has no trade for 15 s, and sometimes for minutes.
 */
const QUIET_SOURCE_MAX_MS = 30_000;

/**
 * One market: its sources, and the aggregate of their prices.
 *
 * A source is fresh for `maxSourceAgeMs` after its price was confirmed. A source is quiet if its
 * exchange only reports that it has nothing to send. Quiet sources contribute to a median while
 * fresh sources outnumber them, so that a median always lies between fresh prices. An average
 * contains fresh prices only.
 */
export class AggregatePrice {
  readonly #rules: PriceRules;
  readonly #market: Market;
  /** All sources with a price, in the order of the spec's providers. */
  #known: SourcePrice[] = [];
  #contributing: SourcePrice[] = [];
  /** The next time at which a source stops contributing; Infinity for none. */
  #dueAtMs = Infinity;
  readonly #guard = new JumpGuard();
  #isWithheld = false;
  /** From a withheld price to the next one that is served. */
  readonly #jump = new ProblemTracker();
  #entry: PriceEntry | undefined;

  constructor(market: Market, rules: PriceRules) {
    this.#market = market;
    this.#rules = rules;
  }

  /** The contributing sources, in the order of the spec's providers. */
  get sources(): readonly SourcePrice[] {
    return this.#contributing;
  }

  get entry(): PriceEntry | undefined {
    return this.#entry;
  }

  /** Whether the price is withheld: it jumped while sources are missing, see {@link JumpGuard}. */
  get isWithheld(): boolean {
    return this.#isWithheld;
  }

  /** When {@link refresh} is due, Unix milliseconds; Infinity for never. */
  get dueAtMs(): number {
    return this.#dueAtMs;
  }

  /** Records a provider's newest price. @returns Whether the entry changed. */
  update(provider: ProviderName, price: bigint, timeMs: number): boolean {
    const times = { receivedAtMs: timeMs, confirmedAtMs: timeMs, aliveAtMs: timeMs };
    this.#known = this.#known.filter((source) => source.provider !== provider);
    this.#known.push({ provider, price, ...times });
    this.#known.sort((a, b) => rank(a.provider) - rank(b.provider));
    return this.refresh(timeMs);
  }

  /** Records that a provider's price is still its newest. @returns Whether the entry changed. */
  confirm(provider: ProviderName, timeMs: number): boolean {
    const known = this.#find(provider);
    if (known === undefined || timeMs - known.receivedAtMs > QUIET_SOURCE_MAX_MS) return false;
    known.confirmedAtMs = known.aliveAtMs = timeMs;
    return this.refresh(timeMs);
  }

  /** Records that a provider has nothing to send. @returns Whether the entry changed. */
  keepAlive(provider: ProviderName, timeMs: number): boolean {
    const known = this.#find(provider);
    if (known === undefined) return false;
    known.aliveAtMs = timeMs;
    return this.refresh(timeMs);
  }

  /** Removes a provider's price. @returns Whether the entry changed. */
  removeProvider(provider: ProviderName, timeMs: number): boolean {
    this.#known = this.#known.filter((source) => source.provider !== provider);
    return this.refresh(timeMs);
  }

  /**
   * Finds the sources that contribute at `timeMs`. A source time after `timeMs` counts as `timeMs`.
   *
   * @returns Whether the entry changed.
   */
  refresh(timeMs: number): boolean {
    const before = this.#entry;
    this.#clampTo(timeMs);
    const fresh = this.#known.filter((source) => !this.#isStale(source, timeMs));
    const quiet = this.#quietSources(timeMs);
    // Always fewer than the fresh ones.
    const contributingQuiet = quiet.toSorted((a, b) => b.receivedAtMs - a.receivedAtMs)
      .slice(0, Math.max(0, fresh.length - 1));
    this.#contributing = this.#known.filter((source) =>
      fresh.includes(source) || contributingQuiet.includes(source)
    );
    const { maxSourceAgeMs } = this.#rules;
    this.#dueAtMs = 1 + Math.min(
      ...fresh.map((source) => source.confirmedAtMs + maxSourceAgeMs),
      ...quiet.map(({ aliveAtMs, receivedAtMs }) =>
        Math.min(aliveAtMs + maxSourceAgeMs, receivedAtMs + QUIET_SOURCE_MAX_MS)
      ),
    );
    this.#entry = this.#aggregate();
    return !isDeepStrictEqual(this.#entry, before);
  }

  #clampTo(timeMs: number): void {
    for (const source of this.#known) {
      source.receivedAtMs = Math.min(source.receivedAtMs, timeMs);
      source.confirmedAtMs = Math.min(source.confirmedAtMs, timeMs);
      source.aliveAtMs = Math.min(source.aliveAtMs, timeMs);
    }
  }

  #find(provider: ProviderName): SourcePrice | undefined {
    return this.#known.find((source) => source.provider === provider);
  }

  #isStale(source: SourcePrice, timeMs: number): boolean {
    return timeMs - source.confirmedAtMs > this.#rules.maxSourceAgeMs;
  }

  #quietSources(timeMs: number): SourcePrice[] {
    const { aggregation, maxSourceAgeMs } = this.#rules;
    if (aggregation === "average") return [];
    return this.#known.filter((source) =>
      this.#isStale(source, timeMs) && timeMs - source.aliveAtMs <= maxSourceAgeMs &&
      timeMs - source.receivedAtMs <= QUIET_SOURCE_MAX_MS
    );
  }

  #aggregate(): PriceEntry | undefined {
    const { aggregation, minSources } = this.#rules;
    this.#isWithheld = false;
    const prices = this.#contributing.map((source) => source.price);
    if (prices.length < Math.max(1, minSources)) return undefined;
    const price = AGGREGATIONS[aggregation](prices);
    const sources = this.#contributing.map((source) => source.provider);
    const { symbol, base, quote } = this.#market;
    const confirmedAtMs = this.#contributing.map((source) => source.confirmedAtMs)
      .sort((a, b) => a - b);
    if (!this.#guard.accepts(price, prices, confirmedAtMs.at(-1)!)) { // at least one source
      this.#isWithheld = true;
      if (this.#jump.begin()) warnOfJump(symbol, price, sources);
      return undefined;
    }
    if (this.#jump.end()) logEndOfJump(symbol, price, sources);
    // More than half of the sources of a median, and all of an average, have confirmed since then.
    const lastUpdate = confirmedAtMs[aggregation === "median" ? (prices.length - 1) >> 1 : 0]!;
    return { base, quote, price, decimals: PRICE_DECIMALS, lastUpdate, sources };
  }
}

function rank(provider: ProviderName): number {
  return PROVIDER_NAMES.indexOf(provider);
}

function warnOfJump(pair: string, price: bigint, sources: readonly ProviderName[]): void {
  serviceLog("oracle").warn(
    "Price of {pair} withheld: it jumped to {price} and has no source but {sources}; waiting for a second source to confirm it",
    { event: "price_withheld", pair, price: formatPrice(price), sources: sources.join(", ") },
  );
}

function logEndOfJump(pair: string, price: bigint, sources: readonly ProviderName[]): void {
  serviceLog("oracle").info(
    "Price of {pair} is served again: {price} from {sources}",
    { event: "price_served_again", pair, price: formatPrice(price), sources: sources.join(", ") },
  );
}
