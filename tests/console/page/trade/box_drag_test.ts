import assert from "node:assert/strict";
import {
  BoxDrag,
  grabArea,
  gripAt,
  isOnHandle,
  nudged,
  strokeOf,
} from "../../../../services/console/page/trade/box_drag.ts";
import { scalesOf } from "../../../../services/console/page/trade/chart_scales.ts";
import { draftOf } from "../../../../services/console/page/trade/draft.ts";

const NOW_MS = 1_000_000;
const scales = scalesOf({ width: 1_074, height: 532 }, {
  nowMs: NOW_MS,
  spanMs: 100_000,
  low: 100,
  high: 200,
});

/** Where a time from now and a price are on the chart. */
const at = (ms: number, price: number) => ({ x: scales.x(NOW_MS + ms), y: scales.y(price) });

const box = { fromMs: 10_000, toMs: 20_000, low: 140, high: 160 };
const before = draftOf(box) ?? assert.fail();

type Place = readonly [ms: number, price: number];

/** The box that a drag from one place to another makes. */
const dragged = (from: Place, to: Place) => {
  const grip = gripAt(scales, before, at(...from), "mouse");
  return new BoxDrag(grip, before, scales, at(...from)).draftAt(scales, at(...to));
};

Deno.test("BoxDrag: a drag on free ground draws a new box", () => {
  for (const [ms, price] of [[5_000, 150], [15_000, 130], [15_000, 170], [25_000, 150]] as const) {
    assert.deepEqual(gripAt(scales, before, at(ms, price), "mouse"), { kind: "new" });
  }
  assert.deepEqual(
    dragged([25_000, 150], [30_000, 170]),
    draftOf({ fromMs: 25_000, toMs: 30_000, low: 150, high: 170 }),
  );
});

Deno.test("BoxDrag: a drag inside the box moves it, not beyond the earliest start", () => {
  assert.deepEqual(
    dragged([15_000, 150], [17_000, 155]),
    draftOf({ fromMs: 12_000, toMs: 22_000, low: 145, high: 165 }),
  );
  assert.deepEqual(
    dragged([15_000, 150], [-5_000, 150]),
    draftOf({ ...box, fromMs: 8_000, toMs: 18_000 }),
  );
});

Deno.test("BoxDrag, nudged: a moved box lasts as long as before, to the second", () => {
  const long = { ...before, startsInMs: 3_725_000, durationMs: 4_230_000 };
  const wide = scalesOf({ width: 1_074, height: 532 }, {
    nowMs: NOW_MS,
    spanMs: 20_000_000,
    low: 100,
    high: 200,
  });
  const drag = new BoxDrag({ kind: "move" }, long, wide, { x: wide.x(5_000_000), y: wide.y(150) });
  const to = { x: wide.x(5_600_000), y: wide.y(152) };
  assert.equal(drag.draftAt(wide, to)?.durationMs, 4_230_000);
  const { startsInMs, durationMs } = nudged(wide, long, { key: "ArrowUp", shiftKey: false }) ??
    assert.fail();
  assert.deepEqual([startsInMs, durationMs], [3_725_000, 4_230_000]);
});

Deno.test("BoxDrag: a drag of a side or corner resizes the box, and stops at the opposite side", () => {
  const corner = gripAt(scales, before, at(20_000, 160), "mouse");
  assert.deepEqual(corner, { kind: "sides", horizontal: "to", vertical: "high" });
  assert.deepEqual(
    dragged([20_000, 160], [26_000, 180]),
    draftOf({ ...box, toMs: 26_000, high: 180 }),
  );
  const sides = [
    [[15_000, 140], { vertical: "low" }, { low: 145 }, [15_000, 190], { low: 159.999 }],
    [[15_000, 160], { vertical: "high" }, { high: 165 }, [15_000, 110], { high: 140.001 }],
    [[10_000, 150], { horizontal: "from" }, { fromMs: 12_000 }, [35_000, 150], { fromMs: 19_000 }],
    [[20_000, 150], { horizontal: "to" }, { toMs: 22_000 }, [1_000, 150], { toMs: 11_000 }],
  ] as const;
  for (const [[ms, price], side, changed, beyond, stopped] of sides) {
    const grip = gripAt(scales, before, at(ms, price), "mouse");
    assert.deepEqual(grip, { kind: "sides", ...side });
    const to = dragged([ms, price], [ms + 2_000, price + 5]);
    assert.deepEqual(to, draftOf({ ...box, ...changed }));
    assert.deepEqual(dragged([ms, price], beyond), draftOf({ ...box, ...stopped }));
  }
});

Deno.test("BoxDrag: a drag beyond the chart stops at its edge", () => {
  const drag = new BoxDrag({ kind: "new" }, undefined, scales, at(5_000, 150));
  const draft = drag.draftAt(scales, { x: 5_000, y: -500 });
  assert.equal(draft?.upperPrice, 200_000_000n);
  assert.equal(draft?.durationMs, 34_000, "42 % of the time shown lies ahead");
});

Deno.test("BoxDrag: without a box, every drag draws a new one", () => {
  assert.deepEqual(gripAt(scales, undefined, at(15_000, 150), "mouse"), { kind: "new" });
});

const small = draftOf({ fromMs: 20_000, toMs: 21_000, low: 150, high: 150.5 });

Deno.test("gripAt: a box that looks small is grabbed by its middle and, beside it, by its sides", () => {
  assert(small);
  const { x, y } = at(20_500, 150.25);
  const grip = (x: number, y: number) => gripAt(scales, small, { x, y }, "mouse");
  assert.equal(grip(x, y).kind, "move");
  const { left, right, top, bottom } = grabArea(scales, small, 8);
  assert.deepEqual([Math.round(right - left), Math.round(bottom - top)], [24, 24]);
  assert.deepEqual(grip(right, y), { kind: "sides", horizontal: "to" });
  assert.deepEqual(grip(x, top), { kind: "sides", vertical: "high" });
  const start = { x: right, y };
  const drag = new BoxDrag(grip(right, y), small, scales, start);
  assert.deepEqual(drag.draftAt(scales, start), small, "a side does not jump to the pointer");
});

Deno.test("gripAt: a finger near a box grabs its nearest side, within 40 pixels outside too", () => {
  const { x: right, y: top } = at(20_000, 160);
  const grip = (x: number, y: number) => gripAt(scales, before, { x, y }, "touch");
  const corner = { kind: "sides", horizontal: "to", vertical: "high" };
  assert.deepEqual(grip(right + 39, top - 39), corner);
  assert.deepEqual(grip(right + 39, at(0, 150).y), { kind: "sides", horizontal: "to" });
  assert.deepEqual(grip(right + 41, top), { kind: "new" });
});

Deno.test("isOnHandle: a finger on a corner's handle pulls it at once, 14 pixels around", () => {
  const corners = [10_000, 20_000].flatMap((ms) => [140, 160].map((price) => at(ms, price)));
  for (const { x, y } of corners) {
    assert.deepEqual(
      [[0, 0], [14, 0], [-9, 10], [0, 15], [11, 11]].map(([dx = 0, dy = 0]): boolean =>
        isOnHandle(scales, before, { x: x + dx, y: y + dy })
      ),
      [true, true, true, false, false],
    );
  }
});

Deno.test("strokeOf: a quick, nearly vertical move of a finger scrolls the page", () => {
  const starts = [
    [5, -16, 30, "scroll"],
    [0, 16, 199, "scroll"],
    [10, 16, 30, "quick"],
    [0, 16, 200, "rested"],
  ] as const;
  for (const [x, y, ms, expected] of starts) assert.equal(strokeOf(x, y, ms), expected);
});

Deno.test("nudged: arrow keys move the box, or resize it with Shift, not beyond the earliest start", () => {
  const press = (key: string, shiftKey = false) => nudged(scales, before, { key, shiftKey });
  // Six pixels of a chart with 1,000 and 500 of them, at least a second.
  const [ms, price] = [1_000, 1.2];
  const [later, higher] = [{ fromMs: 11_000, toMs: 21_000 }, {
    low: 140 + price,
    high: 160 + price,
  }];
  const [sooner, lower] = [{ fromMs: 9_000, toMs: 19_000 }, {
    low: 140 - price,
    high: 160 - price,
  }];
  const presses = [
    ["ArrowRight", later, { toMs: 20_000 + ms }],
    ["ArrowLeft", sooner, { toMs: 20_000 - ms }],
    ["ArrowUp", higher, { low: 140 - price, high: 160 + price }],
    ["ArrowDown", lower, { low: 140 + price, high: 160 - price }],
  ] as const;
  for (const [key, moved, resized] of presses) {
    assert.deepEqual(press(key), draftOf({ ...box, ...moved }));
    assert.deepEqual(press(key, true), draftOf({ ...box, ...resized }));
  }
  assert.equal(press("a"), undefined);
  const soon = draftOf({ ...box, fromMs: 8_100, toMs: 9_100 }) ?? assert.fail();
  assert.equal(nudged(scales, soon, { key: "ArrowLeft", shiftKey: false })?.startsInMs, 8_000);
  const view = { nowMs: NOW_MS, spanMs: 600_000, low: 100, high: 200 };
  const long = scalesOf({ width: 1_074, height: 532 }, view); // six pixels are 3.6 s
  const moved = nudged(long, before, { key: "ArrowRight", shiftKey: false });
  assert.equal(moved?.startsInMs, 14_000, "whole seconds");
});
