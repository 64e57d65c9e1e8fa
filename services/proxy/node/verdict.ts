import type { Head } from "./head.ts";

/** Consecutive rounds a node must lag, or keep up, before it is removed or added. */
export const ROUNDS = 3;

/** Consecutive rounds a node must be far above all others before it is removed. */
const ROUNDS_ABOVE = 2;

/** A node is far above the others from this many times `maxLag` on, or this many blocks. */
const FAR_ABOVE = { lags: 10, blocks: 32 };

/** A node is removed if this share of its reads in a round fail, given enough reads. */
const ERRORS = { readsMin: 10, share: 0.5 };

/** A node behind another one counts as lagging only if its block is older by this many seconds. */
const OLDER_S = 2;

/** What a round of probes showed of a node. */
export interface RoundReport {
  /** Its newest block; undefined if it did not answer. */
  probed: Head | undefined;
  /** That of the previous round: on a fast chain, heads of one round differ in timing. */
  probedBefore: Head | undefined;
  /** Reads, and those of them that failed. */
  reads: number;
  errors: number;
}

/** Whether a node is to serve. */
export interface Verdict {
  /** The reason why not; undefined if it keeps up. */
  fault: string | undefined;
  /** In how many rounds in a row it has to be so. */
  rounds: number;
  /** Whether its answers are wrong, so that it must not lead any longer. */
  isUrgent: boolean;
}

/** Judges a node by a round. @returns Undefined if it did not answer, which shows nothing. */
export function verdictOf(
  { probed, reads, errors }: RoundReport,
  others: readonly RoundReport[],
  { maxLag, nowMs }: { maxLag: number; nowMs: number },
): Verdict | undefined {
  if (reads >= ERRORS.readsMin && errors >= reads * ERRORS.share) {
    return { fault: `${errors} of ${reads} reads failed`, rounds: 1, isUrgent: false };
  }
  if (probed === undefined) return undefined;
  const lag = blocksBehind(probed, others.map(({ probedBefore }) => probedBefore), nowMs);
  if (lag > maxLag) {
    return { fault: `it is ${lag} blocks behind`, rounds: ROUNDS, isUrgent: false };
  }
  const above = blocksAbove(probed, others.map(({ probed }) => probed), maxLag);
  if (above > 0) {
    const fault = `it is ${above} blocks above all others`;
    return { fault, rounds: ROUNDS_ABOVE, isUrgent: true };
  }
  return { fault: undefined, rounds: ROUNDS, isUrgent: false };
}

/**
 * How many blocks a node is behind the others; negative if it is ahead. From three nodes on it is
 * compared with the second-highest, so that one node with a far too high head excludes no other. Of
 * two, either may be right: the lower one is behind only if its block is older, too.
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
