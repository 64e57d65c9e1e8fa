import { type Signal, signal } from "@preact/signals";
import * as z from "zod/mini";
import { type Clock, NetworkError } from "@rangemaker/client";
import { tryParseJson } from "../../../../lib/json.ts";
import { uint64Schema } from "../../../../lib/protocol/scalars.ts";
import { urlAt } from "../../page_config.ts";
import { get, getText, type HttpAnswer, isAnswered, Poll } from "./http.ts";
import { MetricsHistory, parseMetrics } from "./metrics.ts";

/** The services that an operator looks after. */
export type ServiceName = "exchanges" | "oracle" | "node" | "proxy" | "bridge" | "solver";

/** Whether a service answers, as far as is known. */
export type Presence =
  /** It was not asked yet, or not since this device had no network. */
  | "unknown"
  | "answers"
  /** It does not answer in time or at all, or something in its place does, such as a front. */
  | "gone"
  /** It answers, but does not allow this page to read it. */
  | "forbidden";

const AWAY: ReadonlySet<Presence> = new Set(["gone", "forbidden"]);

/** Whether nothing can be read of a service. */
export const isAway = ({ presence }: Pick<ServiceState, "presence">) => AWAY.has(presence);

/** Whether the newest figures of a service are up to date. */
export const isUp = ({ presence }: Pick<ServiceState, "presence">) => presence === "answers";

/** The known state of a service. */
export interface ServiceState {
  name: ServiceName;
  url: string;
  presence: Presence;
  /** It did not answer when it was last asked. If it misses another answer, it is away. */
  hasMissed: boolean;
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

/** The parts of the services' answers to `/health` and `/ready` that are shown. */
const statusSchema = z.object({
  status: z.optional(z.string()),
  reason: z.optional(z.string()),
  error: z.optional(z.string()),
  problems: z.optional(z.array(z.string())),
});

/** A service of which nothing is known yet. */
export const unknownService = (name: ServiceName, url: string): ServiceState => ({
  name,
  url: url.replace(/\/+$/, ""),
  presence: "unknown",
  hasMissed: false,
  reason: "",
  health: "",
  isHealthy: true,
  isReady: undefined,
  complaints: [],
  history: new MetricsHistory(),
});

/** Polls services while its {@link poll} is started: together, so that it shows if none answers. */
export class ServiceWatch {
  readonly states: Signal<readonly ServiceState[]>;
  /** Undefined until the oracle answers, and while it does not. */
  readonly providers: Signal<Providers | undefined> = signal(undefined);
  readonly poll: Poll;

  constructor(services: readonly ServiceState[], clock: Clock) {
    this.states = signal(services);
    this.poll = new Poll(clock, async (signal) => {
      const asked = this.states.value.map((state) => nextState(state, signal, clock));
      const oracle = this.states.value.find(({ name }) => name === "oracle");
      const [providers, ...states] = await Promise.all([
        oracle && readProviders(oracle.url, signal),
        ...asked,
      ]);
      if (!signal.aborted) [this.states.value, this.providers.value] = [states, providers];
    });
  }

  /** Stops. Nothing is known of the services until they are asked again. */
  forget(): void {
    this.poll.stop();
    this.providers.value = undefined;
    this.states.value = this.states.value.map((state) => ({
      ...state,
      presence: "unknown",
      hasMissed: false,
    }));
  }
}

/** Asks a service. */
async function nextState(
  state: ServiceState,
  signal: AbortSignal,
  clock: Clock,
): Promise<ServiceState> {
  try {
    return await ask(state, signal, clock);
  } catch (thrown) {
    if (!(thrown instanceof NetworkError)) throw thrown;
    if (!state.hasMissed) return { ...state, hasMissed: true }; // one missed answer proves nothing
    const hasFailedAtOnce = thrown.cause !== undefined;
    // Only a request for anything shows whether the others were refused by CORS or not answered.
    const isForbidden = hasFailedAtOnce && await isAnswered(urlAt(state.url, "/"), signal);
    return { ...state, presence: isForbidden ? "forbidden" : "gone", reason: thrown.message };
  }
}

/** @throws {NetworkError} */
async function ask(before: ServiceState, signal: AbortSignal, clock: Clock): Promise<ServiceState> {
  const { url, name } = before;
  const metricsUrl = urlAt(url, "/metrics");
  // It names what is missing, also of other services: it may wait for one, which is no fault of this.
  const readiness = name === "exchanges" ? undefined : readReadiness(url, signal);
  const [metrics, health] = await Promise.all([
    getText(metricsUrl, signal),
    get(urlAt(url, "/health"), signal),
  ]);
  const figures = parseMetrics(metrics);
  if (figures.isEmpty) {
    throw new NetworkError("SERVICE_UNREACHABLE", `${metricsUrl} answered without figures`);
  }
  const ready = await readiness;
  const isReady = ready && ready.status === 200;
  const healthBody = readStatus(health);
  const word = healthBody.status ?? "";
  return {
    ...before,
    presence: "answers",
    hasMissed: false,
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
    history: before.history.with(clock.now(), figures),
  };
}

/** Never fails: a service that answers other requests may wait, for example for the node. */
function readReadiness(url: string, signal: AbortSignal): Promise<HttpAnswer> {
  return get(urlAt(url, "/ready"), signal).catch((thrown) => {
    if (!(thrown instanceof NetworkError)) throw thrown;
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
      z.object({ lastTradeAgeMs: z.nullable(z.number()) }),
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

/** Asks the oracle for its sources; undefined if it does not answer, as the view shows. */
const readProviders = (oracleUrl: string, signal: AbortSignal) =>
  get(urlAt(oracleUrl, "/providers"), signal)
    .then(({ text }) => providersSchema.parse(JSON.parse(text))).catch(() => undefined);
