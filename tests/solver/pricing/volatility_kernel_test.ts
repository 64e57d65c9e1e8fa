import assert from "node:assert/strict";
import { VolatilityKernel } from "../../../services/solver/pricing/volatility_kernel.ts";

const MINUTE_MS = 60_000;
const HALF_LIVES_MS = [5 * MINUTE_MS, 60 * MINUTE_MS, 720 * MINUTE_MS];

function assertNear(actual: number | undefined, expected: number): void {
  const error = Math.abs((actual ?? Number.NaN) - expected);
  assert.ok(error < 1e-12 * expected, `${actual} is not ${expected}`);
}

/** A kernel whose memories, from short to long, have these variances per millisecond. */
function kernelOf(...variances: number[]): VolatilityKernel {
  const means = variances.map((variance) => ({ sum: variance * MINUTE_MS, weight: MINUTE_MS }));
  return new VolatilityKernel({ means, historyMs: 720 * MINUTE_MS, endMs: 720 * MINUTE_MS });
}

/** The weighted geometric mean of variances with these half-lives. */
function blend(
  horizonMs: number,
  parts: readonly (readonly [halfLifeMs: number, perMs: number])[],
) {
  let [logs, weights] = [0, 0];
  for (const [halfLifeMs, perMs] of parts) {
    const u = halfLifeMs / (0.4 * horizonMs);
    logs += Math.sqrt(u) / (1 + u) * Math.log(perMs);
    weights += Math.sqrt(u) / (1 + u);
  }
  return Math.exp(logs / weights);
}

const [short, medium, long] = HALF_LIVES_MS as [number, number, number];

for (const horizonMs of [1_000, 5 * MINUTE_MS, 60 * MINUTE_MS, 1_440 * MINUTE_MS]) {
  Deno.test(`Volatility kernel: memories count for ${horizonMs} ms by how near their length is`, () => {
    const parts = [[short, 4], [medium, 2], [long, 3]] as const;
    const kernel = kernelOf(4, 2, 3);
    assertNear(kernel.over(horizonMs), blend(horizonMs, parts));
    const fast = { halfLifeMs: MINUTE_MS, perMs: 9 };
    assertNear(kernel.over(horizonMs, fast), blend(horizonMs, [...parts, [MINUTE_MS, 9]]));
  });
}

Deno.test("Volatility kernel: a memory is at least a tenth of the next longer one, and 0 counts nothing", () => {
  const horizonMs = 60 * MINUTE_MS;
  const floored = [[short, 0.3], [medium, 3], [long, 2]] as const;
  assertNear(kernelOf(0.2, 3, 2).over(horizonMs), blend(horizonMs, floored));
  const fast = { halfLifeMs: MINUTE_MS, perMs: 0 };
  const withFast = [[MINUTE_MS, 0.03], ...floored] as const;
  assertNear(kernelOf(0.2, 3, 2).over(horizonMs, fast), blend(horizonMs, withFast));
  assertNear(kernelOf(5, 4, 0).over(horizonMs), blend(horizonMs, [[short, 5], [medium, 4]]));
  assert.equal(kernelOf(0, 0, 0).over(horizonMs), undefined);
  assert.equal(new VolatilityKernel().over(horizonMs), undefined);
  assertNear(new VolatilityKernel().over(horizonMs, { halfLifeMs: 1, perMs: 7 }), 7);
});

Deno.test("Volatility kernel: variances fade with the time between them", () => {
  const kernel = new VolatilityKernel();
  kernel.add(10 * MINUTE_MS, MINUTE_MS, 3 * MINUTE_MS);
  kernel.add(15 * MINUTE_MS, MINUTE_MS, 6 * MINUTE_MS);
  const { means, historyMs, endMs } = kernel.toJSON();
  assert.deepEqual([historyMs, endMs], [2 * MINUTE_MS, 15 * MINUTE_MS]);
  assert.deepEqual([kernel.historyMs, kernel.endMs], [historyMs, endMs]);
  for (const [index, { sum, weight }] of means.entries()) {
    const keep = 2 ** (-5 * MINUTE_MS / HALF_LIVES_MS[index]!);
    assertNear(sum, (3 * keep + 6) * MINUTE_MS);
    assertNear(weight, (keep + 1) * MINUTE_MS);
  }
});

/** The shortest memory after a candle of a minute with this variance per millisecond. */
function shortestAfter(kernel: VolatilityKernel, perMs: number, expectedPerMs?: number): number {
  kernel.add(kernel.endMs + MINUTE_MS, MINUTE_MS, perMs * MINUTE_MS, expectedPerMs);
  const { sum, weight } = kernel.toJSON().means[0] ?? assert.fail("There are three");
  return sum / weight;
}

Deno.test("Volatility kernel: one candle at most doubles the shortest memory", () => {
  assertNear(shortestAfter(kernelOf(3, 2, 1), 1_000), 6);
  assert.ok(shortestAfter(kernelOf(3, 2, 1), 4) < 4, "a usual one counts as it is");
  assertNear(shortestAfter(kernelOf(3, 2, 1), 1_000, 50), 6);
  assert.ok(
    shortestAfter(kernelOf(0, 2, 1), 1_000) > 500,
    "a price that was still may begin to move",
  );
});

Deno.test("Volatility kernel: before five minutes of candles, prices of slots say what is usual", () => {
  assertNear(shortestAfter(new VolatilityKernel(), 1_000), 1_000);
  assertNear(shortestAfter(new VolatilityKernel(), 1_000, 7), 14);
  assertNear(shortestAfter(new VolatilityKernel(), 10, 7), 10);
  assertNear(shortestAfter(new VolatilityKernel(), 1_000, 0), 1_000);
  const young = new VolatilityKernel();
  for (let minute = 1; minute <= 5; minute++) young.add(minute * MINUTE_MS, MINUTE_MS, MINUTE_MS);
  assertNear(shortestAfter(young, 1_000, 7), 2);
});
