import { Backoff } from "../../../lib/net/backoff.ts";
import type { RandomSource } from "../../../lib/clock.ts";
import type { Head } from "./head.ts";

/** Waits before a node that does not answer is tried again. */
const RECONNECT_WAIT = { initialMs: 1_000, maxMs: 10_000 };

/** Weight of the newest probe in a node's average time. */
const NEWEST_WEIGHT = 0.3;

/** The head of a node that has not answered for this long is deleted. */
const HEAD_KEPT_MS = 30_000;

/** Age up to which a head is compared with those of others: two rounds of probes. */
const HEAD_RECENT_MS = 2_000;

/** The known state of one of several read nodes. */
export class ReadNode {
  readonly name: string;
  head: Head | undefined;
  #headAtMs = -Infinity;
  /** Its answer to the probe of this round. */
  headThisRound: Head | undefined;
  /** The answer before, for comparisons: on a fast chain, answers of one round differ in timing. */
  headLastRound: Head | undefined;
  /** Average time of its probes, Infinity before the first. Other reads vary too much. */
  tookMs = Infinity;
  /** Probes without an answer, in a row. */
  failures = 0;
  /** It refused or closed a connection, or stopped answering probes, and has not recovered. */
  isDead = false;
  /** Consecutive rounds after which it should be removed or, while it is removed, added again. */
  roundsForChange = 0;
  /** Reads of this round, and how many of them failed. */
  reads = 0;
  errors = 0;
  readsTotal = 0;
  errorsTotal = 0;
  removalsTotal = 0;
  /** The reason why it is removed; undefined while it is in the read group. */
  removedFor: string | undefined;
  readonly retry: Backoff;
  retryAtMs = -Infinity;

  /** @param random For the waits before it is tried again. */
  constructor(name: string, random: RandomSource) {
    this.name = name;
    this.retry = new Backoff({ ...RECONNECT_WAIT, random });
  }

  /** Whether it is in the read group and responds. */
  get isUp(): boolean {
    return this.removedFor === undefined && !this.isDead;
  }

  /** Why it is not up; undefined if it is. */
  get reason(): string | undefined {
    return this.removedFor ?? (this.isDead ? "it does not answer" : undefined);
  }

  setHead(head: Head, nowMs: number): void {
    this.head = head;
    this.#headAtMs = nowMs;
  }

  /** Its head if the node is up and the head is recent enough for comparisons. */
  recentHead(nowMs: number): Head | undefined {
    return this.isUp && nowMs - this.#headAtMs <= HEAD_RECENT_MS ? this.head : undefined;
  }

  /** It answered a probe with its newest block. */
  answeredProbe(head: Head, tookMs: number, nowMs: number): void {
    this.setHead(head, nowMs);
    this.headThisRound = head;
    const before = this.tookMs === Infinity ? tookMs : this.tookMs;
    this.tookMs = before + (tookMs - before) * NEWEST_WEIGHT;
    this.failures = 0;
    this.isDead = false;
    this.retry.reset();
    this.retryAtMs = -Infinity;
  }

  endRound(nowMs: number): void {
    this.headLastRound = this.headThisRound;
    this.headThisRound = undefined;
    this.reads = this.errors = 0;
    // Forget the head of a silent node, so that reads of its blocks do not wait for it.
    if (nowMs - this.#headAtMs >= HEAD_KEPT_MS) this.head = undefined;
  }
}

/** Consecutive rounds a node must lag, or keep up, before it is removed or added. */
export const ROUNDS_TO_CHANGE = 3;

/** Consecutive rounds a node must be far above all others before it is removed. */
const ROUNDS_ABOVE = 2;

/** A node is far above others if it is over `blocks`, and over `lags` times `maxLag`, ahead. */
const FAR_ABOVE = { lags: 10, blocks: 32 };

/** A node is removed if this share of its reads in a round fail, given enough reads. */
const ERRORS = { readsMin: 10, share: 0.5 };

/** A node behind another one counts as lagging only if its block is older by this many seconds. */
const OLDER_S = 2;

export type RoundReport = Pick<
  ReadNode,
  "isUp" | "headThisRound" | "headLastRound" | "reads" | "errors"
>;

export interface MembershipDecision {
  /** The reason why it does not keep up; undefined if it does. */
  fault: string | undefined;
  /** Rounds in a row with this decision before it takes effect. */
  roundsRequired: number;
  /** Whether its answers are wrong, so that it must not lead any longer. */
  isUrgent: boolean;
}

/**
 * Decides about a node after a round.
 *
 * @param nowMs Unix milliseconds.
 * @returns Undefined if it did not answer, which shows nothing.
 */
export function membershipDecision(
  { headThisRound, reads, errors }: RoundReport,
  others: readonly RoundReport[],
  { maxLag, nowMs }: { maxLag: number; nowMs: number },
): MembershipDecision | undefined {
  if (reads >= ERRORS.readsMin && errors >= reads * ERRORS.share) {
    return { fault: `${errors} of ${reads} reads failed`, roundsRequired: 1, isUrgent: false };
  }
  if (headThisRound === undefined) return undefined;
  const lag = blocksBehind(headThisRound, others.map(({ headLastRound }) => headLastRound), nowMs);
  if (lag > maxLag) {
    return {
      fault: `it is ${lag} blocks behind`,
      roundsRequired: ROUNDS_TO_CHANGE,
      isUrgent: false,
    };
  }
  // A node that is back after an outage may still be far behind.
  const up = others.filter(({ isUp }) => isUp);
  const above = blocksAbove(headThisRound, up.map(({ headThisRound }) => headThisRound), maxLag);
  if (above > 0) {
    const fault = `it is ${above} blocks above all others`;
    return { fault, roundsRequired: ROUNDS_ABOVE, isUrgent: true };
  }
  return { fault: undefined, roundsRequired: ROUNDS_TO_CHANGE, isUrgent: false };
}

/**
 * How many blocks a node is behind the others; negative if it is ahead. Among three nodes or more,
 * it is compared with the second-highest, so that one node with a far too high head excludes no
 * other. Of two nodes, either may be right: the lower one is behind only if its block is also
 * older.
 */
function blocksBehind(own: Head, others: readonly (Head | undefined)[], nowMs: number): number {
  const known = others.filter((head) => head !== undefined);
  const [highest, second] = [own, ...known].toSorted((a, b) => b.number - a.number);
  if (highest === undefined || second === undefined) return 0;
  if (known.length > 1) return second.number - own.number;
  // A time in the future cannot be right.
  const isOlder = Math.min(highest.timestampS, nowMs / 1000) - own.timestampS >= OLDER_S;
  return isOlder ? highest.number - own.number : 0;
}

/** How many blocks a head is above all others; 0 if that is not far, or there are too few others. */
export function blocksAbove(
  own: Head,
  others: readonly (Head | undefined)[],
  maxLag: number,
): number {
  const known = others.filter((head) => head !== undefined);
  // Of two nodes, either may be right.
  if (known.length < 2) return 0;
  const above = own.number - Math.max(...known.map(({ number }) => number));
  return above > Math.max(FAR_ABOVE.blocks, FAR_ABOVE.lags * maxLag) ? above : 0;
}
