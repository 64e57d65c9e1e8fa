import type { Clock, RandomSource } from "../../../lib/clock.ts";
import type { Head } from "./head.ts";
import { blocksBehind, type NodeState, ReadNode } from "./read_node.ts";

/** Consecutive failed probes before a node is marked dead; one refused connection is enough. */
export const FAILURES_MAX = 3;

/** Consecutive rounds a node must lag, or keep up, before it leaves or rejoins the rotation. */
export const ROUNDS = 3;

/** Consecutive rounds a node must be far above all others before it leaves the rotation. */
const ROUNDS_ABOVE = 2;

/** A node is far above the others from this many times `maxLag` on, or this many blocks. */
const FAR_ABOVE = { lags: 10, blocks: 32 };

/** Minimum time between two leader changes, unless the leader is dead. */
export const MOVE_EVERY_MS = 30_000;

/** The head of a node that has not answered for this long is deleted. */
const HEAD_KEPT_MS = 30_000;

/** A node leaves the rotation if this share of its reads in a round fail, given enough reads. */
const ERRORS = { readsMin: 10, share: 0.5 };

/** A leader is slow if another node is more than twice as fast and faster by at least this much. */
const SLOWER_MS = 50;

/** Nodes this close to the fastest count as equally fast; one of them is chosen at random. */
const AS_FAST_MS = 5;

/** Options of {@link ReadNodes}. */
export interface ReadNodesOptions {
  /** Names for logs, metrics and people, one per node. */
  names: readonly string[];
  /** How many blocks a node may be behind. */
  maxLag: number;
  clock: Clock;
  random: RandomSource;
  /** Called when another node becomes the leader. */
  moved?: (leader: number, reason: string) => void;
  /** Called when a node leaves the rotation, with the reason, or rejoins it, without one. */
  changed?: (node: number, reason: string | undefined) => void;
}

/**
 * Decides which of the read nodes, one or more, serves. One node leads: reads go to it and the hub
 * follows it, so that a client can read the block that it was just notified of. The first of the list leads first. When it
 * is out of rotation, the fastest other node becomes leader. This class does no I/O: its owner
 * reports events, and asks every node for its head once a round.
 */
export class ReadNodes {
  readonly #options: ReadNodesOptions;
  readonly #nodes: readonly ReadNode[];
  #leader = 0;
  #movedAtMs = -Infinity;
  /** Rounds in a row in which another node was much faster than the leader. */
  #slowRounds = 0;
  /** Heads of the previous round: on a fast chain, heads of one round differ in timing. */
  #before: (Head | undefined)[] = [];

  constructor(options: ReadNodesOptions) {
    this.#options = options;
    this.#nodes = options.names.map((name) => new ReadNode(name, options.random));
  }

  /** The node that serves now. */
  get leader(): number {
    return this.#leader;
  }

  /** Names of the nodes. */
  get names(): readonly string[] {
    return this.#options.names;
  }

  /** Whether at least one node is in rotation and responding. */
  get isAnyAlive(): boolean {
    return this.#nodes.some(({ out, isDead }) => out === undefined && !isDead);
  }

  /** The current state of all nodes. */
  get states(): NodeState[] {
    return this.#nodes.map((node, index) => node.state(index === this.#leader));
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
   * @returns Undefined if the block exists only on nodes that are out of rotation or dead.
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

  /** A node announced a block. @returns False if it is far above those of all others. */
  onHead(index: number, head: Head): boolean {
    if (this.#blocksAbove(index, head.number, this.#nodes.map(({ head }) => head)) > 0) {
      return false;
    }
    this.#at(index).reached(head, this.#options.clock.now());
    return true;
  }

  /** A node answered with its newest block. */
  onProbeAnswered(index: number, head: Head, tookMs: number): void {
    const node = this.#at(index);
    node.answeredProbe(head, tookMs, this.#options.clock.now());
    // The last node stays in, dead or not, until another one answers.
    const leader = this.#at(this.#leader);
    if (leader.isDead) this.#removeNow(this.#leader, "it does not answer");
  }

  /** A probe was not answered. */
  onProbeFailed(index: number, reason: string): void {
    const node = this.#at(index);
    node.failures += 1;
    node.rounds = 0;
    if (node.failures >= FAILURES_MAX) this.onProbeRefused(index, reason);
  }

  /** A node refused the connection of a probe. */
  onProbeRefused(index: number, reason: string): void {
    const node = this.#at(index);
    node.rounds = 0;
    node.retryAtMs = this.#options.clock.now() + node.retry.nextMs();
    this.onDied(index, reason);
  }

  /** A node answered a read. */
  onReadAnswered(index: number): void {
    const node = this.#at(index);
    node.reads += 1;
    node.readsTotal += 1;
  }

  /** Records a failed read: the node returned an internal error or dropped the request. */
  onReadFailed(index: number): void {
    this.onReadAnswered(index);
    const node = this.#at(index);
    node.errors += 1;
    node.errorsTotal += 1;
  }

  /** A node has accepted a connection. Of several, only probes show that one is back. */
  onConnected(index: number): void {
    if (this.#nodes.length === 1) this.#at(index).isDead = false;
  }

  /** Marks a node dead: it refused or closed a connection, or stopped answering. */
  onDied(index: number, reason: string): void {
    this.#at(index).isDead = true;
    this.#removeNow(index, reason);
  }

  /** Ends a probe round: every probe was answered or timed out. Applies lag and error limits. */
  endRound(): void {
    const nowMs = this.#options.clock.now();
    for (const [index, node] of this.#nodes.entries()) {
      const { reads, errors, probed, out } = node;
      node.reads = node.errors = 0;
      // Forget the head of a silent node, so that reads of its blocks do not wait for it.
      if (nowMs - node.headAtMs >= HEAD_KEPT_MS) node.head = undefined;
      if (reads >= ERRORS.readsMin && errors >= reads * ERRORS.share) {
        node.rounds = 0;
        this.#remove(index, `${errors} of ${reads} reads failed`);
      } else if (probed !== undefined) {
        const others = this.#before.filter((_, at) => at !== index);
        const lag = blocksBehind(probed, others.filter((head) => head !== undefined), nowMs);
        const above = this.#blocksAbove(
          index,
          probed.number,
          this.#nodes.map(({ probed }) => probed),
        );
        const isBehind = lag > this.#options.maxLag;
        const isOutOfStep = isBehind || above > 0;
        node.rounds = isOutOfStep === (out === undefined) ? node.rounds + 1 : 0;
        if (node.rounds >= (above > 0 ? ROUNDS_ABOVE : ROUNDS)) {
          node.rounds = 0;
          if (isBehind) this.#remove(index, `it is ${lag} blocks behind`);
          else if (above > 0) {
            this.#removeNow(index, `it is ${above} blocks above all others`);
          } else this.#returnToRotation(index);
        }
      }
    }
    this.#before = this.#nodes.map(({ probed }) => probed);
    for (const node of this.#nodes) node.probed = undefined;
    this.#replaceSlowLeader();
  }

  /** How many blocks a head is above all others; 0 if that is not far, or there are too few others. */
  #blocksAbove(index: number, number: number, heads: readonly (Head | undefined)[]): number {
    const others = heads.filter((head, at) => at !== index && head !== undefined);
    // Of two nodes, either may be right.
    if (others.length < 2) return 0;
    const above = number - Math.max(...others.map((head) => head?.number ?? 0));
    const far = Math.max(FAR_ABOVE.blocks, FAR_ABOVE.lags * this.#options.maxLag);
    return above > far ? above : 0;
  }

  /** Takes a node that works out of rotation; it leads on if no other one serves as well. */
  #remove(index: number, reason: string): void {
    if (index === this.#leader) this.#replaceLeader(reason);
    this.#exclude(index, reason);
  }

  /** Removes a node that cannot be used from rotation; another one that answers leads instead. */
  #removeNow(index: number, reason: string): void {
    if (index === this.#leader) this.#replaceLeaderNow(reason);
    this.#exclude(index, reason);
  }

  #exclude(index: number, reason: string): void {
    const node = this.#at(index);
    const isLast = this.#nodes.every((other) => other === node || other.out !== undefined);
    if (node.out !== undefined || isLast) return;
    node.rounds = 0;
    node.out = reason;
    node.outsTotal += 1;
    this.#options.changed?.(index, reason);
  }

  #returnToRotation(index: number): void {
    const node = this.#at(index);
    if (node.out === undefined) return;
    node.out = undefined;
    node.rounds = 0;
    this.#options.changed?.(index, undefined);
  }

  #replaceLeader(reason: string): void {
    if (this.#options.clock.now() - this.#movedAtMs < MOVE_EVERY_MS) return;
    this.#moveTo(this.alternativeTo(this.#leader), reason);
  }

  #replaceLeaderNow(reason: string): void {
    const alive = () => this.#best((index) => index !== this.#leader && !this.#at(index).isDead);
    this.#moveTo(this.alternativeTo(this.#leader) ?? alive(), reason);
  }

  #moveTo(candidate: number | undefined, reason: string): void {
    if (candidate === undefined) return;
    this.#leader = candidate;
    this.#movedAtMs = this.#options.clock.now();
    this.#slowRounds = 0;
    this.#returnToRotation(candidate); // it may lag, but no better node is available
    this.#options.moved?.(candidate, reason);
  }

  #replaceSlowLeader(): void {
    const leader = this.#at(this.#leader);
    // The leader is already out of rotation; no replacement was available earlier.
    if (leader.out !== undefined) {
      if (leader.isDead) this.#replaceLeaderNow(leader.out);
      else this.#replaceLeader(leader.out);
      return;
    }
    const limitMs = Math.min(leader.tookMs / 2, leader.tookMs - SLOWER_MS);
    const isSlow = this.#indexes().some((index) =>
      this.#serves(index, -1) && this.#at(index).tookMs < limitMs
    );
    this.#slowRounds = isSlow ? this.#slowRounds + 1 : 0;
    if (this.#slowRounds >= ROUNDS) this.#replaceLeader("it is slow");
  }

  #serves(index: number, block: number): boolean {
    const { out, isDead, head } = this.#at(index);
    return out === undefined && !isDead &&
      (block < 0 || (head !== undefined && head.number >= block));
  }

  /** The fastest of some nodes; of those that are out, the one furthest ahead. */
  #best(isCandidate: (index: number) => boolean): number | undefined {
    const all = this.#indexes().filter(isCandidate);
    // Prefer nodes whose head is known: the lag of the others is unknown.
    const known = all.filter((index) => this.#at(index).head !== undefined);
    const candidates = known.length > 0 ? known : all;
    if (candidates.some((index) => this.#at(index).out !== undefined)) {
      return candidates.toSorted((a, b) => (this.headOf(b) ?? -1) - (this.headOf(a) ?? -1))[0];
    }
    const fastestMs = Math.min(...candidates.map((index) => this.#at(index).tookMs));
    const fast = candidates.filter((index) => this.#at(index).tookMs - AS_FAST_MS <= fastestMs);
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
