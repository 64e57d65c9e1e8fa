import { Backoff } from "../../../lib/net/backoff.ts";
import type { RandomSource } from "../../../lib/clock.ts";
import type { Head } from "./head.ts";

/** Waits before a node that does not answer is tried again. */
const RETRY = { initialMs: 1_000, maxMs: 10_000 };

/** Weight of the newest probe in a node's average time. */
const NEWEST_WEIGHT = 0.3;

/** A node behind another one counts as lagging only if its block is older by this many seconds. */
const OLDER_S = 2;

/** The state of a node for people and metrics. */
export interface NodeState {
  name: string;
  /** The reason why it is out or dead; undefined if it is neither. */
  reason: string | undefined;
  isUp: boolean;
  leads: boolean;
  head: number | undefined;
  /** Average time of its probes; Infinity before the first. */
  tookMs: number;
  readsTotal: number;
  errorsTotal: number;
  outsTotal: number;
}

/** The known state of one of several read nodes. */
export class ReadNode {
  readonly name: string;
  head: Head | undefined;
  headAtMs = -Infinity;
  /** Its answer of this round. */
  probed: Head | undefined;
  /** Average time of its probes: other reads differ too much to be compared. */
  tookMs = Infinity;
  /** Probes without an answer, in a row. */
  failures = 0;
  /** It refused or closed a connection, or stopped answering probes, and has not recovered. */
  isDead = false;
  /** Rounds in a row in which it was behind while in, or in step while out. */
  rounds = 0;
  /** Reads of this round, and those of them that failed. */
  reads = 0;
  errors = 0;
  readsTotal = 0;
  errorsTotal = 0;
  outsTotal = 0;
  /** The reason why it is out. */
  out: string | undefined;
  readonly retry: Backoff;
  retryAtMs = -Infinity;

  /** @param random For the waits before it is tried again. */
  constructor(name: string, random: RandomSource) {
    this.name = name;
    this.retry = new Backoff({ ...RETRY, random });
  }

  /** It has a block. */
  reached(head: Head, nowMs: number): void {
    this.head = head;
    this.headAtMs = nowMs;
  }

  /** It answered a probe with its newest block. */
  answeredProbe(head: Head, tookMs: number, nowMs: number): void {
    this.reached(head, nowMs);
    this.probed = head;
    const before = this.tookMs === Infinity ? tookMs : this.tookMs;
    this.tookMs = before + (tookMs - before) * NEWEST_WEIGHT;
    this.failures = 0;
    this.isDead = false;
    this.retry.reset();
    this.retryAtMs = -Infinity;
  }

  /** The current state of the node. */
  state(leads: boolean): NodeState {
    const { name, head, tookMs, readsTotal, errorsTotal, outsTotal } = this;
    const reason = this.out ?? (this.isDead ? "it does not answer" : undefined);
    const counts = { readsTotal, errorsTotal, outsTotal };
    return { name, reason, isUp: !reason, leads, head: head?.number, tookMs, ...counts };
  }
}

/**
 * How many blocks a node is behind the others; negative if it is ahead. From three nodes on it is
 * compared with the second-highest, so that one node with a far too high head excludes no other. Of
 * two, either may be right: the lower one is behind only if its block is older, too.
 */
export function blocksBehind(own: Head, others: readonly Head[], nowMs: number): number {
  const [highest, second] = [own, ...others].toSorted((a, b) => b.number - a.number);
  if (highest === undefined || second === undefined) return 0;
  if (others.length > 1) return second.number - own.number;
  // A time in the future cannot be right.
  const isOlder = Math.min(highest.timestampS, nowMs / 1000) - own.timestampS >= OLDER_S;
  return isOlder ? highest.number - own.number : 0;
}
