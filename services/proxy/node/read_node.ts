import type { Registry } from "prom-client";
import { metricsIn } from "../../../lib/http/metrics.ts";
import { Backoff } from "../../../lib/timing/backoff.ts";
import type { RandomSource } from "../../../lib/random.ts";

/** Where a read node is. */
export interface ReadNodeEndpoint {
  url: string;
  wsUrl: string;
  /** For logs, metrics and people: host and port, without passwords; equal ones are numbered. */
  name: string;
}

/** The newest block of a node. */
export interface Head {
  number: number;
  /** Unix seconds. */
  timestampS: number;
}

/** Exact as a number. */
const QUANTITY = /^0x[0-9a-fA-F]{1,13}$/;

/** The head in a block, or in the result of a `newHeads` notification; undefined if there is none. */
export function headOf(block: unknown): Head | undefined {
  // A schema would cost more than all the rest of a notification's handling.
  if (typeof block !== "object" || block === null) return undefined;
  const { number, timestamp }: { number?: unknown; timestamp?: unknown } = block;
  const height = tryParseQuantity(number);
  if (height === undefined) return undefined;
  return { number: height, timestampS: tryParseQuantity(timestamp) ?? 0 };
}

export function tryParseQuantity(value: unknown): number | undefined {
  return typeof value === "string" && QUANTITY.test(value) ? Number(value) : undefined;
}

/** Waits before a node that does not answer is tried again. */
const RECONNECT_WAIT = { initialMs: 1_000, maxMs: 10_000 };

/** Waits before a node whose WebSocket is lost may replace one that has lost its own. */
const SOCKET_WAIT = { initialMs: 3_000, maxMs: 20_000 };

/** Consecutive rounds with a fault before a node is removed, and without one before it is added. */
export const ROUNDS_TO_CHANGE = 3;

/** The head of a node that has shown no plausible one for this long is deleted. */
const HEAD_KEPT_MS = 30_000;

/** What a round of probes has shown about a node. */
interface Round {
  head?: Head;
  reads: number;
  /** How many of the reads failed. */
  errors: number;
}

/** One of several read nodes, and its known state: only `ReadNodes` changes it. */
export class ReadNode {
  /** Its newest plausible head: one far above all others is not kept. */
  head: Head | undefined;
  #headAtMs = -Infinity;
  /** The round that is not over yet. */
  round: Round = { reads: 0, errors: 0 };
  /** The answer before, for comparisons: on a fast chain, answers of one round differ in timing. */
  headLastRound: Head | undefined;
  /** How long it took to answer its last probe; undefined before the first. */
  probeMs: number | undefined;
  /** It refused or closed a connection, or stopped answering probes, and has not recovered. */
  isDead = false;
  /** Probes without an answer, in a row. */
  #failures = 0;
  /** Consecutive rounds after which it should be removed or, while it is removed, added again. */
  #roundsForChange = 0;
  readonly totals = { reads: 0, errors: 0, removals: 0 };
  /** The reason why it is removed; undefined while it is in the read group. */
  #removedFor: string | undefined;
  readonly #retry: Backoff;
  #retryAtMs = -Infinity;
  readonly #socketRetry: Backoff;
  #socketRetryAtMs = -Infinity;

  /**
   * @param index Its place among all read nodes.
   * @param random For the waits before it is tried again.
   */
  constructor(
    readonly endpoint: ReadNodeEndpoint,
    readonly index: number,
    random: RandomSource,
  ) {
    this.#retry = new Backoff({ ...RECONNECT_WAIT, random });
    this.#socketRetry = new Backoff({ ...SOCKET_WAIT, random });
  }

  get name(): string {
    return this.endpoint.name;
  }

  get isRemoved(): boolean {
    return this.#removedFor !== undefined;
  }

  /** Whether it is in the read group and responds. */
  get isUp(): boolean {
    return !this.isRemoved && !this.isDead;
  }

  get downReason(): string | undefined {
    return this.#removedFor ?? (this.isDead ? "it does not answer" : undefined);
  }

  /** Whether to ask it for its head this round. */
  isProbeDue(nowMs: number): boolean {
    return nowMs >= this.#retryAtMs;
  }

  /** Whether it is up, and it is time to try its WebSocket, even if that was lost before. */
  mayConnect(nowMs: number): boolean {
    return this.isUp && nowMs >= this.#socketRetryAtMs;
  }

  has(block: number): boolean {
    return this.head !== undefined && this.head.number >= block;
  }

  /** Whether it is up and has a block, if one is given. */
  serves(block?: number): boolean {
    return this.isUp && (block === undefined || this.has(block));
  }

  /** Removes it from the read group for a reason, or adds it again. */
  setRemoved(reason: string | undefined): void {
    this.#removedFor = reason;
    this.#roundsForChange = 0;
    if (reason !== undefined) this.totals.removals += 1;
  }

  /** @param probeMs How long ago it was asked for the head; 0 if it announced it. */
  setHead(head: Head, nowMs: number, probeMs = 0): void {
    // A higher head that was announced during the probe is newer than its answer.
    if (this.has(head.number) && nowMs - probeMs < this.#headAtMs) return;
    this.head = head;
    this.#headAtMs = nowMs;
  }

  onProbeAnswered(head: Head, probeMs: number): void {
    this.round.head = head;
    this.probeMs = probeMs;
    this.#failures = 0;
    this.isDead = false;
    this.#retry.reset();
    this.#retryAtMs = -Infinity;
  }

  /** @returns How many probes in a row were not answered, this one included. */
  countFailedProbe(): number {
    this.#roundsForChange = 0;
    return this.#failures += 1;
  }

  /** It refused a probe: the next one has to wait. */
  postponeProbe(nowMs: number): void {
    this.#roundsForChange = 0;
    this.#retryAtMs = nowMs + this.#retry.nextMs();
  }

  onSocketOpened(): void {
    this.#socketRetry.reset();
    this.#socketRetryAtMs = -Infinity;
  }

  /** Its WebSocket is lost, and another node is tried: it has to wait before it is tried again. */
  postponeSocket(nowMs: number): void {
    this.#socketRetryAtMs = nowMs + this.#socketRetry.nextMs();
  }

  countRead({ isFailed }: { isFailed: boolean }): void {
    for (const counts of [this.round, this.totals]) {
      counts.reads += 1;
      if (isFailed) counts.errors += 1;
    }
  }

  /** Counts a round. @returns Whether there were enough in a row to remove it or add it again. */
  countRound({ isFaulty }: { isFaulty: boolean }): boolean {
    const isChange = isFaulty !== this.isRemoved;
    this.#roundsForChange = isChange ? this.#roundsForChange + 1 : 0;
    return this.#roundsForChange >= ROUNDS_TO_CHANGE;
  }

  endRound(nowMs: number): void {
    this.headLastRound = this.round.head;
    this.round = { reads: 0, errors: 0 };
    // Forget the head of a node that does not follow, so that reads of its blocks do not wait for it.
    if (nowMs - this.#headAtMs >= HEAD_KEPT_MS) this.head = undefined;
  }
}

/** A head is far above others if it is over `blocks`, and over `lags` times the maximum lag, ahead. */
const FAR_ABOVE = { lags: 10, blocks: 32 };

/** A node has a fault if this share of its reads in a round fail, given enough reads. */
const ERROR_LIMITS = { readsMin: 10, share: 0.5 };

/** Of two nodes, the lower one is behind only if its block is older by this many seconds. */
const OLDER_S = 2;

/** A round in which the node answered its probe. */
type RoundReport = Round & { head: Head };

/** The heads of the other nodes that serve, with which that of a node is compared. */
export interface OtherHeads {
  /** Heads of the previous round: on a fast chain, answers of one round differ in timing. */
  lastRound: readonly Head[];
  /** The newest answers: those of the previous round may be four seconds old. */
  newest: readonly Head[];
}

interface FaultLimits {
  /** How many blocks a node may be behind. */
  maxLag: number;
  /** Unix milliseconds. */
  nowMs: number;
}

/** Why a node must not serve; undefined if it keeps up. */
export function faultOf(
  { head, reads, errors }: RoundReport,
  { lastRound, newest }: OtherHeads,
  limits: FaultLimits,
): string | undefined {
  if (reads >= ERROR_LIMITS.readsMin && errors >= reads * ERROR_LIMITS.share) {
    return `${errors} of ${reads} reads failed`;
  }
  const behind = blocksBehind(head, lastRound, limits.nowMs);
  if (behind > limits.maxLag) return `it is ${behind} blocks behind`;
  if (!isFarAbove(head, newest, limits)) return undefined;
  return `it is ${-blocksBehind(head, newest, limits.nowMs)} blocks above all others`;
}

/** Whether a head is so far above the newest of all others that it is probably wrong. */
export function isFarAbove(
  head: Head,
  newest: readonly Head[],
  { maxLag, nowMs }: FaultLimits,
): boolean {
  const limit = Math.max(FAR_ABOVE.blocks, FAR_ABOVE.lags * maxLag);
  return blocksBehind(head, newest, nowMs) < -limit;
}

/**
 * How many blocks a head is behind the others; negative if it is above all. Among three nodes or
 * more, it is compared with the second-highest, so that one node with a far too high head excludes
 * no other. Of two nodes, either may be right: the higher one is not above, and the lower one is
 * behind only if its block is also older.
 */
function blocksBehind(head: Head, others: readonly Head[], nowMs: number): number {
  const [highest = head, second = head] = [head, ...others].toSorted((a, b) => b.number - a.number);
  if (others.length > 1) return second.number - head.number;
  // A time in the future cannot be right.
  const isOlder = Math.min(highest.timestampS, nowMs / 1000) - head.timestampS >= OLDER_S;
  return isOlder ? highest.number - head.number : 0;
}

/** Registers the metrics of each read node, which are read at every scrape. */
export function registerNodeMetrics(
  registry: Registry,
  nodes: { readonly all: readonly ReadNode[]; readonly leader: ReadNode },
): void {
  const { scrapedGauges, scrapedCounters } = metricsIn(registry);
  const ofEach = (valueOf: (node: ReadNode) => number) => () =>
    nodes.all.map((node): [{ node: string }, number] => [{ node: node.name }, valueOf(node)]);
  scrapedGauges(
    "proxy_read_node_up",
    "0 while a read node is removed from the read group or does not answer, else 1.",
    ["node"],
    ofEach(({ isUp }) => isUp ? 1 : 0),
  );
  scrapedGauges(
    "proxy_read_node_leads",
    "1 for the read node that serves reads and subscriptions, 0 for the others.",
    ["node"],
    ofEach((node) => node === nodes.leader ? 1 : 0),
  );
  scrapedGauges(
    "proxy_read_node_head",
    "Newest block number of each read node, 0 before any is known.",
    ["node"],
    ofEach(({ headLastRound, head }) => (headLastRound ?? head)?.number ?? 0),
  );
  scrapedGauges(
    "proxy_read_node_probe_seconds",
    "How long each read node takes to answer a probe, 0 before the first; " +
      "a single one is probed only while it announces no heads.",
    ["node"],
    ofEach(({ probeMs }) => (probeMs ?? 0) / 1000),
  );
  scrapedCounters(
    "proxy_read_node_requests_total",
    "Requests over HTTP to each read node, without probes.",
    ["node"],
    ofEach(({ totals }) => totals.reads),
  );
  scrapedCounters(
    "proxy_read_node_errors_total",
    "Requests over HTTP that a read node did not answer, or answered with 429 or 5xx.",
    ["node"],
    ofEach(({ totals }) => totals.errors),
  );
  scrapedCounters(
    "proxy_read_node_removals_total",
    "How often each of several read nodes was removed from the read group, 0 for a single one.",
    ["node"],
    ofEach(({ totals }) => totals.removals),
  );
}
