/** Decides which read nodes serve and which one leads, from their state: without I/O or memory. */
import type { RandomSource } from "../../../lib/clock.ts";
import type { Head, ReadNode } from "./read_node.ts";

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

/** Why a node must not serve. */
export interface Fault {
  reason: string;
  /** Whether it is dead or its answers are wrong, so that it must not lead any longer. */
  isUrgent: boolean;
}

export interface MembershipDecision {
  /** Undefined if it keeps up. */
  fault: Fault | undefined;
  /** Rounds in a row with this decision before it takes effect. */
  roundsRequired: number;
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
    const reason = `${errors} of ${reads} reads failed`;
    return { fault: { reason, isUrgent: false }, roundsRequired: 1 };
  }
  if (headThisRound === undefined) return undefined;
  const lag = blocksBehind(headThisRound, others.map(({ headLastRound }) => headLastRound), nowMs);
  if (lag > maxLag) {
    const reason = `it is ${lag} blocks behind`;
    return { fault: { reason, isUrgent: false }, roundsRequired: ROUNDS_TO_CHANGE };
  }
  // A node that is back after an outage may still be far behind.
  const up = others.filter(({ isUp }) => isUp);
  const above = blocksAbove(headThisRound, up.map(({ headThisRound }) => headThisRound), maxLag);
  if (above > 0) {
    const reason = `it is ${above} blocks above all others`;
    return { fault: { reason, isUrgent: true }, roundsRequired: ROUNDS_ABOVE };
  }
  return { fault: undefined, roundsRequired: ROUNDS_TO_CHANGE };
}

/**
 * How many blocks a node is behind the others; negative if it is ahead. Among three nodes or more,
 * it is compared with the second-highest, so that one node with a far too high head excludes no
 * other. Of two nodes, either may be right: the lower one is behind only if its block is also
 * older.
 */
function blocksBehind(head: Head, others: readonly (Head | undefined)[], nowMs: number): number {
  const known = others.filter((head) => head !== undefined);
  const [highest, second] = [head, ...known].toSorted((a, b) => b.number - a.number);
  if (highest === undefined || second === undefined) return 0;
  if (known.length > 1) return second.number - head.number;
  // A time in the future cannot be right.
  const isOlder = Math.min(highest.timestampS, nowMs / 1000) - head.timestampS >= OLDER_S;
  return isOlder ? highest.number - head.number : 0;
}

/** How many blocks a head is above all others; 0 if that is not far, or others are too few. */
export function blocksAbove(
  head: Head,
  others: readonly (Head | undefined)[],
  maxLag: number,
): number {
  const known = others.filter((head) => head !== undefined);
  // Of two nodes, either may be right.
  if (known.length < 2) return 0;
  const above = head.number - Math.max(...known.map(({ number }) => number));
  return above > Math.max(FAR_ABOVE.blocks, FAR_ABOVE.lags * maxLag) ? above : 0;
}

/** Nodes this close to the fastest count as equally fast; one of them is chosen at random. */
const EQUALLY_FAST_MS = 5;

/** The nodes that serve, by their numbers, and the one that leads. */
export interface ReadGroup {
  /** A leader that was removed leads until another node can. */
  readonly leader: number;
  readonly members: ReadonlySet<number>;
}

/** What was found about nodes, by their numbers: a fault, or undefined if one keeps up again. */
export type FaultsByNode = ReadonlyMap<number, Fault | undefined>;

export type Candidate = Pick<ReadNode, "index" | "isDead" | "head" | "tookMs">;

interface LeaderChoice {
  /** Whether the leader has only just become it: then it stays unless its fault is urgent. */
  isLeaderNew: boolean;
  random: RandomSource;
}

/**
 * The read group once something was found about some nodes. Those with a fault leave it, but one
 * stays: if all have a fault, the leader. A leader with a fault is replaced, if another node can
 * lead.
 */
export function groupAfter(
  found: FaultsByNode,
  { leader, members }: ReadGroup,
  nodes: readonly Candidate[],
  choice: LeaderChoice,
): ReadGroup {
  const remaining = new Set(members);
  for (const [index, fault] of found) {
    if (fault === undefined) remaining.add(index);
    else remaining.delete(index);
  }
  const fault = found.get(leader);
  const next = fault && nextLeader({ leader, members: remaining }, nodes, fault, choice);
  if (next !== undefined) remaining.add(next); // it may be behind, but no better node is available
  const last = members.has(leader) ? leader : Math.min(...members);
  return { leader: next ?? leader, members: remaining.size > 0 ? remaining : new Set([last]) };
}

/**
 * The node that leads instead of one with a fault: the fastest other member. If an urgent fault
 * leaves no member that answers, it is the node furthest ahead of all that do.
 *
 * @returns Undefined if the leader stays.
 */
export function nextLeader(
  { leader, members }: ReadGroup,
  nodes: readonly Candidate[],
  { isUrgent }: Pick<Fault, "isUrgent">,
  { isLeaderNew, random }: LeaderChoice,
): number | undefined {
  if (isLeaderNew && !isUrgent) return undefined;
  const others = nodes.filter(({ index, isDead }) => index !== leader && !isDead);
  const fastest = fastestOf(others.filter(({ index }) => members.has(index)), random);
  return fastest ?? (isUrgent ? furthestOf(others) : undefined);
}

/** The fastest of some nodes, if possible one whose head is known: the lag of others is unknown. */
export function fastestOf(
  nodes: readonly Candidate[],
  random: RandomSource,
): number | undefined {
  const known = nodes.filter(({ head }) => head !== undefined);
  const candidates = known.length > 0 ? known : nodes;
  const fastestMs = Math.min(...candidates.map(({ tookMs }) => tookMs));
  const fast = candidates.filter(({ tookMs }) => tookMs - EQUALLY_FAST_MS <= fastestMs);
  return fast[Math.floor(random() * fast.length)]?.index;
}

function furthestOf(nodes: readonly Candidate[]): number | undefined {
  const heightOf = ({ head }: Candidate) => head?.number ?? -1;
  return nodes.toSorted((a, b) => heightOf(b) - heightOf(a))[0]?.index;
}
