/**
 * Whether one of several that share a number of places may take another one: while more are free than it
 * holds. So one takes half of them at most, a second one a quarter, and a new one always finds some.
 */
export function hasFairShare(held: number, free: number): boolean {
  return held < free;
}
