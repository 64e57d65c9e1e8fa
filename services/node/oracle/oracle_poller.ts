import type { Counter } from "prom-client";
import { z } from "zod";
import { type Clock, withinMs } from "../../../lib/clock.ts";
import { messageOf, reasonOf } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { request } from "../../../lib/net/http_request.ts";
import { describeIssue } from "../../../lib/protocol/describe_input.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import { redactUrls } from "../../../lib/redact.ts";
import type { OraclePrices } from "./oracle_prices.ts";

/** How long the request of a pull may take. */
export const LATE_ANSWER_MAX_MS = 1_000;

/** Longest answer of an oracle: thousands of markets. */
const PRICES_BYTES_MAX = 1024 * 1024;

/** The parsed body of `GET /prices`, or the reason why there is none. */
export type PricesAnswer = { body: unknown } | { reason: string };

/** Why a pull failed; `invalid`: the answer was not a valid body of `GET /prices`. */
type PullFailure = "timeout" | "error" | "invalid";

interface OraclePollerOptions {
  url: string;
  /** Asks the oracle once, as {@link readPrices} does; never rejects. */
  read(signal: AbortSignal): Promise<PricesAnswer>;
  /** How long a pull waits for its answer. */
  timeoutMs: number;
  prices: OraclePrices;
  clock: Clock;
  metrics: { pulls: Counter<"outcome">; lateAnswers: Counter };
}

/**
 * Pulls prices from the oracle at each checkpoint (spec: price oracle, pull cycle), and logs when
 * markets have no fresh price any more. After a failed pull, the last prices stay.
 */
export class OraclePoller {
  readonly #options: OraclePollerOptions;
  readonly #log = serviceLog("node");
  readonly #requests = new Set<AbortController>();
  /** Symbols of the markets that were reported as stale. */
  readonly #stale = new Set<string>();
  #firstCheckAtMs: number | undefined;
  #lastSuccessAtMs: number | undefined;
  #lastFailure: { time: number; outcome: PullFailure; reason: string } | undefined;
  /** Why the last late pull failed in the end; undefined after an answer. */
  #lateFailure: string | undefined;
  #failuresInARow = 0;
  #pulls = 0;
  /** The last pull whose answer was used: late answers of earlier ones are not. */
  #answeredPull = 0;

  constructor(options: OraclePollerOptions) {
    this.#options = options;
  }

  /**
   * Pulls once. Never rejects, and resolves within the timeout. After a timeout, the request
   * continues for up to {@link LATE_ANSWER_MAX_MS}, and a late answer serves the next checkpoint: on
   * a busy machine answers are late for seconds, and without them the node would have no prices.
   */
  async poll(): Promise<void> {
    const { timeoutMs, clock } = this.#options;
    const pull = this.#pulls += 1;
    const answer = this.#read();
    const inTime = await withinMs(answer, timeoutMs, undefined, clock);
    if (inTime === undefined) {
      void answer.then((late) => this.#applyLate(late, pull));
      const later = this.#lateFailure === undefined ? "" : `, and later: ${this.#lateFailure}`;
      this.#fail("timeout", `no answer within ${timeoutMs} ms${later}`);
    } else if ("reason" in inTime) this.#fail("error", inTime.reason);
    else this.#apply(inTime.body, pull);
    this.#reportStaleness();
  }

  /** Aborts the requests that still wait. */
  close(): void {
    for (const request of this.#requests) request.abort();
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

  /** @returns Undefined if the request was aborted. */
  #read(): Promise<PricesAnswer | undefined> {
    const { read, clock } = this.#options;
    const controller = new AbortController();
    this.#requests.add(controller);
    const cancel = clock.after(LATE_ANSWER_MAX_MS, () => controller.abort());
    return read(controller.signal).then((answer) => {
      cancel();
      this.#requests.delete(controller);
      return controller.signal.aborted ? undefined : answer;
    });
  }

  #apply(body: unknown, pull: number): void {
    const { prices, clock, metrics } = this.#options;
    const nowMs = clock.now();
    try {
      prices.update(body, nowMs);
    } catch (thrown) {
      const isShape = thrown instanceof z.ZodError;
      const reason = isShape
        ? `its answer has the wrong shape: ${describeIssue(thrown)}`
        : messageOf(thrown);
      return this.#fail("invalid", reason);
    }
    this.#answeredPull = pull;
    this.#lateFailure = undefined;
    this.#lastSuccessAtMs = nowMs;
    this.#failuresInARow = 0;
    metrics.pulls.inc({ outcome: "ok" });
  }

  /** The pull already counts as a timeout. If it failed or is invalid, the next pull reports it. */
  #applyLate(answer: PricesAnswer | undefined, pull: number): void {
    const { prices, clock, metrics } = this.#options;
    if (answer === undefined || pull < this.#answeredPull) return;
    this.#lateFailure = "reason" in answer ? answer.reason : undefined;
    if ("reason" in answer) return;
    try {
      if (prices.update(answer.body, clock.now()) > 0) metrics.lateAnswers.inc();
      this.#answeredPull = pull;
    } catch {
      // It is invalid.
    }
  }

  #fail(outcome: PullFailure, reason: string): void {
    const { clock, metrics } = this.#options;
    this.#failuresInARow += 1;
    this.#lastFailure = { time: clock.now(), outcome, reason };
    metrics.pulls.inc({ outcome });
  }

  /**
   * Logs markets that became stale or fresh. A market without any price is stale once the first
   * check is longer ago than `maxStaleMs`.
   */
  #reportStaleness(): void {
    const { clock, prices, url } = this.#options;
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
    if (stale.length > 0) {
      this.#log.warn("No fresh price of {markets} from the oracle at {url}: {reason}", {
        event: "prices_stale",
        markets: stale.join(", "),
        url,
        reason: this.#reason(),
      });
    }
    if (fresh.length > 0) {
      const facts = { event: "prices_fresh", markets: fresh.join(", ") };
      this.#log.info("Fresh prices of {markets} again", facts);
    }
  }

  /** The reason why a market may have no fresh price. */
  #reason(): string {
    if (this.#failuresInARow === 0) return "it answers without a fresh price";
    return this.#lastFailure?.reason ?? "";
  }
}

/** Reads `GET /prices` of the oracle at a URL. */
export async function readPrices(url: string, signal: AbortSignal): Promise<PricesAnswer> {
  try {
    const { status, text } = await request(`${url}/prices`, { signal, maxBytes: PRICES_BYTES_MAX });
    return status === 200 ? { body: JSON.parse(text) } : { reason: `status ${status}` };
  } catch (thrown) {
    return { reason: reasonOf(thrown) };
  }
}
