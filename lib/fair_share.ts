/**
 * Whether a caller may take one more of the places that several share: while it holds fewer than are
 * free. The first gets at most half of them, the next a quarter, and a new one always finds some.
 */
export function hasFairShare(held: number, free: number): boolean {
  return held < free;
}
