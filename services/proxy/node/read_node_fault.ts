/** Decides whether a read node may serve, from heads and counts: without I/O or memory. */
import type { Head, Round } from "./read_node.ts";

/** A head is far above others if it is over `blocks`, and over `lags` times the maximum lag, ahead. */
const FAR_ABOVE = { lags: 10, blocks: 32 };

/** A node has a fault if this share of its reads in a round fail, given enough reads. */
const ERRORS = { readsMin: 10, share: 0.5 };

/** Of two nodes, the lower one is behind only if its block is older by this many seconds. */
const OLDER_S = 2;

/** A round in which the node answered its probe. */
type RoundReport = Round & { head: Head };

interface Limits {
  /** How many blocks a node may be behind. */
  maxLag: number;
  /** Unix milliseconds. */
  nowMs: number;
}

/**
 * Why a node must not serve; undefined if it keeps up.
 *
 * @param others Heads of the other nodes that serve. They are those of the previous round: on a
 *   fast chain, answers of one round differ in timing.
 */
export function faultOf(
  { head, reads, errors }: RoundReport,
  others: readonly Head[],
  limits: Limits,
): string | undefined {
  if (reads >= ERRORS.readsMin && errors >= reads * ERRORS.share) {
    return `${errors} of ${reads} reads failed`;
  }
  const behind = blocksBehind(head, others, limits.nowMs);
  if (behind > limits.maxLag) return `it is ${behind} blocks behind`;
  return isFarAbove(head, others, limits) ? `it is ${-behind} blocks above all others` : undefined;
}

/** Whether a head is so far above all others that it is probably wrong. */
export function isFarAbove(
  head: Head,
  others: readonly Head[],
  { maxLag, nowMs }: Limits,
): boolean {
  const limit = Math.max(FAR_ABOVE.blocks, FAR_ABOVE.lags * maxLag);
  return blocksBehind(head, others, nowMs) < -limit;
}

/**
 * How many blocks a head is behind the others; negative if it is above all. Among three nodes or
 * more, it is compared with the second-highest, so that one node with a far too high head excludes
 * no other. Of two nodes, either may be right: the higher one is not above, and the lower one is
 * behind only if its block is also older.
 */
function blocksBehind(head: Head, others: readonly Head[], nowMs: number): number {
  const [highest, second] = [head, ...others].toSorted((a, b) => b.number - a.number);
  if (highest === undefined || second === undefined) return 0;
  if (others.length > 1) return second.number - head.number;
  // A time in the future cannot be right.
  const isOlder = Math.min(highest.timestampS, nowMs / 1000) - head.timestampS >= OLDER_S;
  return isOlder ? highest.number - head.number : 0;
}
