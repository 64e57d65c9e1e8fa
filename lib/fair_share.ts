/**
 * Whether a caller may use one more of the shared places: it may while it uses fewer than are free.
 * So the first caller gets at most half of them, the next a quarter, and there are always some for a
 * new caller.
 */
export function isWithinFairShare(used: number, free: number): boolean {
  return used < free;
}
