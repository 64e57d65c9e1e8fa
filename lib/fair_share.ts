/**
 * Whether one of several who share a number of places may take one more: only while more places are free
 * than it has. So one takes half of them at most, a second one a quarter, and another one always finds
 * some.
 */
export function mayTakeOneMore(own: number, free: number): boolean {
  return own < free;
}
