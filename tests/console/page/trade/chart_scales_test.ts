import assert from "node:assert/strict";
import {
  isInside,
  isKept,
  nextRange,
  NO_RANGE,
  paceOf,
  pastShare,
  scalesOf,
  shownRange,
  timeTicks,
} from "../../../../services/console/page/trade/chart_scales.ts";
import { PriceSeries } from "../../../../services/console/page/data/price_series.ts";
import type { ChartBox } from "../../../../services/console/page/trade/chart_boxes.ts";
import {
  SPAN_MAX_MS,
  spanFor,
  spanToSee,
} from "../../../../services/console/page/trade/chart_spans.ts";

const view = { nowMs: 1_000_000_000, spanMs: 60_000, low: 10, high: 20 };

Deno.test("scalesOf: the present divides the plot, 0.58 from the left on a wide chart, and prices rise upwards", () => {
  const { plot, x, y } = scalesOf({ width: 800, height: 400 }, view);
  const share = (x(view.nowMs) - plot.left) / (plot.right - plot.left);
  assert(Math.abs(share - 0.58) < 1e-9);
  assert.deepEqual([480, 481].map(pastShare), [0.42, 0.58], "a narrow one has room for fingers");
  assert.equal(y(10), plot.bottom);
  assert.equal(y(20), plot.top);
});

Deno.test("spanToSee: is longer for a box beyond the chart, shorter for one that is hardly seen, else kept", () => {
  const wide = { share: 0.42, width: 1_000 };
  const short = { startsInMs: 20_000, durationMs: 5_000 };
  assert.equal(spanToSee(short, 180_000, wide), 180_000, "28 pixels");
  assert.equal(spanToSee(short, 300_000, wide), 90_000);
  assert.equal(spanToSee(short, 180_000, { share: 0.58, width: 320 }), 60_000, "on a phone");
  assert.equal(spanToSee(short, 30_000, wide), 90_000, "beyond");
  const far = { startsInMs: 3_600_000, durationMs: 5_000 };
  const fitting = spanFor(3_605_000, 0.42);
  assert.equal(spanToSee(far, fitting, wide), fitting, "as short as it can be");
  assert.equal(spanFor(4 * 86_400_000, 0.42), SPAN_MAX_MS, "and never longer than this");
  const near = { startsInMs: 40_000, durationMs: 1_000 };
  assert.equal(spanToSee(near, 100_000, wide), 100_000, "not longer");
});

Deno.test("isInside: the plot with its edges is inside, labels are outside", () => {
  const { plot } = scalesOf({ width: 800, height: 400 }, view);
  const { left, right, top, bottom } = plot;
  for (const [x, y] of [[left, top], [right, bottom], [400, 200]] as const) {
    assert(isInside(plot, { x, y }), `${x}, ${y}`);
  }
  const outside = [[left - 1, 200], [right + 1, 200], [400, top - 1], [400, bottom + 1]] as const;
  for (const [x, y] of outside) assert(!isInside(plot, { x, y }), `${x}, ${y}`);
});

Deno.test("timeTicks: labels are at full seconds, at least the given distance apart", () => {
  for (const spanMs of [20_000, 60_000, 300_000, 3_600_000, 36_000_000]) {
    const scales = scalesOf({ width: 800, height: 400 }, { ...view, spanMs });
    const ticks = timeTicks(scales, 90);
    assert(ticks.length >= 3, `${spanMs}`);
    for (const [index, time] of ticks.entries()) {
      assert.equal(time % 1_000, 0);
      const next = ticks[index + 1];
      if (next !== undefined) assert(scales.x(next) - scales.x(time) >= 90);
    }
  }
  const month = scalesOf({ width: 800, height: 400 }, { ...view, spanMs: 30 * 86_400_000 });
  assert(timeTicks(month, 90).length > 0, "nearer, since there is no larger step");
});

Deno.test("nextRange: moves smoothly to a new range, and jumps to one far away", () => {
  assert.equal(nextRange(NO_RANGE, undefined, 16), NO_RANGE);
  const first = nextRange(NO_RANGE, { low: 100, high: 101 }, 16);
  assert.equal(nextRange(first, undefined, 16), first);
  assert(first.low < 100 && first.high > 101);
  const second = nextRange(first, { low: 100, high: 103 }, 16);
  assert(second.high > first.high && second.high < 103, "on its way");
  assert(second.low < first.low && second.low > 98, "on its way");
  let range = second;
  for (let frame = 0; frame < 200; frame++) range = nextRange(range, { low: 100, high: 103 }, 16);
  assert(range.high > 103);
  const other = nextRange(range, { low: 5_000, high: 5_001 }, 16);
  assert(other.low < 5_000 && other.high > 5_001 && other.low > 4_000);
  const { low, high } = nextRange(other, { low: 100, high: 101 }, 16);
  assert(low > 99 && low < 100 && high > 101 && high < 102, "downwards, too");
});

Deno.test("nextRange: a constant price has a range with a height, and no box shows prices below 0", () => {
  const { low, high } = nextRange(NO_RANGE, { low: 100, high: 100 }, 16);
  assert(low < 100 && high > 100);
  assert.equal(nextRange(NO_RANGE, { low: 900, high: 900_000 }, 16).low, 0);
});

Deno.test("paceOf: after 10 s without a touch, steps of 200 ms, which are pauses", () => {
  const paces = [200, 9_900, 10_100].map((restedMs) => paceOf(restedMs, false));
  assert.deepEqual(paces, [0, 0, 200].map((ms) => ({ stepMs: ms, pauseMs: ms })));
});

Deno.test("paceOf: with reduced motion, steps of half a second, and pauses from 250 ms after a touch on", () => {
  const paces = [200, 300, 60_000].map((restedMs) => paceOf(restedMs, true));
  assert.deepEqual(paces, [0, 100, 200].map((pauseMs) => ({ stepMs: 500, pauseMs })));
});

Deno.test("isKept: the range stays during a drag, and for a while after it if prices and box fit", () => {
  const range = { low: 10, high: 20 };
  assert.equal(isKept(range, Infinity, [99]), true);
  assert.equal(isKept(range, 1, [10, 20]), true);
  assert.equal(isKept(range, 0, [15]), false);
  for (const price of [9.9, 20.1]) assert.equal(isKept(range, 1, [15, price]), false);
});

Deno.test("shownRange: shown prices, the user's own box, and bets on the chart, up to four times the prices", () => {
  const series = new PriceSeries();
  series.merge(
    [[900, 90], [1_000, 100], [1_100, 110]].map(([time = 0, price = 0]) => ({ time, price })),
  );
  const box: ChartBox = {
    kind: "open",
    label: "",
    fromMs: 1_050,
    toMs: 1_500,
    low: 80,
    high: 112,
  };
  const rangeOf = (...boxes: ChartBox[]) => shownRange({ series, boxes, spanMs: 1_000 }, 1_000);
  const prices = { low: 100, high: 110 };
  assert.deepEqual(rangeOf(), prices, "not the price before the chart");
  assert.deepEqual(rangeOf(box), { low: 80, high: 112 });
  assert.deepEqual(rangeOf({ ...box, low: 10, high: 900 }), { low: 60, high: 150 });
  assert.deepEqual(rangeOf({ ...box, toMs: 2_000 }), { low: 80, high: 112 });
  assert.deepEqual(rangeOf({ ...box, toMs: 2_001 }), prices, "it ends beyond the chart");
  assert.deepEqual(rangeOf({ ...box, fromMs: 499 }), prices, "it is longer than the chart");
  for (const kind of ["won", "lost", "waiting"] as const) {
    assert.deepEqual(rangeOf({ ...box, kind }), { low: 80, high: 112 });
    assert.deepEqual(rangeOf({ ...box, kind, fromMs: 700, toMs: 999 }), prices, "before the chart");
  }
  const breach = { time: 999, price: 113 };
  assert.deepEqual(rangeOf({ ...box, kind: "lost", fromMs: 700, breach }), prices, "left before");
  for (const kind of ["draft", "quoted"] as const) {
    assert.deepEqual(rangeOf({ ...box, kind, low: 10, high: 900, toMs: 9_000 }), {
      low: 10,
      high: 900,
    });
  }
});

Deno.test("shownRange: without a price on the chart, the newest one; undefined before the first", () => {
  const series = new PriceSeries();
  const at = { series, boxes: [], spanMs: 1_000 };
  assert.equal(shownRange(at, 1_000), undefined);
  series.merge([{ time: 500, price: 7 }]);
  assert.deepEqual(shownRange(at, 1_000), { low: 7, high: 7 });
});
