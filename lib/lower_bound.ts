/** Index of the first value whose key is not below `least`, in values that ascend by it. O(log n). */
export function lowerBound<T>(
  values: readonly T[],
  least: number,
  keyOf: (value: T) => number,
): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyOf(values[middle]!) < least) low = middle + 1; // middle is below the length
    else high = middle;
  }
  return low;
}
