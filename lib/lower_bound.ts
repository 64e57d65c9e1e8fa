/** Index of the first value that is not below `least`, in ascending values. O(log n). */
export function lowerBound(values: readonly number[], least: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < least) low = middle + 1; // middle is below the length
    else high = middle;
  }
  return low;
}
