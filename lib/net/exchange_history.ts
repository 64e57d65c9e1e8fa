import { z } from "zod";
import { type Clock, waitMs } from "../clock.ts";
import { RangemakerError, reasonOf } from "../errors.ts";
import { describeIssue } from "../protocol/describe_input.ts";
import { redactUrls } from "../redact.ts";
import { type HttpAnswer, request } from "./http_request.ts";

/** Binance's own endpoint for market data. */
export const EXCHANGE_HISTORY_URL = "https://data-api.binance.vision";

/** The provider behind that API, which decides the names of the markets. */
export const EXCHANGE_HISTORY_PROVIDER = "provider_a";

const ATTEMPTS_MAX = 5;

/** Longest page: a thousand trades or candles have 0.2 MB. */
const PAGE_BYTES_MAX = 1024 * 1024;

/** The wait before the second attempt; it grows with each further one. */
const RETRY_WAIT_MS = 1_000;

/** The longest wait before the next attempt, also if `Retry-After` is longer. */
const RETRY_WAIT_MAX_MS = 60_000;

/** The history of an exchange could not be read. */
export class ExchangeHistoryError extends RangemakerError {
  constructor(message: string) {
    super("EXCHANGE_HISTORY", message);
  }
}

export interface ExchangeHistoryOptions {
  /** {@link ATTEMPTS_MAX} by default. */
  attemptsMax?: number;
  /** Timeout of each attempt; by default that of every request. */
  timeoutMs?: number;
}

/** Reads Binance's public market data, or an endpoint with the same API: `--history-url`. */
export class ExchangeHistory {
  readonly #baseUrl: string;
  readonly #clock: Clock;
  readonly #options: ExchangeHistoryOptions;

  /** @param url Without the path, such as `https://data-api.binance.vision`. */
  constructor(url: string, clock: Clock, options: ExchangeHistoryOptions = {}) {
    this.#baseUrl = url.replace(/\/+$/, "");
    this.#clock = clock;
    this.#options = options;
  }

  /**
   * Reads one page.
   *
   * @param path Such as `/api/v3/aggTrades`.
   * @param signal Ends the request early; no further attempt follows.
   * @throws {ExchangeHistoryError} If the endpoint refuses, or every attempt fails.
   */
  async readPage<S extends z.core.$ZodType>(
    path: string,
    query: Record<string, string>,
    schema: S,
    signal?: AbortSignal,
  ): Promise<z.output<S>> {
    const { attemptsMax = ATTEMPTS_MAX, timeoutMs } = this.#options;
    const url = `${this.#baseUrl}${path}?${new URLSearchParams(query)}`;
    for (let attempt = 1;; attempt++) {
      const answer = await tryReadPage(url, schema, { signal, ...(timeoutMs && { timeoutMs }) });
      if ("page" in answer) return answer.page;
      if (!answer.isTransient || attempt === attemptsMax || signal?.aborted) {
        throw new ExchangeHistoryError(`Exchange history ${redactUrls(url)}: ${answer.reason}`);
      }
      const wantedMs = answer.waitMs ?? RETRY_WAIT_MS * attempt;
      await waitMs(this.#clock, Math.min(wantedMs, RETRY_WAIT_MAX_MS), signal);
    }
  }
}

type PageResult<T> = { page: T } | { reason: string; isTransient: boolean; waitMs?: number };

async function tryReadPage<S extends z.core.$ZodType>(
  url: string,
  schema: S,
  options: { signal: AbortSignal | undefined; timeoutMs?: number },
): Promise<PageResult<z.output<S>>> {
  try {
    const answer = await request(url, { ...options, maxBytes: PAGE_BYTES_MAX });
    if (answer.status !== 200) return failedPage(answer);
    const parsed = z.safeParse(schema, JSON.parse(answer.text));
    return parsed.success
      ? { page: parsed.data }
      : { reason: `unexpected answer: ${describeIssue(parsed.error)}`, isTransient: false };
  } catch (thrown) {
    return { reason: reasonOf(thrown), isTransient: true };
  }
}

function failedPage<T>({ status, headers, text }: HttpAnswer): PageResult<T> {
  const retryAfterSeconds = Number(headers.get("retry-after") ?? Number.NaN);
  return {
    reason: `status ${status}: ${text.slice(0, 200)}`,
    // The endpoint answers 418 to a caller that continued after 429.
    isTransient: status === 429 || status === 418 || status >= 500,
    waitMs: Number.isFinite(retryAfterSeconds) ? retryAfterSeconds * 1_000 : undefined,
  };
}
