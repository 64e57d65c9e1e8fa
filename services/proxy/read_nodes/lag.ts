/** A node behind another one counts as lagging only if its block is older by this many seconds. */
const OLDER_S = 2;

/** The newest block of a node. */
export interface Head {
  number: number;
  /** Unix seconds. */
  timestampS: number;
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
