import type { Clock, RandomSource } from "../../../lib/clock.ts";
import {
  blocksAbove,
  fastestOf,
  type FaultsByNode,
  groupAfter,
  type MembershipDecision,
  membershipDecision,
  nextLeader,
  type ReadGroup,
  ROUNDS_TO_CHANGE,
} from "./read_group.ts";
import { type Head, ReadNode } from "./read_node.ts";

/** Consecutive failed probes before a node is marked dead; one refused connection is enough. */
export const FAILURES_MAX = 3;

/** Minimum time between two leader changes, unless the leader is dead. */
export const LEADER_KEPT_MS = 30_000;

/** How long another node's repeated or lower heads are dropped; then clients follow its chain. */
export const DUPLICATE_HEADS_MS = 120_000;

/** A leader is slow if another node is more than twice as fast and faster by at least this much. */
const SLOWER_LEADER_MS = 50;

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
  #group: ReadGroup;
  #leaderChangedAtMs = -Infinity;
  /** Rounds in a row in which another node was much faster than the leader. */
  #slowRounds = 0;
  /**
   * The last announced head: by which node, its number, and until when a repeated number counts as
   * a duplicate.
   */
  #lastAnnouncedBy = 0;
  #announced = -1;
  #duplicatesUntilMs = 0;

  constructor(options: ReadNodesOptions) {
    this.#options = options;
    this.#nodes = options.names.map((name, index) => new ReadNode(name, index, options.random));
    this.#group = { leader: 0, members: new Set(this.#nodes.keys()) };
  }

  get leader(): number {
    return this.#group.leader;
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

  /** Another node that has the block, for a read that one could not answer. */
  otherNode(failed: number, block?: number): number | undefined {
    const able = this.#nodes.filter((node) => node.index !== failed && node.serves(block));
    return fastestOf(able, this.#options.random);
  }

  /**
   * Picks the node for reading a block: the leader if it has the block or if no node has it yet,
   * otherwise another node that has it.
   *
   * @returns Undefined if the block exists only on nodes that are removed or dead.
   */
  nodeForBlock(block: number): number | undefined {
    const { leader } = this;
    if (this.#nodes.length === 1) return leader;
    const isKnownAnywhere = this.#nodes.some(({ head }) =>
      head !== undefined && head.number >= block
    );
    if (!isKnownAnywhere || this.#at(leader).serves(block)) return leader;
    return this.otherNode(leader, block);
  }

  /** Whether to ask a node for its head this round. */
  isDue(index: number): boolean {
    return this.#options.clock.now() >= this.#at(index).retryAtMs;
  }

  /**
   * A node announced a block.
   *
   * @returns Whether clients get it: not if it is implausibly far ahead, or if another node has
   *   announced it. A node may announce a number again after a reorganisation.
   */
  onHead(index: number, head: Head): boolean {
    const nowMs = this.#options.clock.now();
    const others = this.#othersThan(index).map((node) => node.recentHead(nowMs));
    if (blocksAbove(head, others, this.#options.maxLag) > 0) return false;
    this.#at(index).setHead(head, nowMs);
    if (index !== this.#lastAnnouncedBy) this.#duplicatesUntilMs = nowMs + DUPLICATE_HEADS_MS;
    this.#lastAnnouncedBy = index;
    if (head.number <= this.#announced && nowMs < this.#duplicatesUntilMs) return false;
    this.#duplicatesUntilMs = 0;
    this.#announced = head.number;
    return true;
  }

  /** A node answered with its newest block. */
  onProbeAnswered(index: number, head: Head, tookMs: number): void {
    this.#at(index).answeredProbe(head, tookMs, this.#options.clock.now());
    // A dead leader stays in the group until another node answers.
    if (this.isDead(this.leader)) this.onDied(this.leader, "it does not answer");
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
    this.#apply(new Map([[index, { reason, isUrgent: true }]]));
  }

  /** Ends a probe round: every probe was answered or timed out. Applies lag and error limits. */
  endRound(): void {
    const { maxLag, clock, unixClock } = this.#options;
    const limits = { maxLag, nowMs: unixClock.now() };
    const decisions = this.#nodes.map((node, index) =>
      membershipDecision(node, this.#othersThan(index), limits)
    );
    for (const node of this.#nodes) node.endRound(clock.now());
    const found: FaultsByNode = new Map(
      decisions.flatMap((decision, index) =>
        decision !== undefined && this.#countDecision(index, decision)
          ? [[index, decision.fault]]
          : []
      ),
    );
    this.#apply(found);
    this.#replaceSlowLeader();
  }

  /** Counts a decision about a node. @returns Whether it was made often enough to take effect. */
  #countDecision(index: number, { fault, roundsRequired }: MembershipDecision): boolean {
    const node = this.#at(index);
    const isChange = (fault === undefined) !== (node.removedFor === undefined);
    node.roundsForChange = isChange ? node.roundsForChange + 1 : 0;
    if (node.roundsForChange < roundsRequired) return false;
    node.roundsForChange = 0;
    return true;
  }

  #replaceSlowLeader(): void {
    const { leader } = this;
    const { removedFor, isDead, tookMs } = this.#at(leader);
    // The leader was removed earlier, when no replacement was available.
    if (removedFor !== undefined) {
      return this.#apply(new Map([[leader, { reason: removedFor, isUrgent: isDead }]]));
    }
    const limitMs = Math.min(tookMs / 2, tookMs - SLOWER_LEADER_MS);
    const isSlow = this.#nodes.some((node) => node.isUp && node.tookMs < limitMs);
    this.#slowRounds = isSlow ? this.#slowRounds + 1 : 0;
    if (this.#slowRounds < ROUNDS_TO_CHANGE) return;
    const next = nextLeader(this.#group, this.#nodes, { isUrgent: false }, this.#leaderChoice);
    this.#replaceGroup({ ...this.#group, leader: next ?? leader }, () => "it is slow");
  }

  #othersThan(index: number): ReadNode[] {
    return this.#nodes.filter((_, at) => at !== index);
  }

  get #leaderChoice() {
    const { clock, random } = this.#options;
    return { isLeaderNew: clock.now() - this.#leaderChangedAtMs < LEADER_KEPT_MS, random };
  }

  #apply(found: FaultsByNode): void {
    const next = groupAfter(found, this.#group, this.#nodes, this.#leaderChoice);
    this.#replaceGroup(next, (index) => found.get(index)?.reason);
  }

  /** Replaces the read group, and reports the differences. */
  #replaceGroup(next: ReadGroup, reasonOf: (index: number) => string | undefined): void {
    const { clock, onLeaderChange, onMembershipChange } = this.#options;
    const before = this.#group;
    const added = next.members.difference(before.members);
    const removed = before.members.difference(next.members);
    this.#group = next;
    for (const index of added) this.#at(index).setRemoved(undefined);
    for (const index of removed) this.#at(index).setRemoved(reasonOf(index));
    for (const index of added) onMembershipChange?.(index, undefined);
    if (next.leader !== before.leader) {
      this.#leaderChangedAtMs = clock.now();
      this.#slowRounds = 0;
      onLeaderChange?.(next.leader, reasonOf(before.leader) ?? "");
    }
    for (const index of removed) onMembershipChange?.(index, reasonOf(index));
  }

  #at(index: number): ReadNode {
    const node = this.#nodes[index];
    if (node === undefined) throw new RangeError(`There is no read node ${index}`);
    return node;
  }
}
