import assert from "node:assert/strict";
import { TradePlayer } from "../../services/exchanges/playback.ts";
import type { Trade, TradeSource } from "../../services/exchanges/shared/trades.ts";
import { FakeClock } from "../support/fake_clock.ts";

/** A source with a trade every few milliseconds. */
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

function startPlayer(periods: number[]) {
  const clock = new FakeClock(0);
  const played: string[] = [];
  const sources = periods.map((ms) => every(ms, 0, String(ms)));
  const player = new TradePlayer(sources, clock, (trade) => {
    played.push(`${trade.market}@${trade.timeMs}`);
  });
  player.start();
  return { clock, player, played };
}

Deno.test("TradePlayer: plays the trades of all sources when their time comes, in order", () => {
  const { clock, player, played } = startPlayer([30, 50]);
  clock.advance(29);
  assert.deepEqual(played, []);
  clock.advance(71);
  assert.deepEqual(played, ["30@30", "50@50", "30@60", "30@90", "50@100"]);
  player.stop();
  clock.advance(1_000);
  assert.equal(played.length, 5);
});

Deno.test("TradePlayer: skips trades that were due over two seconds ago", () => {
  const { clock, player, played } = startPlayer([1_000]);
  clock.jump(3_600_000);
  clock.advance(0);
  const earliestMs = 3_600_000 - 2_000;
  assert.deepEqual(played, [earliestMs, earliestMs + 1_000, 3_600_000].map((ms) => `1000@${ms}`));
  player.stop();
});
