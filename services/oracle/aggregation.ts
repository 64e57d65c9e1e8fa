import type { ProviderName } from "../../lib/protocol/providers.ts";

/** How the prices of several sources become one price (spec: price oracle, "Aggregation"). */
export const AGGREGATIONS = { median, average } as const;

export type Aggregation = keyof typeof AGGREGATIONS;

/**
 * The middle price. With an even count, the mean of the two middle prices, rounded half away from
 * zero to a whole number.
 *
 * @param prices At least one price, none negative.
 */
function median(prices: readonly bigint[]): bigint {
  const sorted = ascending(prices);
  const high = sorted[sorted.length >> 1]!; // at least one price
  if (sorted.length % 2 === 1) return high;
  const low = sorted[(sorted.length >> 1) - 1]!; // at least two
  return (low + high + 1n) / 2n;
}

/**
 * The arithmetic mean, rounded half away from zero to a whole number.
 *
 * @param prices At least one price, none negative.
 */
function average(prices: readonly bigint[]): bigint {
  const count = BigInt(prices.length);
  const sum = prices.reduce((total, price) => total + price, 0n);
  return (2n * sum + count) / (2n * count);
}

/** A source this far from the median of three or more sources is reported as an outlier. */
export const OUTLIER_BASIS_POINTS = 100;

/**
 * The distance of each source from the median of all, in basis points, by provider. Undefined with
 * fewer than three sources: two sources cannot show which one is wrong.
 */
export function deviations(
  sources: readonly { provider: ProviderName; price: bigint }[],
): Map<ProviderName, number> | undefined {
  if (sources.length < 3) return undefined;
  const middle = median(sources.map((source) => source.price));
  return new Map(sources.map(({ provider, price }) => [
    provider,
    // A float is precise enough for this ratio, which is only displayed.
    Number((price - middle) * 1_000_000n / middle) / 100,
  ]));
}

export function ascending(prices: readonly bigint[]): bigint[] {
  return prices.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0);
}
