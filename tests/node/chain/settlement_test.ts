import assert from "node:assert/strict";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import type { TimeSpan } from "../../../lib/prices/price_slots.ts";
import { THESIS_DURATION_MAX_MS } from "../../../lib/protocol/constants.ts";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { SETTLEMENTS_PER_SLICE } from "../../../services/node/chain/state.ts";
import { MarketHistory } from "../../../services/node/chain/price_history.ts";
import {
  decideOutcome,
  Schedule,
  SettlementSchedule,
} from "../../../services/node/chain/settlement.ts";
import { backfill, hashOf, rfqSubmit } from "../support/actors.ts";
import { MemoryChain, openTheses } from "../support/chains.ts";
import { withSeed } from "../../support/random.ts";

const BTC = MARKETS[0]!;
const ETH = MARKETS[1]!;

const START = 1_700_000_000_000;
const INSIDE = 15n;
const OUTSIDE = 21n;

/** Prices with a hole in every second slot, and the box of a thesis over all of them. */
function pricesWithHoles(holes: number) {
  const prices = new MarketHistory(new PriceRing(1_024));
  const { ring } = prices;
  const endTime = START + 200 * holes;
  for (let time = START + 100; time < endTime; time += 200) ring.append(time, INSIDE);
  return { prices, box: { lowerPrice: 10n, upperPrice: 20n, startTime: START, endTime } };
}

function hole(number: number) {
  return { from: START + 200 * number, to: START + 200 * number + 100 };
}

Deno.test("decideOutcome: up to 256 gaps are listed one by one", () => {
  const { prices, box } = pricesWithHoles(256);
  const missing = Array.from({ length: 256 }, (_, number) => hole(number));
  assert.deepEqual(decideOutcome(prices, box), { status: "needs_backfill", missing });
});

Deno.test("decideOutcome: gaps beyond the limit are joined into the last", () => {
  const holes = 306;
  const { prices, box } = pricesWithHoles(holes);
  const outcome = decideOutcome(prices, box);
  assert.ok(outcome.status === "needs_backfill");
  assert.equal(outcome.missing.length, 256);
  assert.deepEqual(outcome.missing.slice(0, -1), Array.from({ length: 255 }, (_, n) => hole(n)));
  assert.deepEqual(outcome.missing.at(-1), { from: hole(255).from, to: hole(holes - 1).to });

  for (let number = 0; number < holes - 1; number++) {
    prices.backfilled.put(hole(number).from, INSIDE);
  }
  const last = decideOutcome(prices, box, outcome.missing);
  assert.deepEqual(last, { status: "needs_backfill", missing: [hole(holes - 1)] });
  prices.backfilled.put(hole(holes - 1).from, INSIDE);
  assert.deepEqual(decideOutcome(prices, box, last.missing), { status: "won" });
});

Deno.test("decideOutcome: a day that lacks every second price needs a backfill, whether the others are in the ring or backfilled", () => {
  const inRing = new MarketHistory(new PriceRing(2 ** 20));
  const filled = new MarketHistory(new PriceRing(1));
  const endTime = START + THESIS_DURATION_MAX_MS;
  for (let time = START; time < endTime; time += 200) {
    inRing.ring.append(time, INSIDE);
    filled.backfilled.put(time, INSIDE);
  }
  const box = { lowerPrice: 10n, upperPrice: 20n, startTime: START, endTime };
  for (const prices of [inRing, filled]) {
    const outcome = decideOutcome(prices, box);
    assert.ok(outcome.status === "needs_backfill");
    assert.equal(outcome.missing.length, 256);
    assert.equal(outcome.missing.at(-1)?.to, endTime);
  }
});

Deno.test("decideOutcome: a price outside the box in a gap that is not listed pays the solver", () => {
  const holes = 306;
  const { prices, box } = pricesWithHoles(holes);
  const outcome = decideOutcome(prices, box);
  assert.ok(outcome.status === "needs_backfill");
  const { from: time } = hole(holes - 1);
  prices.backfilled.put(time, OUTSIDE);
  assert.deepEqual(decideOutcome(prices, box, outcome.missing), {
    status: "lost",
    breach: { time, price: OUTSIDE },
  });
});

type Windows = [fields: Partial<Thesis>, fromMs: number, toMs: number][];

/** A schedule with a thesis for each of these windows after START. */
function scheduleOf(...windows: Windows) {
  const unsettled = new Map<number, { thesis: Thesis; missing?: TimeSpan[] }>();
  const schedule = new SettlementSchedule(unsettled);
  const theses = windows.map(([fields, fromMs, toMs], index) => {
    const tx = rfqSubmit({ timestamp: START, startTime: START + fromMs, endTime: START + toMs });
    const opened = {
      id: index + 1,
      solver: tx.from,
      quoteHash: hashOf(1),
      txHash: hashOf(2),
      createdAt: START,
    };
    const thesis: Thesis = { ...tx, ...opened, status: "open", ...fields };
    unsettled.set(thesis.id, { thesis });
    schedule.add(thesis);
    return thesis;
  });
  return { schedule, theses, unsettled };
}

const span = (fromMs: number, toMs: number) => ({ from: START + fromMs, to: START + toMs });
const OTHER_BASE = { base: BTC.base };
const OTHER_QUOTE = { quote: BTC.base };

Deno.test("SettlementSchedule: neededSpans joins the windows of a market's theses, in order", () => {
  const { schedule } = scheduleOf(
    [{}, 500, 700],
    [{}, 0, 300],
    [{}, 0, 250],
    [{}, 100, 200],
    [{}, 300, 400],
    [OTHER_BASE, 0, 900],
    [OTHER_QUOTE, 0, 900],
  );
  assert.deepEqual(schedule.neededSpans(ETH), [span(0, 400), span(500, 700)]);
});

Deno.test("SettlementSchedule: of an attempted thesis, undecidedSpans has only what it lacked", () => {
  const { schedule, theses, unsettled } = scheduleOf([{}, 0, 900], [{}, 600, 700]);
  unsettled.set(1, { thesis: theses[0]!, missing: [span(500, 600), span(100, 200)] });
  assert.deepEqual(schedule.undecidedSpans(ETH), [span(100, 200), span(500, 700)]);
  assert.deepEqual(schedule.neededSpans(ETH), [span(0, 900)]);
});

Deno.test("SettlementSchedule: a backfill retries the theses of its market that lack one of its slots", () => {
  const { schedule, theses, unsettled } = scheduleOf(
    [{}, 0, 900],
    [{}, 0, 900],
    [{}, 0, 900],
    [{}, 0, 900],
    [OTHER_BASE, 0, 900],
    [OTHER_QUOTE, 0, 900],
    [{}, 0, 5_000],
  );
  schedule.removeDue(START + 900, 9);
  const gaps = [span(0, 200), span(200, 300), span(300, 400), span(400, 500)];
  for (const [index, thesis] of theses.slice(0, 6).entries()) {
    unsettled.set(thesis.id, { thesis, missing: [gaps[index] ?? span(200, 300)] });
  }
  schedule.makeDueWhere(ETH, span(200, 400));
  const retried = schedule.removeDue(START, 9).map(({ id }) => id);
  assert.deepEqual(retried, [2, 3, 7], "and one that was not attempted yet");
});

Deno.test("Chain: a checkpoint settles some of many theses, and settleDue the rest", () => {
  const test = new MemoryChain();
  test.run(1);
  const tx = rfqSubmit({ timestamp: test.now, endTime: test.now + 300 });
  const count = 2 * SETTLEMENTS_PER_SLICE + 1;
  const { state } = test.chain;
  openTheses(test.chain, test.records, tx, count);
  test.run(2);
  assert.equal(state.settlements.unsettledCount, count);
  test.run(1);
  const endedMs = test.now;
  assert.equal(state.settlements.unsettledCount, count - SETTLEMENTS_PER_SLICE);
  test.clock.advance(50);
  assert.ok(test.chain.settleDue(), "one is left");
  assert.equal(state.settlements.unsettledCount, 1);
  assert.ok(!test.chain.settleDue());
  assert.ok(!test.chain.settleDue());
  assert.equal(state.settlements.unsettledCount, 0);
  const { theses } = state.ledger;
  assert.ok(theses.every(({ status, settledAt }) => status === "won" && settledAt === endedMs));
});

Deno.test("Chain: a thesis that is settled on request is announced", () => {
  const test = new MemoryChain();
  test.run(1);
  const last = SETTLEMENTS_PER_SLICE + 1; // more than one checkpoint settles
  const tx = rfqSubmit({ timestamp: test.now, endTime: test.now + 300 });
  openTheses(test.chain, test.records, tx, last);
  test.run(3);
  assert.equal(test.chain.findThesis(last)?.status, "open");
  assert.equal(test.chain.settle(last).status, "won");
  const { id, status } = test.theses.at(-1) ?? {};
  assert.deepEqual([id, status], [last, "won"]);
});

Deno.test("Chain: settlements that take long end their slice early, so that checkpoints are not late", () => {
  const test = new MemoryChain();
  test.run(1);
  const { state } = test.chain;
  const endTime = test.now + 300;
  openTheses(test.chain, test.records, rfqSubmit({ timestamp: test.now, endTime }), 100);
  let nowMs = 0;
  const slow = { now: () => nowMs += 3, after: () => () => {} };
  const settled = test.records.commits.change(() => state.settleDueSlice(endTime, slow));
  assert.equal(settled.length, 25);
});

Deno.test("Chain: a thesis has the times of its opening and settlement, besides those of its window", () => {
  const test = MemoryChain.funded();
  const window = { startTime: test.now + 100, endTime: test.now + 5_050 };
  const openedAtMs = test.now;
  test.bet(window);
  test.bet({ ...window, lowerPrice: 1n });
  test.run(2, { "ETH/USDT": 2n });
  test.run(49);
  const times = test.chain.state.ledger.theses.map(({ createdAt, settledAt }) => [
    createdAt - openedAtMs,
    settledAt! - openedAtMs,
  ]);
  assert.deepEqual(times, [[0, 100], [0, 5_100]]);
});

Deno.test("Chain: freshness of prices is checked at the transaction's time, not at that of the head", () => {
  const test = MemoryChain.funded({ maxStaleMs: 50 });
  test.clock.jump(51);
  assert.equal(test.bet().error?.code, "ORACLE_STALE");
});

/** A chain with money, a ring of 64 slots, and these windows of theses from now on. */
function chainWithTheses(...windowsMs: [fromMs: number, toMs: number][]) {
  const test = MemoryChain.funded({ ringBufferSize: 64, maxStaleMs: 0 }, 50_000_000n);
  const start = test.now;
  for (const [fromMs, toMs] of windowsMs) {
    test.bet({ startTime: start + fromMs, endTime: start + toMs });
  }
  const fill = (fromMs: number, toMs: number) =>
    test.fill(start + fromMs, start + toMs).filledSlots;
  return { test, fill };
}

const needed = (test: MemoryChain) =>
  [...test.chain.state.neededSlots(test.now)].reduce((sum, [, slots]) => sum + slots, 0);

Deno.test("ChainState: slots that were in the range at the end are not needed, once the ring lost them", () => {
  const { test, fill } = chainWithTheses([0, 1_000]);
  test.run(4);
  test.run(2, null);
  test.run(5);
  assert.equal(needed(test), 2);
  test.run(100); // the ring has 64 slots
  assert.equal(needed(test), 2);
  fill(0, 1_000);
  assert.equal(needed(test), 0);
  assert.deepEqual(test.statuses, ["won"]);
});

Deno.test("ChainState: a slot without a price is needed until it is filled or its windows are settled", () => {
  const { test, fill } = chainWithTheses([0, 1_000]);
  test.run(4);
  assert.equal(needed(test), 0, "the rest of the window is to come");
  test.run(2, null);
  assert.equal(needed(test), 2);
  test.run(20);
  assert.equal(needed(test), 2);
  fill(0, 1_000);
  assert.equal(needed(test), 0);
  assert.deepEqual(test.statuses, ["won"]);
  test.run(5, null);
  assert.equal(needed(test), 0, "nobody bet on these");
});

Deno.test("ChainState: fill writes only the given spans", () => {
  const { chain: { state } } = new MemoryChain();
  const history = state.historyOf(ETH);
  history.ring.skipTo(START + 300);
  const tx = backfill({ timestamp: START, startTime: START, prices: [1n, 2n, 3n, 4n, 5n] });
  state.fill(tx, [span(100, 200), span(300, 400)]);
  const prices = [0, 1, 2, 3, 4].map((slot) => history.at(START + 100 * slot));
  assert.deepEqual(prices, [undefined, 2n, undefined, 4n, undefined]);
});

Deno.test("Chain: backfilled pages are kept for the longest thesis, then deleted within 60 s", () => {
  const { test, fill } = chainWithTheses([0, 20_000], [1_000, 2_000]);
  test.run(10);
  test.run(2, null); // The short one lacks these, and so is not settled either.
  test.run(188);
  assert.deepEqual(test.statuses, ["needs_backfill", "needs_backfill"]);
  assert.equal(fill(0, 13_700), 137);
  assert.deepEqual(test.statuses, ["won", "won"]);

  const pages = () => {
    const known = [...test.chain.state.histories.values()].reduce((sum, { backfilled }) => {
      return sum + backfilled.pages;
    }, 0);
    assert.equal(test.records.backfilledPages().length, known, "in the database too");
    return known;
  };
  test.run(399);
  assert.ok(pages() > 0, "nobody needs them any more, but it is not yet time to look");
  test.run(1);
  assert.equal(pages(), 0, "60 s after the first checkpoint");
});

Deno.test("Chain: a thesis that lacks prices is recorded once, however often its settlement is requested", () => {
  const { test, fill } = chainWithTheses([0, 300]);
  test.run(3, null);
  assert.deepEqual(test.statuses, ["needs_backfill"]);
  const { recorded } = test;
  const details = { missing: [{ from: test.now - 200, to: test.now }] };
  for (let asked = 0; asked < 3; asked++) {
    assert.throws(() => test.chain.settle(1), { code: "NeedsBackfill", details });
  }
  // A state that was loaded attempts to settle it again.
  test.reload();
  test.run(1);
  assert.equal(test.recorded, recorded);
  assert.equal(fill(0, 300), 2);
  assert.deepEqual(test.statuses, ["won"]);
});

Deno.test("Chain: a thesis settled on request while the clock is behind is settled after its end", () => {
  const { test } = chainWithTheses([0, 300]);
  const startTime = test.now;
  test.run(3, null);
  const prices = [1, 2, 3].map(() => 3_000_000_000n);
  test.chain.state.fill(backfill({ timestamp: test.now, startTime, prices }), [
    { from: startTime, to: test.now },
  ]);
  test.holdUp(-1_000);
  assert.equal(test.chain.settle(1).status, "won");
  const { endTime, settledAt } = test.chain.findThesis(1)!;
  assert.equal(settledAt, endTime);
});

Deno.test("Chain: slots older than the ring are filled only for a market whose theses need them", () => {
  const { test, fill } = chainWithTheses([0, 20_000]);
  test.run(100);
  const { base, quote } = BTC;
  const startTime = test.now - 9_000;
  const tx = backfill({ timestamp: test.now, startTime, prices: [1n, 1n], base, quote });
  assert.equal(test.chain.submit(tx).filledSlots, 0);
  assert.equal(fill(1_000, 1_200), 2);
});

Deno.test("Chain: theses due at the same time are settled by end, then by id", () => {
  const ends = [3_000, 2_000, 1_000, 2_000, 1_000, 2_000, 1_000, 2_000];
  const windows = ends.map((toMs, index): [number, number] => [100 * index, toMs]);
  const { test } = chainWithTheses(...windows);
  const { length } = test.theses;
  test.holdUp(2_900);
  test.run(1);
  const settled = test.theses.slice(length).map(({ id }) => id);
  assert.deepEqual(settled, [3, 5, 7, 2, 4, 6, 8, 1]);
});

Deno.test("Chain: a thesis whose missing prices were partly filled is stored without a notification", () => {
  const { test, fill } = chainWithTheses([0, 1_000]);
  test.run(2);
  test.run(1, null);
  test.run(2);
  test.run(1, null);
  test.run(4);
  assert.equal(fill(0, 400), 1);
  test.reload();
  assert.deepEqual(test.statuses, ["needs_backfill"]);
  assert.deepEqual(test.theses.map(({ status }) => status), ["open", "needs_backfill"]);
  assert.equal(fill(400, 1_000), 1, "what is missing still was recorded");
});

Deno.test("Chain: with the clock too far behind the head, no price is fresh", () => {
  const codeBehind = (behindMs: number) => {
    const test = MemoryChain.funded();
    test.run(20);
    test.holdUp(-behindMs);
    return test.bet().error?.code;
  };
  assert.equal(codeBehind(1_000), undefined);
  assert.equal(codeBehind(1_001), "ORACLE_STALE");
});

Deno.test("Schedule: after random additions, due items come in the order of a sorted list", () =>
  withSeed((random) => {
    const below = (bound: number) => Math.floor(random() * bound);
    const schedule = new Schedule();
    let items: { time: number; item: number }[] = [];
    let added = 0;
    for (let step = 0; step < 2_000; step++) {
      for (let more = below(4); more > 0; more--) {
        const time = step + below(20) - 5;
        schedule.add(time, added += 1);
        items.push({ time, item: added });
      }
      items.sort((a, b) => a.time - b.time || a.item - b.item);
      const max = below(5) || 1_000;
      assert.equal(schedule.isDue(step), items.some(({ time }) => time <= step));
      const due = items.filter(({ time }) => time <= step).slice(0, max);
      assert.deepEqual(schedule.removeDue(step, max), due.map(({ item }) => item));
      items = items.filter((each) => !due.includes(each));
    }
  }));
