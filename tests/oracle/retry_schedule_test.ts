import assert from "node:assert/strict";
import { RetrySchedule } from "../../services/oracle/retry_schedule.ts";
import { FakeClock } from "../support/fake_clock.ts";

const limit = { event: "connections", burst: 3, refillMs: 10_000 } as const;

function setUp() {
  const clock = new FakeClock();
  const rule = { initialMs: 1_000, maxMs: 4_000, limit };
  return { clock, schedule: new RetrySchedule({ rule, clock, random: () => 1 }) };
}

Deno.test("RetrySchedule: the time of a slow failed attempt is subtracted from the wait", () => {
  const { clock, schedule } = setUp();
  schedule.count("connections");
  for (let count = 0; count < 3; count++) schedule.nextMs();
  clock.advance(2_500);
  assert.equal(schedule.nextMs(), 1_500);
  clock.advance(2_500);
  assert.equal(schedule.nextMs(), 500);
});

Deno.test("RetrySchedule: time refills the limit, a reset does not", () => {
  const { clock, schedule } = setUp();
  for (let count = 0; count < 3; count++) schedule.count("connections");
  schedule.reset();
  assert.equal(schedule.nextMs(), 10_000);
  clock.advance(30_000);
  for (let count = 0; count < 2; count++) schedule.count("connections");
  schedule.reset();
  assert.equal(schedule.nextMs(), 1_000);
});

Deno.test("RetrySchedule: counts only events that the exchange limits", () => {
  const { schedule } = setUp();
  schedule.count("connections");
  for (let count = 0; count < 9; count++) schedule.count("subscriptions");
  assert.equal(schedule.nextMs(), 1_000);
});

Deno.test("RetrySchedule: a clock that is set back does not stretch a wait", () => {
  const { clock, schedule } = setUp();
  for (let count = 0; count < 3; count++) schedule.count("connections");
  clock.jump(-3_600_000);
  assert.equal(schedule.nextMs(), 10_000);
});
