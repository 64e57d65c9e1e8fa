import assert from "node:assert/strict";
import fc from "fast-check";
import { Outbox } from "../../services/exchanges/outbox.ts";
import { CATCH_UP_MS, Pump } from "../../services/exchanges/playback.ts";
import type { Trade, TradeSource } from "../../services/exchanges/trades.ts";
import { FakeClock } from "../support/fake_clock.ts";

function setUp(capacity = 100) {
  const clock = new FakeClock(0);
  const left: [text: string, atMs: number][] = [];
  const outbox = new Outbox({ clock, capacity, deliver: (text) => left.push([text, clock.now()]) });
  return { clock, left, outbox };
}

Deno.test("Outbox: a frame leaves when it is due, but never before an earlier one", () => {
  const { clock, left, outbox } = setUp();
  outbox.push("slow", 100);
  outbox.push("quick", 5);
  clock.advance(99);
  assert.deepEqual(left, []);
  clock.advance(1);
  assert.deepEqual(left, [["slow", 100], ["quick", 100]]);
  outbox.push("later", 5);
  clock.advance(5);
  assert.deepEqual(left.at(-1), ["later", 105]);
});

Deno.test("Outbox: refuses what does not fit, forgets what waits when cleared", () => {
  const { clock, left, outbox } = setUp(2);
  assert(outbox.push("a", 10));
  assert(outbox.push("b", 10));
  assert(!outbox.push("c", 10));
  outbox.clear();
  clock.advance(100);
  assert.deepEqual(left, []);
  assert.equal(clock.pending, 0);
});

Deno.test("Outbox: every frame leaves once, in order, at the first moment it may", () => {
  const frames = fc.array(fc.record({ gapMs: fc.nat(20), lateMs: fc.nat(50) }), { maxLength: 50 });
  fc.assert(fc.property(frames, (frames) => {
    const { clock, left, outbox } = setUp();
    let latestMs = 0;
    const expected = frames.map(({ gapMs, lateMs }, index) => {
      clock.advance(gapMs);
      outbox.push(String(index), lateMs);
      latestMs = Math.max(latestMs, clock.now() + lateMs);
      return [String(index), latestMs];
    });
    clock.advance(1_000);
    assert.deepEqual(left, expected);
  }));
});

/** A source that trades every so many milliseconds. */
function every(ms: number, startMs: number, market: string): TradeSource {
  let timeMs = startMs;
  return {
    next: (): Trade => ({
      provider: "provider_a",
      market,
      timeMs: timeMs += ms,
      price: 1n,
      amount: "1",
      side: "buy",
    }),
  };
}

function startPump(periods: number[]) {
  const clock = new FakeClock(0);
  const played: string[] = [];
  const sources = periods.map((ms) => every(ms, 0, String(ms)));
  const pump = new Pump(sources, clock, (trade) => {
    played.push(`${trade.market}@${trade.timeMs}`);
  });
  pump.start();
  return { clock, pump, played };
}

Deno.test("Pump: plays the trades of all sources when their time comes, in order", () => {
  const { clock, pump, played } = startPump([30, 50]);
  clock.advance(29);
  assert.deepEqual(played, []);
  clock.advance(71);
  assert.deepEqual(played, ["30@30", "50@50", "30@60", "30@90", "50@100"]);
  pump.stop();
  clock.advance(1_000);
  assert.equal(played.length, 5);
});

Deno.test("Pump: leaves out what a sleeping machine missed", () => {
  const { clock, pump, played } = startPump([1_000]);
  clock.jump(3_600_000);
  clock.advance(0);
  const earliestMs = 3_600_000 - CATCH_UP_MS;
  assert.deepEqual(played, [earliestMs, earliestMs + 1_000, 3_600_000].map((ms) => `1000@${ms}`));
  pump.stop();
});
