import assert from "node:assert/strict";
import { MINUTE_MS } from "../../lib/time.ts";
import { AGGREGATIONS } from "../../services/oracle/aggregation.ts";
import { JumpGuard } from "../../services/oracle/jump_guard.ts";

const { median } = AGGREGATIONS;

const USD = 1_000_000n;

const START = 1_700_000_000_000;

/** A guard that has seen four sources, with a spread of 20 dollars around 60,000. */
function guardAfterFour() {
  const guard = new JumpGuard();
  const accepts = (timeMs: number, ...dollars: number[]) => {
    const prices = dollars.map((each) => BigInt(each) * USD);
    return guard.accepts(median(prices), prices, START + timeMs);
  };
  assert(accepts(0, 59_990, 59_990, 60_010, 60_010));
  return accepts;
}

Deno.test("JumpGuard: a single source may move by up to four times the last spread", () => {
  const accepts = guardAfterFour();
  assert(accepts(10, 60_080));
  assert(accepts(20, 59_920));
  assert(!accepts(30, 60_081));
  assert(!accepts(40, 59_919));
  assert(!accepts(50, 1));
  assert(accepts(60, 60_010));
});

Deno.test("JumpGuard: a jump of two sources is accepted, a jump of one of two is not", () => {
  const accepts = guardAfterFour();
  assert(!accepts(10, 60_000, 61_000));
  assert(!accepts(20, 59_000, 61_500));
  assert(accepts(30, 61_010, 61_000));
  // It is the new reference.
  assert(accepts(40, 61_010));
  assert(!accepts(50, 60_000));
});

Deno.test("JumpGuard: with as many sources as before, every price is accepted", () => {
  const accepts = guardAfterFour();
  assert(!accepts(10, 90_000));
  assert(accepts(20, 90_000, 90_000, 90_000, 60_000));
});

Deno.test("JumpGuard: after half an hour to an hour, missing sources are forgotten and a jump is accepted", () => {
  const accepts = guardAfterFour();
  // For at least half an hour they are only missing, and a jump waits for a second source.
  for (let minute = 1; minute < 30; minute += 1) assert(!accepts(minute * MINUTE_MS, 70_000));
  let minute = 30;
  while (!accepts(minute * MINUTE_MS, 70_000)) minute += 1;
  assert.equal(minute, 60);
  assert(accepts((minute + 1) * MINUTE_MS, 50_000), "one provider alone decides");
  assert(accepts((minute + 2) * MINUTE_MS, 50_000, 50_010));
  assert(!accepts((minute + 3) * MINUTE_MS, 70_000), "two are what may be missing now");
});

Deno.test("JumpGuard: sources that were last seen an hour ago are not missing", () => {
  assert(guardAfterFour()(60 * MINUTE_MS, 70_000));
  assert(!guardAfterFour()(60 * MINUTE_MS - 1, 70_000));
});

Deno.test("JumpGuard: a market that never had more than one source may jump", () => {
  const guard = new JumpGuard();
  for (const price of [1n, 1_000n, 5n]) assert(guard.accepts(price * USD, [price * USD], START));
});

Deno.test("JumpGuard: small steps within a second add up to a jump, a slower trend is accepted", () => {
  const accepts = guardAfterFour();
  assert(accepts(100, 60_050));
  assert(!accepts(200, 60_100));
  let price = 60_000;
  for (let timeMs = 1_000; timeMs < 60_000; timeMs += 1_000) assert(accepts(timeMs, price += 60));
  assert(price > 63_000);
});

Deno.test("JumpGuard: if sources agreed exactly, one may move by 10 basis points", () => {
  const guard = new JumpGuard();
  assert(guard.accepts(60_000n * USD, [60_000n * USD, 60_000n * USD], START));
  assert(guard.accepts(60_060n * USD, [60_060n * USD], START + 10));
  assert(!guard.accepts(60_061n * USD, [60_061n * USD], START + 20));
});

Deno.test("JumpGuard: the spread of two sources is all of their distance", () => {
  const guard = new JumpGuard();
  assert(guard.accepts(60_000n * USD, [59_900n * USD, 60_100n * USD], START));
  assert(guard.accepts(59_900n * USD, [59_900n * USD], START + 10));
});

Deno.test("JumpGuard: a wide spread counts for 10 to 20 s", () => {
  const accepts = guardAfterFour();
  assert(accepts(1, 58_000, 58_000, 62_000, 62_000));
  for (const timeMs of [2, 3]) assert(accepts(timeMs, 60_000, 60_000, 60_000, 60_000));
  assert(accepts(4, 70_000));
  assert(accepts(10_000, 60_000, 60_000, 60_000, 60_000));
  assert(accepts(19_999, 70_000), "the window before this one was wide");
  assert(accepts(20_000, 60_000, 60_000, 60_000, 60_000));
  assert(!accepts(20_001, 60_061));
});

Deno.test("JumpGuard: after the clock was set back, its windows end as if it had been set ahead", () => {
  assert(guardAfterFour()(-60 * MINUTE_MS, 70_000), "missing sources are forgotten");
  assert(!guardAfterFour()(1 - 60 * MINUTE_MS, 70_000));

  const accepts = guardAfterFour();
  assert(accepts(-MINUTE_MS, 60_060));
  assert(accepts(-MINUTE_MS + 1_000, 60_120), "the reference follows a trend");
  for (const timeMs of [-50_000, -40_000]) {
    assert(accepts(timeMs, 60_000, 60_000, 60_000, 60_000));
  }
  assert(!accepts(-39_999, 60_061), "the wider spread is forgotten");
});

Deno.test("JumpGuard: one source that lies while all contribute does not widen the bound for itself", () => {
  for (const lie of [1, 59_000, 61_000, 120_000]) {
    const accepts = guardAfterFour();
    for (const timeMs of [1_000, 11_000, 21_000]) {
      assert(accepts(timeMs, lie, 59_990, 60_010, 60_000), "the median is that of the others");
    }
    assert(!accepts(22_000, lie), "it alone is left");
    assert(!accepts(22_000, lie, 60_000), "one other is left");
  }
});
