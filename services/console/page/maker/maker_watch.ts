import { computed, type Signal, signal } from "@preact/signals";
import {
  type Account,
  type Address,
  type Clock,
  isRangemakerError,
  NetworkError,
  type RangemakerClient,
  type SolverInfo,
  type Thesis,
  type ThesisWatch,
} from "@rangemaker/client";
import * as z from "zod/mini";
import { messageOf } from "../../../../lib/errors.ts";
import { tryParseJson } from "../../../../lib/json.ts";
import { uint64Schema } from "../../../../lib/protocol/scalars.ts";
import { urlAt } from "../../page_config.ts";
import { getText, Poll } from "../data/http.ts";
import { type Metrics, parseMetrics } from "../data/metrics.ts";
import type { MakerStatus } from "../data/maker_status.ts";
import type { PriceFeed, PriceState } from "../data/price_feed.ts";
import { durationText, formatAmount, formatUsdc } from "../parts/format.ts";

/** What the chain says of the solver and its bets. */
export interface MakerState {
  address: Address;
  account: Account;
  /** Oldest first. */
  theses: readonly Thesis[];
  /** When the node answered, Unix milliseconds. */
  readAtMs: number;
}

/** Figures that only the solver knows. */
export interface SolverFigures extends z.output<typeof exposureSchema> {
  info: SolverInfo;
  metrics: Metrics;
  readAtMs: number;
}

type MakerClient = Pick<
  RangemakerClient,
  "account" | "genesisHash" | "solverInfo" | "theses" | "watch"
>;

interface MakerModel {
  client: MakerClient;
  /** Shown in the page's header, which says the same as this view. */
  maker: Pick<MakerStatus, "isAway">;
  /** A node that hangs is noticed by its prices before a request is late. */
  feed: Pick<PriceFeed, "isAway">;
}

/** The parts of the solver's `GET /theses` that are shown, USDC with 6 decimals. */
const exposureSchema = z.object({
  /** Amount at risk in running executions, most of which are not yet on the chain. */
  executing: uint64Schema,
  /** Bound on the exposure, or null. */
  maxExposure: z.nullable(uint64Schema),
  /** Whether it knows all its open bets. */
  complete: z.boolean(),
});

/** Follows a solver's account and bets while it is started. */
export class MakerWatch {
  /** Undefined before the first answers. */
  readonly state: Signal<MakerState | undefined> = signal(undefined);
  /** Why the bets are out of date; undefined if they are not. */
  readonly problem = computed(() =>
    this.#problem.value ?? (this.#model.feed.isAway.value ? "no prices arrive" : undefined)
  );
  readonly #problem: Signal<string | undefined> = signal(undefined);
  /** Why the solver's own figures are out of date; undefined if they are not. */
  readonly solverProblem: Signal<string | undefined> = signal(undefined);
  /** The solver's own figures; undefined if it has not answered since the page was opened. */
  readonly solver: Signal<SolverFigures | undefined> = signal(undefined);
  readonly #model: MakerModel;
  readonly #solverUrl: string;
  readonly #clock: Clock;
  readonly #poll: Poll;
  /** Of one solver and one chain. */
  #open: { watch: ThesisWatch; of: string } | undefined;

  constructor(model: MakerModel, solverUrl: string, clock: Clock) {
    this.#model = model;
    this.#solverUrl = solverUrl;
    this.#clock = clock;
    this.#poll = new Poll(clock, (signal) => this.#read(signal));
  }

  start(): void {
    this.#poll.start();
  }

  stop(): void {
    this.#poll.stop();
    this.#closeWatch();
  }

  #closeWatch(): void {
    this.#open?.watch.close();
    this.#open = undefined;
  }

  async #read(signal: AbortSignal): Promise<void> {
    try {
      const answer = await this.#readSolver(signal);
      signal.throwIfAborted();
      this.solver.value = answer ?? this.solver.value;
      // If the solver does not answer, use the one of the chain's first bet: most chains have one.
      const address = answer?.info.address ?? this.state.value?.address ??
        await this.#firstSolver();
      const watch = await this.#openWatch(address, signal);
      const account = await this.#model.client.account(address);
      signal.throwIfAborted();
      const { theses } = watch;
      this.state.value = { address, account, theses, readAtMs: this.#clock.now() };
      this.#problem.value = watch.state === "live" ? undefined : "reconnecting";
    } catch (thrown) {
      if (signal.aborted) return;
      if (!isRangemakerError(thrown)) throw thrown;
      this.#problem.value = problemTextOf(thrown);
    }
  }

  /** The watch of a solver's bets: a new one for another solver or another chain. */
  async #openWatch(address: Address, signal: AbortSignal): Promise<ThesisWatch> {
    const of = `${address} ${await this.#model.client.genesisHash()}`;
    signal.throwIfAborted();
    if (this.#open?.of === of) return this.#open.watch;
    this.#closeWatch();
    const watch = await this.#model.client.watch({}, { solver: address });
    if (signal.aborted) watch.close();
    signal.throwIfAborted();
    // Kept before anything else can fail, so that the next pass does not open another one.
    this.#open = { watch, of };
    return watch;
  }

  async #firstSolver(): Promise<Address> {
    const { value } = await this.#model.client.theses({ limit: 1 }).next();
    const solver = value?.theses[0]?.solver;
    // Without bets, only the solver knows its address, so its own error is reported.
    return solver ?? (await this.#model.client.solverInfo()).address;
  }

  /** Reads the solver's figures; if it fails, {@link solverProblem} has the reason. */
  async #readSolver(signal: AbortSignal): Promise<SolverFigures | undefined> {
    try {
      // These requests come first, because the client's own call has a longer timeout.
      const [theses, figures] = await Promise.all([
        getText(`${urlAt(this.#solverUrl, "/theses")}?limit=1`, signal),
        getText(urlAt(this.#solverUrl, "/metrics"), signal),
      ]);
      const { data: exposure } = exposureSchema.safeParse(tryParseJson(theses));
      if (exposure === undefined) {
        throw new NetworkError("SERVICE_UNREACHABLE", "Something else answers in its place");
      }
      const info = await this.#model.client.solverInfo(signal);
      if (!signal.aborted) this.#report(undefined);
      return {
        ...exposure,
        info,
        metrics: parseMetrics(figures),
        readAtMs: this.#clock.now(),
      };
    } catch (thrown) {
      if (!signal.aborted) this.#report(problemTextOf(thrown));
      return undefined;
    }
  }

  #report(problem: string | undefined): void {
    this.solverProblem.value = problem;
    this.#model.maker.isAway.value = problem !== undefined;
  }
}

/** The proxy's answer while its node does not answer. */
const PROXY_WITHOUT_NODE = "RPC_-32002";

function problemTextOf(thrown: unknown): string {
  const code = isRangemakerError(thrown) ? thrown.code : "";
  if (code === PROXY_WITHOUT_NODE) return "the chain cannot be reached";
  const who = code.startsWith("NODE_") ? "the chain" : "the solver";
  if (code.endsWith("_TIMEOUT")) return `${who} took too long`;
  if (code.endsWith("_UNREACHABLE")) return `${who} cannot be reached`;
  return messageOf(thrown);
}

/** Which bets the solver takes, by its settings. */
export function termsOf({ config, maxRisk }: Pick<SolverInfo, "config" | "maxRisk">): string {
  const { minBetAmount, maxBetAmount, minDuration, maxDuration, maxPayoutRatio } = config;
  const risk = maxRisk === undefined ? "" : ` and risks at most ${formatUsdc(maxRisk)}`;
  return `Takes bets of ${formatAmount(minBetAmount)} to ${formatUsdc(maxBetAmount)}, for ` +
    `${durationText(minDuration)} to ${durationText(maxDuration)}. Each pays at most ` +
    `× ${maxPayoutRatio}${risk}.`;
}

const WITHOUT_PRICE: ReadonlySet<PriceState> = new Set(["stale", "missing"]);

/** Whether the solver can quote, as a class and a text: without any price, only `mock` does. */
export function activityOf(
  markets: readonly PriceState[],
  pricing: string | undefined,
): [style: string, text: string] {
  const isBlind = pricing !== "mock" && markets.every((state) => WITHOUT_PRICE.has(state));
  return isBlind ? ["warned", "not quoting: no price"] : ["note", `live, pricing ${pricing}`];
}
