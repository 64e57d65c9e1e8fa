import { MARKETS } from "../../../lib/protocol/markets.ts";
import type { OracleFeed } from "./oracle_feed.ts";

/** How a pull ended; `invalid` is an answer that is not one of `GET /prices`. */
export type PullOutcome = "ok" | "timeout" | "error" | "invalid";

/** How the node gets on with its oracle: what `core_getOracleStatus` and `/health` tell. */
export class OracleStatus {
  readonly #serviceUrl: string;
  readonly #feed: OracleFeed;
  #lastSuccessMs: number | undefined;
  #lastFailure: { time: number; outcome: PullOutcome; reason: string } | undefined;
  #failuresInARow = 0;

  constructor(serviceUrl: string, feed: OracleFeed) {
    this.#serviceUrl = serviceUrl;
    this.#feed = feed;
  }

  /** Pulls that failed since the last one that brought prices. */
  get failuresInARow(): number {
    return this.#failuresInARow;
  }

  /** Why there may be no fresh price of a market: how the last pull ended. */
  get reason(): string {
    if (this.#failuresInARow === 0) return "the oracle answers without it";
    return this.#lastFailure?.reason ?? "";
  }

  /** Takes note of a pull. */
  record(outcome: PullOutcome, reason: string, nowMs: number): void {
    if (outcome === "ok") {
      this.#lastSuccessMs = nowMs;
      this.#failuresInARow = 0;
      return;
    }
    this.#failuresInARow += 1;
    this.#lastFailure = { time: nowMs, outcome, reason };
  }

  /** `fresh` while bets are taken on every market. */
  state(nowMs: number): "fresh" | "stale" {
    return MARKETS.every((market) => this.#feed.isFresh(market, nowMs)) ? "fresh" : "stale";
  }

  /** The answer of `core_getOracleStatus`; times in Unix milliseconds. */
  describe(nowMs: number) {
    const view = this.#feed.view(nowMs);
    const markets = MARKETS.map(({ symbol }) => {
      const { state = "stale", lastUpdate = null, ageMs = null } = view[symbol] ?? {};
      return [symbol, { state, lastUpdate, ageMs }];
    });
    return {
      state: this.state(nowMs),
      serviceUrl: this.#serviceUrl,
      maxStaleMs: this.#feed.maxStaleMs,
      lastSuccess: this.#lastSuccessMs ?? null,
      lastFailure: this.#lastFailure ?? null,
      failuresInARow: this.#failuresInARow,
      markets: Object.fromEntries(markets),
    };
  }
}
