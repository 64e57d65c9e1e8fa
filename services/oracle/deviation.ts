import type { ProviderName } from "../../lib/protocol/providers.ts";
import { median } from "./aggregation.ts";
import type { Source } from "./pair.ts";

/** How far a source may lie from the median of three or more before it is called an outlier. */
export const OUTLIER_BASIS_POINTS = 100;

/**
 * How far each source lies from the median of all, in basis points, by provider; undefined with
 * fewer than three sources, where nobody can say which of them is wrong.
 */
export function deviations(sources: readonly Source[]): Map<ProviderName, number> | undefined {
  if (sources.length < 3) return undefined;
  const middle = median(sources.map((source) => source.price));
  return new Map(sources.map(({ provider, price }) => [
    provider,
    // The quotient of two prices is far inside a float's range, and is only shown.
    Number((price - middle) * 1_000_000n / middle) / 100,
  ]));
}
