import { z } from "zod";
import { type Clock, waitMs } from "../../../lib/clock.ts";
import { RangemakerError, reasonOf } from "../../../lib/errors.ts";
import { tryParseJson } from "../../../lib/json.ts";
import { NetworkError, request } from "../../../lib/net/http_request.ts";
import { type Quote, quoteToWire } from "../../../lib/protocol/quote.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { riskOf } from "../../../lib/protocol/bet.ts";
import { solverLog } from "../shared/solver_log.ts";
import { solverError } from "../shared/errors.ts";

/** Covers the solver's risk elsewhere before a thesis is submitted. */
export interface Hedge {
  /**
   * Resolves when the risk of a quote is covered. Idempotent by the quote hash: it is called again
   * after a crash.
   *
   * @throws {RangemakerError} If the risk is not covered; `retry` is `later` if it may be.
   */
  cover(quoteHash: Hex, quote: Quote): Promise<void>;
}

/** Waits and covers nothing (spec: quote solver, flow step 4). */
export class SimulatedHedge implements Hedge {
  readonly #clock: Clock;
  readonly #delayMs: number;

  constructor(clock: Clock, delayMs: number) {
    this.#clock = clock;
    this.#delayMs = delayMs;
  }

  cover(): Promise<void> {
    return waitMs(this.#clock, this.#delayMs);
  }
}

/** Longest reason of a refusal in our own message. */
const REASON_LENGTH_MAX = 200;

/** Longest answer of a hedging service. */
const HEDGE_ANSWER_BYTES_MAX = 64 * 1024;

const answerSchema = z.discriminatedUnion("hedged", [
  z.object({ hedged: z.literal(true) }),
  z.object({ hedged: z.literal(false), reason: z.string().optional() }),
]);

interface HttpHedgeOptions {
  /** `--hedge-url`: receives `POST { quoteHash, quote, risk }`. */
  url: string;
  /** Timeout of one answer, in milliseconds. */
  timeoutMs: number;
}

/**
 * Asks the maker's own service to cover each execution, and waits for its answer. The same
 * execution may be sent again, with the same `Idempotency-Key`: the quote hash.
 */
export function createHttpHedge({ url, timeoutMs }: HttpHedgeOptions): Hedge {
  // Neither the path nor the query, which may contain a key.
  const service = new URL(url).origin;
  const unavailable = (
    quoteHash: Hex,
    { reason, status, cause }: { reason: string; status?: number; cause: unknown },
  ) => {
    const logged = cause instanceof NetworkError ? reasonOf(cause) : reason;
    solverLog.hedgeFailed(quoteHash, { service, status, reason: logged });
    const message = `Execution is not hedged yet: the hedging service ${reason}`;
    return new RangemakerError("HEDGE_UNAVAILABLE", message, { retry: "later", cause });
  };
  return {
    /**
     * @throws {RangemakerError} `HEDGE_REFUSED` if the service refuses, which is final.
     * @throws {RangemakerError} `HEDGE_UNAVAILABLE` without a valid answer: it may succeed later.
     */
    async cover(quoteHash, quote) {
      const risk = String(riskOf(quote));
      const json = { quoteHash, quote: quoteToWire(quote), risk };
      const headers = { "idempotency-key": quoteHash };
      const maxBytes = HEDGE_ANSWER_BYTES_MAX;
      let answer: { status: number; text: string };
      try {
        answer = await request(url, { json, headers, timeoutMs, maxBytes });
      } catch (cause) {
        throw unavailable(quoteHash, { reason: "did not answer", cause });
      }
      const { status, text } = answer;
      const parsed = answerSchema.safeParse(tryParseJson(text));
      if (status !== 200 || !parsed.success) {
        const reason = status === 200 ? "gave an invalid answer" : `answered with status ${status}`;
        throw unavailable(quoteHash, { reason, status, cause: parsed.error });
      }
      if (parsed.data.hedged) return;
      const reason = parsed.data.reason?.slice(0, REASON_LENGTH_MAX) ?? "no reason given";
      throw solverError("HEDGE_REFUSED", { reason });
    },
  };
}
