import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { redactUrls } from "../../../lib/redact.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import type { OraclePrices } from "./oracle_prices.ts";
import type { PullResult } from "./oracle_client.ts";

/** The outcome of a pull; `invalid`: the answer was not a valid body of `GET /prices`. */
type PullOutcome = "ok" | "timeout" | "error" | "invalid";

interface OraclePollerOptions {
  url: string;
  /** Asks the oracle once; never rejects. `onLate` receives an answer after the timeout. */
  pull(onLate: (body: unknown) => void): Promise<PullResult>;
  prices: OraclePrices;
  clock: Clock;
  onPull(outcome: PullOutcome): void;
  /** An answer came after the timeout of its pull and had another price. */
  onLatePrices(): void;
  /** These markets no longer have a fresh price, or have had none since the start. */
  onStale(symbols: readonly string[], reason: string): void;
  /** These markets were reported as stale and have a fresh price again. */
  onFresh(symbols: readonly string[]): void;
}

/**
 * Pulls prices from the oracle at each checkpoint (spec: price oracle, pull cycle) and reports the
 * outcomes. After a failed pull, the last prices stay; a late answer serves the next checkpoint.
 */
export class OraclePoller {
  readonly #options: OraclePollerOptions;
  /** Symbols of the markets that were reported as stale. */
  readonly #stale = new Set<string>();
  #firstCheckAtMs: number | undefined;
  #lastSuccessAtMs: number | undefined;
  #lastFailure: { time: number; outcome: PullOutcome; reason: string } | undefined;
  #failuresInARow = 0;
  #pulls = 0;
  /** The last pull whose answer was used: late answers of earlier ones are not. */
  #answeredPull = 0;

  constructor(options: OraclePollerOptions) {
    this.#options = options;
  }

  /** Pulls once. Never rejects. */
  async poll(): Promise<void> {
    const pull = this.#pulls += 1;
    const result = await this.#options.pull((body) => this.#applyLate(body, pull));
    if ("failure" in result) this.#fail(result.failure, result.reason);
    else this.#apply(result.body, pull);
    this.#reportStaleness();
  }

  /** `fresh` while every market has a fresh price and accepts bets. */
  state(nowMs: number): "fresh" | "stale" {
    return this.problem(nowMs) === undefined ? "fresh" : "stale";
  }

  /** The markets without a fresh price, which accept no bets, and why; undefined without any. */
  problem(nowMs: number): string | undefined {
    const { prices, url } = this.#options;
    const stale = prices.markets.filter((market) => !prices.isFresh(market, nowMs));
    if (stale.length === 0) return undefined;
    const symbols = stale.map(({ symbol }) => symbol).join(", ");
    return `No fresh price of ${symbols} from the oracle at ${redactUrls(url)}: ${this.#reason()}`;
  }

  /** The answer of `core_getOracleStatus`; times in Unix milliseconds. */
  viewStatus(nowMs: number) {
    const { prices, url } = this.#options;
    const view = prices.view(nowMs);
    const markets = prices.markets.map(({ symbol }) => {
      const { state = "stale", lastUpdate = null, ageMs = null } = view[symbol] ?? {};
      return [symbol, { state, lastUpdate, ageMs }];
    });
    return {
      state: this.state(nowMs),
      serviceUrl: redactUrls(url),
      maxStaleMs: prices.maxStaleMs,
      lastSuccess: this.#lastSuccessAtMs ?? null,
      lastFailure: this.#lastFailure ?? null,
      failuresInARow: this.#failuresInARow,
      markets: Object.fromEntries(markets),
    };
  }

  #apply(body: unknown, pull: number): void {
    const { prices, clock, onPull } = this.#options;
    const nowMs = clock.now();
    try {
      prices.update(body, nowMs);
    } catch (thrown) {
      return this.#fail("invalid", messageOf(thrown));
    }
    this.#answeredPull = pull;
    this.#lastSuccessAtMs = nowMs;
    this.#failuresInARow = 0;
    onPull("ok");
  }

  #applyLate(body: unknown, pull: number): void {
    const { prices, clock, onLatePrices } = this.#options;
    if (pull < this.#answeredPull) return;
    try {
      if (prices.update(body, clock.now()) > 0) onLatePrices();
      this.#answeredPull = pull;
    } catch {
      // This pull already counts as a timeout. If answers are invalid, the next pull reports it.
    }
  }

  #fail(outcome: PullOutcome, reason: string): void {
    const { clock, onPull } = this.#options;
    this.#failuresInARow += 1;
    this.#lastFailure = { time: clock.now(), outcome, reason };
    onPull(outcome);
  }

  /**
   * Reports markets that became stale or fresh. A market without any price is stale once the first
   * check is longer ago than `maxStaleMs`.
   */
  #reportStaleness(): void {
    const { clock, prices, onStale, onFresh } = this.#options;
    const nowMs = clock.now();
    this.#firstCheckAtMs ??= nowMs;
    const canBeStale = nowMs - this.#firstCheckAtMs > prices.maxStaleMs;
    const isFresh = (market: Market) => prices.isFresh(market, nowMs);
    const symbols = (markets: readonly Market[]) => markets.map(({ symbol }) => symbol);
    const stale = symbols(prices.markets.filter((market) => canBeStale && !isFresh(market)))
      .filter((symbol) => !this.#stale.has(symbol));
    const fresh = symbols(prices.markets.filter(isFresh))
      .filter((symbol) => this.#stale.delete(symbol));
    for (const symbol of stale) this.#stale.add(symbol);
    if (stale.length > 0) onStale(stale, this.#reason());
    if (fresh.length > 0) onFresh(fresh);
  }

  /** The reason why a market may have no fresh price. */
  #reason(): string {
    if (this.#failuresInARow === 0) return "it answers without a fresh price";
    return this.#lastFailure?.reason ?? "";
  }
}
