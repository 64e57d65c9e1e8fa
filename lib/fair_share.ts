/**
 * Whether a caller may take one more of the shared places: it may while it has fewer than are free.
 * So the first caller gets at most half of them, the next a quarter, and a new caller always finds
 * some.
 */
export function mayTakeAnother(inUse: number, free: number): boolean {
  return inUse < free;
}
