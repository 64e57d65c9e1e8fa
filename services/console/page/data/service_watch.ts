import { type Signal, signal } from "@preact/signals";
import * as z from "zod/mini";
import type { Clock } from "@rangemaker/client";
import { tryParseJson } from "../../../../lib/json.ts";
import { uint64Schema } from "../../../../lib/protocol/scalars.ts";
import { urlAt } from "../../page_config.ts";
import { get, type HttpAnswer, isAnswered, NoAnswerError, Poll } from "./http.ts";
import { type Metrics, MetricsHistory, parseMetrics } from "./metrics.ts";

/** The services that an operator looks after. */
export type ServiceName = "exchanges" | "oracle" | "node" | "proxy" | "bridge" | "solver";

/** Whether a service answers, as far as is known. */
export type Presence =
  /** It was not asked yet, or not since this device had no network. */
  | "unknown"
  | "answers"
  /** It misses answers. It is away if it misses another one after other services have answered. */
  | "overdue"
  /** It does not answer in time or at all, or something in its place does, such as a front. */
  | "gone"
  /** It answers, but does not allow this page to read it. */
  | "forbidden";

const AWAY: ReadonlySet<Presence> = new Set(["gone", "forbidden"]);

/** Whether nothing can be read of a service. */
export const isAway = ({ presence }: Pick<ServiceState, "presence">) => AWAY.has(presence);

/** Whether a service was asked, and nothing has answered. */
export const isSilent = ({ presence }: Pick<ServiceState, "presence">) =>
  presence === "overdue" || presence === "gone";

/** A service of which nothing is known until it answers again. */
export const unknownOf = (state: ServiceState): ServiceState => ({
  ...state,
  presence: "unknown",
  lastAnswerAtMs: undefined,
});

/** Whether the newest figures of a service are up to date. */
export const isUp = (state: Pick<ServiceState, "presence" | "lastAnswerAtMs">) =>
  state.lastAnswerAtMs !== undefined && !isAway(state);

/** The known state of a service. */
export interface ServiceState {
  name: ServiceName;
  url: string;
  presence: Presence;
  /** Its last answer since it has been asked without a break; undefined if there is none. */
  lastAnswerAtMs: number | undefined;
  reason: string;
  /** The status of its health answer. */
  health: string;
  /** Whether its health answer says healthy. */
  isHealthy: boolean;
  /** Undefined for the exchanges, which have no `GET /ready`. */
  isReady: boolean | undefined;
  /** Messages of the service about what is missing. */
  complaints: readonly string[];
  history: MetricsHistory;
}

/** A healthy service answers sooner. */
const OVERDUE_MS = 1_500;

/** The parts of the services' answers to `/health` and `/ready` that are shown. */
const statusSchema = z.object({
  status: z.optional(z.string()),
  reason: z.optional(z.string()),
  error: z.optional(z.string()),
  problems: z.optional(z.array(z.string())),
});

/** Polls one service while its {@link poll} is started. */
export class ServiceWatch {
  readonly state: Signal<ServiceState>;
  readonly #clock: Clock;
  readonly #isAnyAnswered: (sinceMs: number) => boolean;
  readonly poll: Poll;
  /** When it first missed an answer after its last one. */
  #missedAtMs = Infinity;

  /** @param isAnyAnswered Whether any service has answered since: else this page may be cut off. */
  constructor(
    name: ServiceName,
    url: string,
    clock: Clock,
    isAnyAnswered: (sinceMs: number) => boolean = () => true,
  ) {
    this.#clock = clock;
    this.#isAnyAnswered = isAnyAnswered;
    this.state = signal({
      name,
      url: url.replace(/\/+$/, ""),
      presence: "unknown",
      lastAnswerAtMs: undefined,
      reason: "",
      health: "",
      isHealthy: true,
      isReady: undefined,
      complaints: [],
      history: new MetricsHistory(),
    });
    this.poll = new Poll(clock, (signal) => this.#read(signal));
  }

  /** Stops. Nothing is known of the service until it is asked again. */
  forget(): void {
    this.poll.stop();
    this.state.value = unknownOf(this.state.value);
  }

  async #read(signal: AbortSignal): Promise<void> {
    // One missed answer of a service that was fine proves nothing.
    if (this.#isExpected && await this.#tryAsk(signal) === undefined) return;
    let absence = await this.#findAbsence(signal);
    // It may be answered because the network has just come back.
    if (absence?.presence === "forbidden") absence = await this.#findAbsence(signal);
    if (absence !== undefined) this.state.value = { ...this.state.value, ...absence };
  }

  /** Asks once more. Undefined if it answers, is not to blame, or is not watched any more. */
  async #findAbsence(signal: AbortSignal): Promise<Partial<ServiceState> | undefined> {
    const isBlamed = this.#isAnyAnswered(this.#missedAtMs);
    const error = await this.#tryAsk(signal);
    if (error === undefined) return undefined;
    const presence = await this.#presenceAfter(error, signal);
    if (signal.aborted) return undefined;
    const { message: reason } = error;
    if (presence === "forbidden") return { presence, reason };
    return isBlamed ? { presence, reason } : undefined;
  }

  /** Asks it. Returns why it did not answer; undefined if it did, or is not watched any more. */
  async #tryAsk(signal: AbortSignal): Promise<NoAnswerError | undefined> {
    try {
      await this.#ask(signal);
    } catch (thrown) {
      if (!(thrown instanceof NoAnswerError)) throw thrown;
      if (signal.aborted) return undefined;
      this.#missAnswer(signal);
      return thrown;
    }
    return undefined;
  }

  /** Whether nothing is wrong with it yet. */
  get #isExpected(): boolean {
    const { presence } = this.state.value;
    return presence === "unknown" || presence === "answers";
  }

  /** @throws {NoAnswerError} */
  async #ask(signal: AbortSignal): Promise<void> {
    const { url, name } = this.state.value;
    const metricsUrl = urlAt(url, "/metrics");
    // It names what is missing, also of other services: it may wait for one, which is no fault of this.
    const ready = name === "exchanges" ? undefined : readReadiness(url, signal);
    const overdue = setTimeout(() => this.#missAnswer(signal), OVERDUE_MS);
    const [metrics, health] = await Promise.all([
      get(metricsUrl, signal),
      get(urlAt(url, "/health"), signal),
    ]).finally(() => clearTimeout(overdue));
    if (metrics.status !== 200) {
      throw new NoAnswerError(`${metricsUrl} answered with status ${metrics.status}`);
    }
    const figures = parseMetrics(metrics.text);
    if (figures.isEmpty) throw new NoAnswerError(`${metricsUrl} answered without figures`);
    const readiness = await ready;
    if (!signal.aborted) this.#update(figures, health, readiness);
  }

  #missAnswer(signal: AbortSignal): void {
    if (signal.aborted || !this.#isExpected) return;
    this.#missedAtMs = this.#clock.now();
    this.state.value = { ...this.state.value, presence: "overdue" };
  }

  async #presenceAfter(error: NoAnswerError, signal: AbortSignal): Promise<Presence> {
    const hasFailedAtOnce = error.cause !== undefined;
    // Only a request for anything shows whether the others were refused by CORS or not answered.
    return hasFailedAtOnce && await isAnswered(urlAt(this.state.value.url, "/"), signal)
      ? "forbidden"
      : "gone";
  }

  #update(figures: Metrics, health: HttpAnswer, ready: HttpAnswer | undefined): void {
    const before = this.state.value;
    const isReady = ready && ready.status === 200;
    const healthBody = readStatus(health);
    const word = healthBody.status ?? "";
    const nowMs = this.#clock.now();
    const history = before.history.with(nowMs, figures);
    this.state.value = {
      ...before,
      presence: "answers",
      lastAnswerAtMs: nowMs,
      reason: "",
      health: word,
      isHealthy: health.status === 200 && word !== "degraded" && word !== "failed",
      isReady,
      complaints: [
        ...new Set([
          ...[healthBody.reason ?? healthBody.error ?? []].flat(),
          ...(isReady === false ? readStatus(ready).problems ?? [ready?.text ?? ""] : []),
        ]),
      ],
      history,
    };
  }
}

/** Never fails: a service that answers other requests may wait, for example for the node. */
function readReadiness(url: string, signal: AbortSignal): Promise<HttpAnswer> {
  return get(urlAt(url, "/ready"), signal).catch((thrown) => {
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

/** The parts of the oracle's `GET /providers` that are shown. */
const providersSchema = z.object({
  providers: z.array(z.object({
    name: z.string(),
    exchange: z.string(),
    ready: z.boolean(),
    streams: z.record(
      z.string(),
      z.object({
        lastTradeAgeMs: z.nullable(z.number()),
        exchangeLagMs: z.nullish(z.number()),
      }),
    ),
    reconnects: z.number(),
    lastError: z.nullable(z.string()),
    lastErrorTime: z.nullish(z.number()),
  })),
  pairSources: z.record(
    z.string(),
    z.object({
      price: z.optional(uint64Schema),
      sourcePrices: z.record(z.string(), uint64Schema),
      deviationBasisPoints: z.optional(z.record(z.string(), z.number())),
      outliers: z.array(z.string()),
    }),
  ),
});

/** The oracle's sources of each market. */
export type Providers = z.output<typeof providersSchema>;

/** Polls the oracle's sources while its {@link poll} is started. */
export class ProvidersWatch {
  /** Undefined until the oracle answers, and while it does not. */
  readonly providers: Signal<Providers | undefined> = signal(undefined);
  readonly poll: Poll;

  constructor(oracleUrl: string, clock: Clock) {
    this.poll = new Poll(clock, async (signal) => {
      const providers = await get(`${oracleUrl}/providers`, signal)
        .then(({ text }) => providersSchema.parse(JSON.parse(text)))
        .catch(() => undefined); // the view shows that the oracle does not answer
      if (!signal.aborted) this.providers.value = providers;
    });
  }

  /** Asks at once, and forgets what may be out of date. */
  start(): void {
    this.providers.value = undefined;
    this.poll.start();
  }
}
