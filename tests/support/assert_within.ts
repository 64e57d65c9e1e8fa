import assert from "node:assert/strict";

/** Asserts that a number is not further from another one than a tolerance. */
export function assertWithin(
  actual: number,
  expected: number,
  tolerance: number,
  what: string,
): void {
  const isNear = Math.abs(actual - expected) <= tolerance;
  assert.ok(isNear, `${what}: ${actual} is not within ${tolerance} of ${expected}`);
}

/** Like {@link assertWithin}, with a tolerance in shares of the expected number. */
export function assertWithinShare(
  actual: number,
  expected: number,
  share: number,
  what: string,
): void {
  assertWithin(actual, expected, share * Math.abs(expected), what);
}
