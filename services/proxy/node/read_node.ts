import { Backoff } from "../../../lib/net/backoff.ts";
import type { RandomSource } from "../../../lib/clock.ts";
import type { Head } from "./head.ts";
import type { RoundReport } from "./verdict.ts";

/** Waits before a node that does not answer is tried again. */
const RETRY = { initialMs: 1_000, maxMs: 10_000 };

/** Weight of the newest probe in a node's average time. */
const NEWEST_WEIGHT = 0.3;

/** The head of a node that has not answered for this long is deleted. */
const HEAD_KEPT_MS = 30_000;

/** The state of a node for people and metrics. */
export interface NodeState {
  name: string;
  /** The reason why it is removed or dead; undefined if it is neither. */
  reason: string | undefined;
  isUp: boolean;
  leads: boolean;
  head: number | undefined;
  /** Average time of its probes; Infinity before the first. */
  tookMs: number;
  readsTotal: number;
  errorsTotal: number;
  removalsTotal: number;
}

/** The known state of one of several read nodes. */
export class ReadNode implements RoundReport {
  readonly name: string;
  head: Head | undefined;
  #headAtMs = -Infinity;
  /** Its answer of this round, and of the one before. */
  probed: Head | undefined;
  probedBefore: Head | undefined;
  /** Average time of its probes: other reads differ too much to be compared. */
  tookMs = Infinity;
  /** Probes without an answer, in a row. */
  failures = 0;
  /** It refused or closed a connection, or stopped answering probes, and has not recovered. */
  isDead = false;
  /** Rounds in a row after which it should have been removed, or, while it is removed, added. */
  rounds = 0;
  /** Reads of this round, and those of them that failed. */
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
    this.retry = new Backoff({ ...RETRY, random });
  }

  /** It has a block. */
  reached(head: Head, nowMs: number): void {
    this.head = head;
    this.#headAtMs = nowMs;
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

  /** The round is over. */
  endRound(nowMs: number): void {
    this.probedBefore = this.probed;
    this.probed = undefined;
    this.reads = this.errors = 0;
    // Forget the head of a silent node, so that reads of its blocks do not wait for it.
    if (nowMs - this.#headAtMs >= HEAD_KEPT_MS) this.head = undefined;
  }

  /** The current state of the node. */
  state(leads: boolean): NodeState {
    const { name, head, tookMs, readsTotal, errorsTotal, removalsTotal } = this;
    const reason = this.removedFor ?? (this.isDead ? "it does not answer" : undefined);
    const counts = { readsTotal, errorsTotal, removalsTotal };
    return { name, reason, isUp: !reason, leads, head: head?.number, tookMs, ...counts };
  }
}
