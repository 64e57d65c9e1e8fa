import type { Clock, RandomSource } from "../../../lib/clock.ts";
import type { Head } from "./head.ts";
import {
  blocksAbove,
  type MembershipDecision,
  membershipDecision,
  ReadNode,
  ROUNDS_TO_CHANGE,
} from "./read_node.ts";

/** Consecutive failed probes before a node is marked dead; one refused connection is enough. */
export const FAILURES_MAX = 3;

/** Minimum time between two leader changes, unless the leader is dead. */
export const LEADER_KEPT_MS = 30_000;

/** How long another node's repeated or lower heads are dropped; then clients follow its chain. */
export const BEHIND_MS = 120_000;

/** A leader is slow if another node is more than twice as fast and faster by at least this much. */
const SLOWER_LEADER_MS = 50;

/** Nodes this close to the fastest count as equally fast; one of them is chosen at random. */
const EQUALLY_FAST_MS = 5;

export interface ReadNodesOptions {
  /** Names for logs, metrics and people, one per node. */
  names: readonly string[];
  /** How many blocks a node may be behind. */
  maxLag: number;
  /** Measures durations: it must not jump. */
  clock: Clock;
  /** Is compared with the times of blocks. */
  unixClock: Clock;
  random: RandomSource;
  /** Called when another node becomes the leader. */
  onLeaderChange?: (leader: number, reason: string) => void;
  /** Called when a node is removed from the read group, with the reason, or added, without one. */
  onMembershipChange?: (node: number, reason: string | undefined) => void;
}

/**
 * Decides which read node serves; there may be one or several. One node of the read group leads:
 * reads go to it and the hub follows it, so that a client can read the block that it was just
 * notified of. The first of the list leads first; when it is removed, the fastest other node does.
 * This class does no I/O: its owner reports events, and asks every node for its head once a round.
 */
export class ReadNodes {
  readonly #options: ReadNodesOptions;
  readonly #nodes: readonly ReadNode[];
  #leader = 0;
  #movedAtMs = -Infinity;
  /** Rounds in a row in which another node was much faster than the leader. */
  #slowRounds = 0;
  /**
   * The last announced head: by which node, its number, and until when a repeated number counts as a
   * duplicate.
   */
  #announcer = 0;
  #announced = -1;
  #duplicatesUntilMs = 0;

  constructor(options: ReadNodesOptions) {
    this.#options = options;
    this.#nodes = options.names.map((name) => new ReadNode(name, options.random));
  }

  get leader(): number {
    return this.#leader;
  }

  get names(): readonly string[] {
    return this.#options.names;
  }

  /** Whether at least one node of the read group responds. */
  get isAnyAlive(): boolean {
    return this.#nodes.some(({ isUp }) => isUp);
  }

  /** All nodes, for people and metrics. */
  get states(): readonly ReadNode[] {
    return this.#nodes;
  }

  /** Whether a node refused or closed its last connection, or answers no probes. */
  isDead(index: number): boolean {
    return this.#at(index).isDead;
  }

  /** The newest block that a node is known to have. */
  headOf(index: number): number | undefined {
    return this.#at(index).head?.number;
  }

  /** Another node for a read that one could not answer; undefined if there is none. */
  alternativeTo(than: number, block = -1): number | undefined {
    return this.#best((index) => index !== than && this.#serves(index, block));
  }

  /**
   * Picks the node for reading a block: the leader if it has the block or if no node has it yet,
   * otherwise another node that has it.
   *
   * @returns Undefined if the block exists only on nodes that are removed or dead.
   */
  nodeForBlock(block: number): number | undefined {
    if (this.#nodes.length === 1) return this.#leader;
    const isKnownAnywhere = this.#nodes.some(({ head }) =>
      head !== undefined && head.number >= block
    );
    if (!isKnownAnywhere || this.#serves(this.#leader, block)) return this.#leader;
    return this.alternativeTo(this.#leader, block);
  }

  /** Whether to ask a node for its head this round. */
  isDue(index: number): boolean {
    return this.#options.clock.now() >= this.#at(index).retryAtMs;
  }

  /**
   * A node announced a block.
   *
   * @returns Whether clients get it: not if it is implausibly far ahead, or was announced already by
   *   another node. A node may announce a number again after a reorganisation.
   */
  onHead(index: number, head: Head): boolean {
    const nowMs = this.#options.clock.now();
    const others = this.#othersThan(index).map((node) => node.recentHead(nowMs));
    if (blocksAbove(head, others, this.#options.maxLag) > 0) return false;
    this.#at(index).setHead(head, nowMs);
    if (index !== this.#announcer) this.#duplicatesUntilMs = nowMs + BEHIND_MS;
    this.#announcer = index;
    if (head.number <= this.#announced && nowMs < this.#duplicatesUntilMs) return false;
    this.#duplicatesUntilMs = 0;
    this.#announced = head.number;
    return true;
  }

  /** A node answered with its newest block. */
  onProbeAnswered(index: number, head: Head, tookMs: number): void {
    const node = this.#at(index);
    node.answeredProbe(head, tookMs, this.#options.clock.now());
    // A dead leader stays in the group until another node answers.
    const leader = this.#at(this.#leader);
    if (leader.isDead) {
      this.#remove(this.#leader, "it does not answer", { isUrgent: true });
    }
  }

  /** A probe was not answered. */
  onProbeFailed(index: number, reason: string): void {
    const node = this.#at(index);
    node.failures += 1;
    node.roundsForChange = 0;
    // A single node is probed only if it is silent; its timing shows in its reads.
    const isComparable = this.#nodes.length > 1;
    if (isComparable && node.failures >= FAILURES_MAX) this.onProbeRefused(index, reason);
  }

  onProbeRefused(index: number, reason: string): void {
    const node = this.#at(index);
    node.roundsForChange = 0;
    node.retryAtMs = this.#options.clock.now() + node.retry.nextMs();
    this.onDied(index, reason);
  }

  /** Counts a read. It failed if the node returned an internal error or dropped the request. */
  countRead(index: number, { isFailed }: { isFailed: boolean }): void {
    const node = this.#at(index);
    node.reads += 1;
    node.readsTotal += 1;
    if (!isFailed) return;
    node.errors += 1;
    node.errorsTotal += 1;
  }

  /** A node has accepted a connection. With several nodes, only probes show that a node is back. */
  onConnected(index: number): void {
    if (this.#nodes.length === 1) this.#at(index).isDead = false;
  }

  /** Marks a node dead: it refused or closed a connection, or stopped answering. */
  onDied(index: number, reason: string): void {
    this.#at(index).isDead = true;
    this.#remove(index, reason, { isUrgent: true });
  }

  /** Ends a probe round: every probe was answered or timed out. Applies lag and error limits. */
  endRound(): void {
    const { maxLag, clock, unixClock } = this.#options;
    const limits = { maxLag, nowMs: unixClock.now() };
    const decisions = this.#nodes.map((node, index) =>
      membershipDecision(node, this.#othersThan(index), limits)
    );
    for (const node of this.#nodes) node.endRound(clock.now());
    for (const [index, decision] of decisions.entries()) {
      if (decision !== undefined) this.#apply(index, decision);
    }
    this.#replaceSlowLeader();
  }

  #apply(index: number, { fault, roundsRequired, isUrgent }: MembershipDecision): void {
    const node = this.#at(index);
    const isChange = (fault === undefined) !== (node.removedFor === undefined);
    node.roundsForChange = isChange ? node.roundsForChange + 1 : 0;
    if (node.roundsForChange < roundsRequired) return;
    node.roundsForChange = 0;
    if (fault === undefined) this.#addBack(index);
    else this.#remove(index, fault, { isUrgent });
  }

  #othersThan(index: number): ReadNode[] {
    return this.#nodes.filter((_, at) => at !== index);
  }

  /** Removes a node, unless it is the last one. If it leads, another one does from now on. */
  #remove(index: number, reason: string, { isUrgent }: { isUrgent: boolean }): void {
    if (index === this.#leader) this.#replaceLeader(reason, { isUrgent });
    const node = this.#at(index);
    const isLast = this.#othersThan(index).every(({ removedFor }) => removedFor !== undefined);
    if (node.removedFor !== undefined || isLast) return;
    node.roundsForChange = 0;
    node.removedFor = reason;
    node.removalsTotal += 1;
    this.#options.onMembershipChange?.(index, reason);
  }

  #addBack(index: number): void {
    const node = this.#at(index);
    if (node.removedFor === undefined) return;
    node.removedFor = undefined;
    node.roundsForChange = 0;
    this.#options.onMembershipChange?.(index, undefined);
  }

  /**
   * Makes another node the leader. A working leader stays if no other node is as good, or if it has
   * only just become the leader. A leader that cannot be used is replaced by any node that answers.
   */
  #replaceLeader(reason: string, { isUrgent }: { isUrgent: boolean }): void {
    const nowMs = this.#options.clock.now();
    if (!isUrgent && nowMs - this.#movedAtMs < LEADER_KEPT_MS) return;
    const alive = () => this.#best((index) => index !== this.#leader && !this.#at(index).isDead);
    const next = this.alternativeTo(this.#leader) ?? (isUrgent ? alive() : undefined);
    if (next === undefined) return;
    this.#leader = next;
    this.#movedAtMs = nowMs;
    this.#slowRounds = 0;
    this.#addBack(next); // it may be behind, but no better node is available
    this.#options.onLeaderChange?.(next, reason);
  }

  #replaceSlowLeader(): void {
    const leader = this.#at(this.#leader);
    // The leader was removed earlier, when no replacement was available.
    if (leader.removedFor !== undefined) {
      return this.#replaceLeader(leader.removedFor, { isUrgent: leader.isDead });
    }
    const limitMs = Math.min(leader.tookMs / 2, leader.tookMs - SLOWER_LEADER_MS);
    const isSlow = this.#indexes().some((index) =>
      this.#serves(index, -1) && this.#at(index).tookMs < limitMs
    );
    this.#slowRounds = isSlow ? this.#slowRounds + 1 : 0;
    if (this.#slowRounds >= ROUNDS_TO_CHANGE) {
      this.#replaceLeader("it is slow", { isUrgent: false });
    }
  }

  #serves(index: number, block: number): boolean {
    const { isUp, head } = this.#at(index);
    return isUp && (block < 0 || (head !== undefined && head.number >= block));
  }

  /** The fastest candidate; if all of them are removed, the one furthest ahead. */
  #best(isCandidate: (index: number) => boolean): number | undefined {
    const all = this.#indexes().filter(isCandidate);
    // Prefer nodes whose head is known: the lag of the others is unknown.
    const known = all.filter((index) => this.#at(index).head !== undefined);
    const candidates = known.length > 0 ? known : all;
    if (candidates.some((index) => this.#at(index).removedFor !== undefined)) {
      return candidates.toSorted((a, b) => (this.headOf(b) ?? -1) - (this.headOf(a) ?? -1))[0];
    }
    const fastestMs = Math.min(...candidates.map((index) => this.#at(index).tookMs));
    const fast = candidates.filter((index) =>
      this.#at(index).tookMs - EQUALLY_FAST_MS <= fastestMs
    );
    return fast[Math.floor(this.#options.random() * fast.length)];
  }

  #indexes(): number[] {
    return this.#nodes.map((_, index) => index);
  }

  #at(index: number): ReadNode {
    const node = this.#nodes[index];
    if (node === undefined) throw new RangeError(`There is no read node ${index}`);
    return node;
  }
}
