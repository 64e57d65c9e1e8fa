/** What the page does with what it did not write, or does not have yet. */
import assert from "node:assert/strict";
import type { Offer } from "../../lib/client/mod.ts";
import { Metrics, MetricsHistory, parseMetrics } from "../../services/console/page/data/metrics.ts";
import { PendingBets } from "../../services/console/page/data/pending_bets.ts";
import { ServerClock } from "../../services/console/page/data/server_clock.ts";
import {
  PriceWindow,
  scalesOf,
  timeTicks,
} from "../../services/console/page/trade/chart_scales.ts";
import { explain } from "../../services/console/page/data/explain.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { memoryStore } from "./memory_store.ts";

const USER = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";

Deno.test("PendingBets: a store that something else wrote to holds no bets", () => {
  for (const text of ["no JSON", "{}", '[{"quote":1}]']) {
    const store = memoryStore();
    new PendingBets(store).remove("0x1"); // learns nothing, writes nothing
    assert.equal(store.texts.size, 0);
    store.getItem = () => text;
    assert.deepEqual(new PendingBets(store).of(USER), [], text);
  }
});

Deno.test("PendingBets: a user has its own bets alone, the newest 20 of all are kept", () => {
  const OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
  const signature = `0x${"1a".repeat(65)}` as const;
  const betOf = (user: Offer["quote"]["user"], n: number) => {
    const parties = { user, solver: OTHER, base: OTHER, quote: OTHER, thesisType: "box" } as const;
    const terms = { lowerPrice: 1n, upperPrice: 2n, betAmount: 10n, payout: 25n };
    const times = { startTime: 0, endTime: 1_000, deadline: 5_000 };
    const quoteHash = `0x${n.toString(16).padStart(64, "0")}` as const;
    return {
      offer: { quote: { ...parties, ...terms, ...times, signature }, quoteHash },
      signature,
    };
  };
  const store = memoryStore();
  const bets = [...Array(15).fill(USER), ...Array(7).fill(OTHER)].map(betOf);
  for (const bet of bets) new PendingBets(store).add(bet);
  const reloaded = new PendingBets(store);
  assert.deepEqual(reloaded.of(USER), bets.slice(2, 15));
  assert.deepEqual(reloaded.of(OTHER), bets.slice(15));
  reloaded.remove(bets[3]!.offer.quoteHash); // the fourth of 22
  assert.deepEqual(reloaded.of(USER), [bets[2], ...bets.slice(4, 15)]);
});

Deno.test("parseMetrics: infinite values are numbers, and an empty history has none", () => {
  const metrics = parseMetrics('up{le="+Inf"} +Inf\ndown -Inf');
  assert.deepEqual([metrics.sum("up"), metrics.sum("down")], [Infinity, -Infinity]);
  const history = new MetricsHistory();
  assert.deepEqual([history.latest, history.spanMs], [new Metrics(new Map()), 0]);
  assert.equal(history.increase("up"), 0);
});

Deno.test("ServerClock: follows the node with the least delay, and a clock that jumps", () => {
  const clock = new FakeClock(1_000_000);
  const server = new ServerClock(() => clock.now());
  for (const delayMs of [40, 5, 90, ...Array(100).fill(20)]) server.observe(1_000_500 - delayMs);
  assert.equal(server.now(), 1_000_480, "the older ones are forgotten");
  server.observe(9_000_000);
  assert.equal(server.now(), 9_000_000);
});

Deno.test("explain: an unexpected error says what it says", () => {
  assert.deepEqual(explain(new TypeError("odd")), { code: "UNEXPECTED", text: "odd" });
});

Deno.test("PriceWindow: shows something before the first price, glides, and jumps when far", () => {
  const window = new PriceWindow();
  assert.deepEqual(window.next(undefined, 16), { low: 0, high: 1 });
  const first = window.next({ low: 100, high: 110 }, 16);
  assert.ok(first.low < 100 && first.high > 110);
  assert.deepEqual(window.next(undefined, 16), first);
  const next = window.next({ low: 101, high: 112 }, 16);
  assert.ok(next.high > first.high && next.high < first.high + 2, "part of the way");
  assert.ok(window.next({ low: 900, high: 910 }, 16).low > 800);
});

Deno.test("timeTicks: a span of days has labels, too", () => {
  const scales = scalesOf({ width: 300, height: 200 }, {
    ...{ nowMs: 0, spanMs: 30 * 86_400_000, low: 1, high: 2 },
  });
  assert.ok(timeTicks(scales, 80).length > 0);
});
