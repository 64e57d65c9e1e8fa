import assert from "node:assert/strict";
import { NetworkError } from "../../lib/client/mod.ts";
import { drawWhile, rangeLine } from "../../services/stack/range_line.ts";
import { FakeClock } from "../support/fake_clock.ts";

const bet = {
  lowerPrice: 2_985_000_000n,
  upperPrice: 3_015_000_000n,
  startTime: 10_000,
  endTime: 13_000,
};

Deno.test("rangeLine: shows the price inside the range and the time left", () => {
  const lines = ([
    [2_985_000_000n, 9_400],
    [3_000_000_000n, 10_600],
    [3_015_000_000n, 12_999],
    [3_000_000_000n, 13_000],
  ] as const).map(([price, nowMs]) => rangeLine(price, bet, nowMs));
  assert.deepEqual(lines, [
    `2985.00 ├●${"─".repeat(18)}┤ 3015.00  at 2985.00, starts in 0.6 s`,
    `2985.00 ├${"─".repeat(9)}●${"─".repeat(9)}┤ 3015.00  at 3000.00, 2.4 s left`,
    `2985.00 ├${"─".repeat(18)}●┤ 3015.00  at 3015.00, 0.0 s left`,
    `2985.00 ├${"─".repeat(9)}●${"─".repeat(9)}┤ 3015.00  at 3000.00, settling`,
  ]);
});

Deno.test("rangeLine: a price outside the range is a cross at that end", () => {
  const below = rangeLine(2_984_999_999n, bet, 11_000);
  const above = rangeLine(9_000_000_000n, bet, 11_000);
  assert(below.includes(`├✗${"─".repeat(18)}┤`), below);
  assert(above.includes(`├${"─".repeat(18)}✗┤`), above);
});

Deno.test("rangeLine: fits into 80 columns together with the demo's step", () => {
  assert("6/6 settle … ".length + rangeLine(3_000_000_000n, bet, 9_000).length < 80);
});

Deno.test("drawWhile: redraws ten times a second until the outcome is there; failures draw nothing", async () => {
  const clock = new FakeClock();
  const drawn: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  let reads = 0;
  const read = () => {
    reads += 1;
    return reads === 2
      ? Promise.reject(new NetworkError("NO_ANSWER", "no answer", undefined))
      : Promise.resolve(`line ${reads}`);
  };
  const done = drawWhile(promise, clock, (line) => drawn.push(line), read);
  for (let step = 0; step < 3; step++) {
    // The pass that was begun ends before the next one is due.
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    clock.advance(100);
  }
  resolve("won");
  assert.equal(await done, "won");
  assert.equal(clock.pending, 0);
  assert.deepEqual(drawn.slice(0, 2), ["line 1", "line 3"]);
});
