import assert from "node:assert/strict";
import { BoxDrag, gripAt } from "../../services/console/page/trade/box_drag.ts";
import { scalesOf } from "../../services/console/page/trade/chart_scales.ts";
import { draftOf } from "../../services/console/page/trade/draft.ts";

const NOW_MS = 1_000_000;
const scales = scalesOf({ width: 1_074, height: 532 }, {
  nowMs: NOW_MS,
  spanMs: 100_000,
  low: 100,
  high: 200,
});

/** Where a time from now and a price are on the chart. */
const at = (ms: number, price: number) => [scales.x(NOW_MS + ms), scales.y(price)] as const;

const before = draftOf({ fromMs: 10_000, toMs: 20_000, low: 140, high: 160 });

Deno.test("BoxDrag: a drag on free ground draws a new box", () => {
  const grip = gripAt(scales, before, ...at(25_000, 150), 8);
  assert.equal(grip.kind, "new");
  const drag = new BoxDrag(grip, before, scales, ...at(25_000, 150));
  assert.deepEqual(
    drag.to(scales, ...at(30_000, 170)),
    draftOf({ fromMs: 25_000, toMs: 30_000, low: 150, high: 170 }),
  );
});

Deno.test("BoxDrag: a drag from the past begins now", () => {
  const drag = new BoxDrag({ kind: "new" }, undefined, scales, ...at(-9_000, 150));
  assert.equal(drag.to(scales, ...at(5_000, 170))?.startsInMs, 0);
});

Deno.test("BoxDrag: inside the box moves it, never before now", () => {
  const grip = gripAt(scales, before, ...at(15_000, 150), 8);
  assert.equal(grip.kind, "move");
  const drag = new BoxDrag(grip, before, scales, ...at(15_000, 150));
  assert.deepEqual(
    drag.to(scales, ...at(17_000, 155)),
    draftOf({ fromMs: 12_000, toMs: 22_000, low: 145, high: 165 }),
  );
  assert.deepEqual(
    drag.to(scales, ...at(-5_000, 150)),
    draftOf({ fromMs: 0, toMs: 10_000, low: 140, high: 160 }),
  );
});

Deno.test("BoxDrag: sides and corners resize it", () => {
  const corner = gripAt(scales, before, ...at(20_000, 160), 8);
  assert.deepEqual(corner, { kind: "sides", horizontal: "to", vertical: "high" });
  const drag = new BoxDrag(corner, before, scales, ...at(20_000, 160));
  assert.deepEqual(
    drag.to(scales, ...at(26_000, 180)),
    draftOf({ fromMs: 10_000, toMs: 26_000, low: 140, high: 180 }),
  );
  assert.deepEqual(gripAt(scales, before, ...at(15_000, 140), 8), {
    kind: "sides",
    vertical: "low",
  });
  assert.deepEqual(gripAt(scales, before, ...at(10_000, 150), 8), {
    kind: "sides",
    horizontal: "from",
  });
});

Deno.test("BoxDrag: beyond the chart counts as its edge", () => {
  const drag = new BoxDrag({ kind: "new" }, undefined, scales, ...at(5_000, 150));
  const draft = drag.to(scales, 5_000, -500);
  assert.equal(draft?.upperPrice, 200_000_000n);
  assert.equal(draft?.durationMs, 37_000, "42 % of the time shown lies ahead");
});

Deno.test("BoxDrag: without a box, every drag draws a new one", () => {
  assert.deepEqual(gripAt(scales, undefined, ...at(15_000, 150), 8), { kind: "new" });
});
