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
import { FakeClock } from "../support/fake_clock.ts";
import { memoryStore } from "./memory_store.ts";
import { hashOf, offerOf, OTHER, SIGNATURE, USER } from "./offers.ts";

Deno.test("PendingBets: a store that something else wrote to holds no bets", () => {
  const store = memoryStore();
  const pending = new PendingBets(store);
  pending.remove("0x1"); // learns nothing, writes nothing
  assert.equal(store.texts.size, 0);
  pending.add({ offer: offerOf(1), signature: SIGNATURE });
  const [place, stored = ""] = [...store.texts][0] ?? [];
  assert.equal(place, "rangemaker.pending-bets", "the name that earlier versions of the page used");
  const texts = [`1${SIGNATURE}`, `${SIGNATURE}1`].map((text) =>
    stored.replace(`"${SIGNATURE}"}]`, `"${text}"}]`)
  );
  for (const text of ["no JSON", "{}", '[{"quote":1}]', ...texts]) {
    store.getItem = () => text;
    assert.deepEqual(pending.of(USER), [], text);
  }
});

Deno.test("PendingBets: reports what other tabs write, and nothing else, until it is ended", () => {
  const tabs = new EventTarget();
  const end = new AbortController();
  let changes = 0;
  new PendingBets(memoryStore(), tabs).onOtherTab(() => changes += 1, end.signal);
  const write = (key: string) => tabs.dispatchEvent(Object.assign(new Event("storage"), { key }));
  write("rangemaker.drafts");
  assert.equal(changes, 0);
  write("rangemaker.pending-bets");
  assert.equal(changes, 1);
  end.abort();
  write("rangemaker.pending-bets");
  assert.equal(changes, 1);
});

Deno.test("PendingBets: a user has its own bets alone, the newest 20 of all are kept", () => {
  const betOf = (user: Offer["quote"]["user"], n: number) => {
    return { offer: offerOf(n, { user }), signature: SIGNATURE };
  };
  const store = memoryStore();
  const bets = [...Array(15).fill(USER), ...Array(7).fill(OTHER)].map(betOf);
  for (const bet of bets) new PendingBets(store).add(bet);
  const reloaded = new PendingBets(store);
  assert.deepEqual(reloaded.of(USER), bets.slice(2, 15));
  assert.deepEqual(reloaded.of(OTHER), bets.slice(15));
  reloaded.remove(hashOf(3));
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
