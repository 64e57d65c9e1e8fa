import { type Signal, signal } from "@preact/signals";
import * as z from "zod";
import type { Clock } from "@rangemaker/client";
import { tryParseJson } from "../../../../lib/json.ts";
import { get, type HttpAnswer, isAnswered, LateError, NoAnswerError, Poll } from "./http.ts";
import { MetricsHistory, parseMetrics } from "./metrics.ts";

/** The services that an operator looks after. */
export type ServiceName = "exchanges" | "oracle" | "node" | "proxy" | "bridge" | "solver";

/** Services with `GET /ready`, which checks the services that they need. */
export const WITH_READY: ReadonlySet<ServiceName> = new Set(["proxy", "bridge", "solver"]);

/** The known state of a service. */
export interface ServiceState {
  name: ServiceName;
  url: string;
  /** Undefined before the first poll has ended. */
  isUp: boolean | undefined;
  /** It has not answered a poll, or not yet ({@link OVERDUE_MS}). After two such polls it is away. */
  isSilent: boolean;
  /** The answer took too long, perhaps because the service waits for another one. */
  isLate: boolean;
  /** Its machine refuses connections, or cannot be reached: its process is gone. */
  isRefused: boolean;
  /** When it last answered, or was found not to answer. */
  checkedMs: number;
  /** Time since it was last away; Infinity if it never was. */
  awayAgoMs: number;
  /** When it last answered before it was away; undefined if nobody asked it shortly before. */
  lastAnswerMs?: number | undefined;
  /** Why it is away. */
  reason: string;
  /** The service answers, but does not allow this page to read it. */
  isForbidden: boolean;
  /** The status of its health answer. */
  health: string;
  /** Whether its health answer says healthy. */
  isHealthy: boolean;
  /** Undefined for services without `GET /ready`. */
  isReady: boolean | undefined;
  /** Messages of the service about what is missing. */
  complaints: readonly string[];
  history: MetricsHistory;
}

/** A healthy service answers sooner. */
const OVERDUE_MS = 1_500;

/** A service that was not asked for longer may have been away before: the computer slept. */
const UNASKED_MAX_MS = 120_000;

/** The parts of the services' answers to `/health` and `/ready` that are shown. */
const statusSchema = z.object({
  status: z.string().optional(),
  reason: z.string().optional(),
  error: z.string().optional(),
  problems: z.array(z.string()).optional(),
});

/** Polls one service while its {@link poll} is started. */
export class ServiceWatch {
  readonly state: Signal<ServiceState>;
  readonly #clock: Clock;
  readonly poll: Poll;
  #awayAtMs = -Infinity;

  constructor(name: ServiceName, url: string, clock: Clock) {
    this.#clock = clock;
    this.state = signal({
      name,
      url: url.replace(/\/+$/, ""),
      isUp: undefined,
      isSilent: false,
      isLate: false,
      isRefused: false,
      checkedMs: 0,
      awayAgoMs: Infinity,
      reason: "",
      isForbidden: false,
      health: "",
      isHealthy: true,
      isReady: undefined,
      complaints: [],
      history: new MetricsHistory(),
    });
    this.poll = new Poll(clock, (signal) => this.#read(signal));
  }

  /** Nothing is known of the service until it is asked again, as when this device had no network. */
  forget(): void {
    this.poll.stop();
    this.state.value = { ...this.state.value, isUp: undefined, isSilent: false, isLate: false };
  }

  async #read(signal: AbortSignal, attempt = this.state.value.isSilent ? 2 : 1): Promise<void> {
    const { url, name } = this.state.value;
    const overdue = setTimeout(() => this.#missAnswer(signal, true), OVERDUE_MS);
    try {
      const [metrics, health, ready] = await Promise.all([
        get(`${url}/metrics`, signal),
        get(`${url}/health`, signal),
        WITH_READY.has(name) ? readinessOf(url, signal) : undefined,
      ]);
      if (signal.aborted) return;
      // A reverse proxy may answer in place of the service, for example with 503.
      if (metrics.status !== 200) {
        throw new NoAnswerError(`${url}/metrics answered with status ${metrics.status}`);
      }
      this.#update(metrics, health, ready);
    } catch (thrown) {
      if (!(thrown instanceof NoAnswerError)) throw thrown;
      if (signal.aborted) return;
      this.#missAnswer(signal, thrown instanceof LateError);
      if (attempt === 1) return await this.#read(signal, 2);
      // Only a request for anything shows whether the others were refused by CORS or not answered.
      const isForbidden = thrown.cause !== undefined && await isAnswered(`${url}/`, signal);
      if (signal.aborted) return;
      // It may be answered because the network has just come back.
      if (isForbidden && attempt === 2) return await this.#read(signal, 3);
      const nowMs = this.#clock.now();
      if (!isForbidden) this.#awayAtMs = nowMs;
      const before = this.state.value;
      const { latestMs } = before.history;
      const newestMs = nowMs - latestMs <= UNASKED_MAX_MS ? latestMs : undefined;
      const lastAnswerMs = before.isUp === false ? before.lastAnswerMs : newestMs;
      const reason = thrown.message;
      const isRefused = thrown.cause !== undefined && !isForbidden;
      const away = { isUp: false, reason, isForbidden, isRefused, lastAnswerMs, checkedMs: nowMs };
      this.state.value = { ...before, ...away };
    } finally {
      clearTimeout(overdue);
    }
  }

  #missAnswer(signal: AbortSignal, isLate: boolean): void {
    if (signal.aborted) return;
    const checkedMs = this.#clock.now();
    this.state.value = { ...this.state.value, isSilent: true, isLate, checkedMs };
  }

  #update(metrics: HttpAnswer, health: HttpAnswer, ready: HttpAnswer | undefined): void {
    const before = this.state.value;
    const isReady = ready && ready.status === 200;
    const healthBody = readStatus(health);
    const word = healthBody.status ?? "";
    const nowMs = this.#clock.now();
    const history = before.history.with(nowMs, parseMetrics(metrics.text));
    this.state.value = {
      ...before,
      isUp: true,
      isSilent: false,
      isLate: false,
      isRefused: false,
      checkedMs: nowMs,
      awayAgoMs: nowMs - this.#awayAtMs,
      reason: "",
      isForbidden: false,
      health: word,
      isHealthy: health.status === 200 && word !== "degraded" && word !== "failed",
      isReady,
      complaints: [
        ...[healthBody.reason ?? healthBody.error ?? []].flat(),
        ...(isReady === false ? readStatus(ready).problems ?? [ready?.text ?? ""] : []),
      ],
      history,
    };
  }
}

/** Never fails: a service that answers other requests may wait, for example for the node. */
function readinessOf(url: string, signal: AbortSignal): Promise<HttpAnswer> {
  return get(`${url}/ready`, signal).catch((thrown) => {
    if (!(thrown instanceof NoAnswerError)) throw thrown;
    return { status: 503, text: thrown.message };
  });
}

/** Parses an answer, which is JSON or plain text. */
function readStatus(answer: HttpAnswer | undefined): z.output<typeof statusSchema> {
  const text = answer?.text ?? "";
  if (!text.startsWith("{")) return { status: text.trim() };
  const { data } = statusSchema.safeParse(tryParseJson(text));
  return data ?? { status: "unreadable" }; // shown as it is: probably another program
}
