/** How the prices of several sources become one (spec: price oracle, "Aggregation"). */
export const AGGREGATIONS = { median, average } as const;

/** One of the two methods. */
export type Aggregation = keyof typeof AGGREGATIONS;

/**
 * The middle price; with an even count the mean of the two in the middle, in integers, rounded half
 * away from zero.
 *
 * @param prices At least one price, none negative.
 */
export function median(prices: readonly bigint[]): bigint {
  const sorted = prices.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0);
  return average(sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1));
}

/**
 * The arithmetic mean in integers, rounded half away from zero.
 *
 * @param prices At least one price, none negative.
 */
export function average(prices: readonly bigint[]): bigint {
  const count = BigInt(prices.length);
  const sum = prices.reduce((total, price) => total + price, 0n);
  return (2n * sum + count) / (2n * count);
}
