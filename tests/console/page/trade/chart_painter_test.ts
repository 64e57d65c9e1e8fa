/** The cost of a frame, as calls of the canvas; the bench measures their time. */
import assert from "node:assert/strict";
import { PriceSeries } from "../../../../services/console/page/data/price_series.ts";
import type { BoxKind, ChartBox } from "../../../../services/console/page/trade/chart_boxes.ts";
import { scalesOf } from "../../../../services/console/page/trade/chart_scales.ts";

/** Imported by its URL: tests have no types of the DOM. */
const PAINTER = import.meta.resolve("../../../../services/console/page/trade/chart_painter.ts");
const { paint }: { paint(frame: unknown, width: number, height: number): void } = await import(
  PAINTER
);

const NOW_MS = 1_000_000;
const SIZE = { width: 900, height: 500 };
const KINDS: readonly BoxKind[] = ["lost", "won", "waiting", "open"];

/** A canvas that counts calls by kind, and records its texts, their places, and what is filled. */
function countingContext() {
  const counts: Record<string, number> = {};
  const texts: { text: string; x: number; y: number; widest: number }[] = [];
  const rectangles: { top: number; bottom: number }[] = [];
  const filled: { width: number; height: number }[] = [];
  let path: typeof filled = [];
  const context = new Proxy({}, {
    get: (_, name) => (first?: unknown, ...rest: number[]) => {
      counts[String(name)] = (counts[String(name)] ?? 0) + 1;
      const text = String(first);
      if (name === "fillText") {
        const [x = 0, y = 0, widest = 0] = rest;
        texts.push({ text, x, y, widest });
      }
      const [y = 0, width = 0, height = 0] = rest;
      if (name === "beginPath") path = [];
      if (name === "rect") path.push({ width: Math.round(width), height: Math.round(height) });
      if (name === "fill") filled.push(...path);
      if (name === "strokeRect") rectangles.push({ top: y, bottom: y + height });
      return { width: 7 * text.length };
    },
    set: () => true,
  });
  return { counts, texts, rectangles, filled, context };
}

/** Calls for one frame with this many boxes, and prices ten times a second. */
function callsFor(boxes: number, points: number): Record<string, number> {
  const series = new PriceSeries();
  series.merge(
    Array.from({ length: points }, (_, index) => ({
      time: NOW_MS - 100 * (points - index),
      price: 3_000 + Math.sin(index),
    })),
  );
  const boxOf = (index: number): ChartBox => ({
    kind: KINDS[index % KINDS.length] ?? "open",
    low: 2_990 + index % 7,
    high: 3_003 + index % 5,
    fromMs: NOW_MS - 20_000 + 90 * index,
    toMs: NOW_MS - 5_000 + 120 * index,
    label: `pays ${index}`,
    thesisId: index,
  });
  return painted(series, Array.from({ length: boxes }, (_, index) => boxOf(index))).counts;
}

/** One frame of a minute between 2,980 and 3,020. */
function painted(
  series: PriceSeries,
  boxes: readonly ChartBox[],
  { hint, width = SIZE.width }: { width?: number; hint?: ChartBox } = {},
) {
  const { context, ...calls } = countingContext();
  const content = { series, boxes, palette: {}, highlighted: 3, hint, spanMs: 60_000 };
  const size = { ...SIZE, width };
  const scales = scalesOf(size, { nowMs: NOW_MS, spanMs: 60_000, low: 2_980, high: 3_020 });
  paint({ ...content, context, scales }, size.width, size.height);
  return { ...calls, scales };
}

/** The texts of a frame, of those that are named. */
const labelsOf = (names: RegExp, ...boxes: ChartBox[]) =>
  painted(new PriceSeries(), boxes).texts.map(({ text }) => text).filter((text) =>
    names.test(text)
  );

Deno.test("paint: boxes of one kind are drawn in one shape, so 200 boxes take as many strokes as 20", () => {
  const [few, many] = [callsFor(20, 600), callsFor(200, 600)];
  for (const call of ["fill", "stroke", "clip", "save"]) {
    const [before = 0, after = 0] = [few[call], many[call]];
    // A label is a filled shape of its own; many boxes have none.
    const more = call === "fill" ? 0 : 8;
    assert(after <= before + more, `${call}: ${before} for 20 boxes, ${after} for 200`);
  }
  assert(
    (many.measureText ?? 0) <= 1,
    `${many.measureText} texts measured: that of the chosen box`,
  );
});

Deno.test("paint: the price line has a few points per pixel at most, however many prices there are", () => {
  const { lineTo = 0 } = callsFor(0, 60_000);
  assert(lineTo < 8 * SIZE.width, `${lineTo} points`);
  assert(lineTo > SIZE.width / 4, "it is drawn");
});

const OWN: ChartBox = {
  kind: "draft",
  low: 2_990,
  high: 2_990.5,
  label: "pays 12.00",
  fromMs: NOW_MS,
  toMs: NOW_MS + 9_000,
};

/** The tags at the axis, in bold letters: their texts and places, from the top down. */
function tagsOf(price: number | undefined, boxes: readonly ChartBox[]) {
  const series = new PriceSeries();
  if (price !== undefined) series.merge([{ time: NOW_MS, price }]);
  const { texts, scales: { plot } } = painted(series, boxes);
  const known = [price, ...boxes.flatMap(({ low, high }) => [low, high])]
    .map((value) => value?.toLocaleString("en-US", { minimumFractionDigits: 2 }));
  const tags = texts.filter(({ text, x }) => x > plot.right && known.includes(text))
    .sort((a, b) => a.y - b.y);
  for (const [index, { y }] of tags.entries()) {
    assert(y >= plot.top && y <= plot.bottom + 1, `${y}`);
    assert(index === 0 || y - tags[index - 1]!.y >= 20, "none covers another one");
  }
  return tags.map(({ text }) => text);
}

Deno.test("paint: tags of the newest price and of both bounds of the user's box never cover each other", () => {
  assert.deepEqual(tagsOf(undefined, [OWN]), ["2,990.50", "2,990.00"]);
  for (const price of [2_980.01, 2_989.99, 2_990.01, 2_990.25, 2_990.49, 2_990.51, 3_019.99]) {
    const text = price.toFixed(2).replace(/^./, "$&,");
    const bounds = ["2,990.50", "2,990.00"];
    bounds.splice(price > 2_990.5 ? 0 : price > 2_990 ? 1 : 2, 0, text);
    assert.deepEqual(tagsOf(price, [OWN]), bounds);
  }
  const atTheEdge = { ...OWN, low: 2_980, high: 2_980.01 };
  assert.deepEqual(tagsOf(2_979.99, [atTheEdge]), ["2,980.01", "2,980.00", "2,979.99"]);
});

Deno.test("paint: the bounds of the highlighted open bet, or of the next one to end, have tags", () => {
  const open: ChartBox = { ...OWN, kind: "open", low: 2_993.5, high: 2_994, label: "" };
  const boxes: ChartBox[] = [
    { ...open, thesisId: 1, low: 2_991, high: 2_992, toMs: NOW_MS + 2_000 },
    { ...open, thesisId: 2, toMs: NOW_MS + 1_000 },
    { ...open, kind: "won", thesisId: 4, toMs: NOW_MS - 1_000 },
  ];
  assert.deepEqual(tagsOf(undefined, boxes), ["2,994.00", "2,993.50"]);
  const chosen: ChartBox = { ...open, thesisId: 3, low: 2_995, high: 2_996 };
  assert.deepEqual(tagsOf(undefined, [chosen, ...boxes]), ["2,996.00", "2,995.00"]);
});

Deno.test("paint: a bet that is longer than the chart is not filled, wherever it is", () => {
  const bet: ChartBox = { ...OWN, low: 2_990, high: 3_010, thesisId: 1, label: "long" };
  for (const kind of ["open", "won"] as const) {
    for (const fromMs of [NOW_MS - 50_000, NOW_MS - 5_000]) {
      const { filled } = painted(new PriceSeries(), [{
        ...bet,
        kind,
        fromMs,
        toMs: fromMs + 61_000,
      }]);
      assert.deepEqual(filled, []);
      const short = painted(new PriceSeries(), [{ ...bet, kind, fromMs, toMs: fromMs + 60_000 }]);
      assert(short.filled.some(({ height }) => height > 100), "as long as the chart");
    }
  }
  const far = { fromMs: NOW_MS - 100_000, toMs: NOW_MS + 100_000 };
  const { texts, scales: { y } } = painted(new PriceSeries(), [{ ...bet, kind: "open", ...far }]);
  assert.deepEqual(
    texts.filter(({ text }) => text === "long").map(({ y }) => Math.round(y)),
    [Math.round(y(3_010) - 11 + 0.5)],
    "at its upper bound",
  );
});

Deno.test("paint: a lost box ends where the price left it, and is gone once that place is left of the chart", () => {
  const lost: ChartBox = { ...OWN, kind: "lost", toMs: NOW_MS + 20_000, thesisId: 1, label: "" };
  const leftAt = (time: number) =>
    painted(new PriceSeries(), [{ ...lost, fromMs: NOW_MS - 50_000, breach: { time, price: 1 } }]);
  const { filled, scales: { x } } = leftAt(NOW_MS - 1_000);
  const width = Math.round(x(NOW_MS - 1_000) - x(NOW_MS - 50_000));
  assert.deepEqual(filled.map((box) => box.width), [width]);
  assert.deepEqual(leftAt(NOW_MS - 40_000).filled, []);
});

Deno.test("paint: bounds of an open bet that are above or below the chart have tags with arrows", () => {
  const far: ChartBox = {
    ...OWN,
    kind: "open",
    thesisId: 1,
    label: "far",
    low: 2_950,
    high: 3_050,
    fromMs: NOW_MS - 100_000,
    toMs: NOW_MS + 100_000,
  };
  const { texts, scales: { plot } } = painted(new PriceSeries(), [far]);
  const levelOf = (tag: string) => texts.find(({ text }) => text === tag)?.y ?? NaN;
  assert(levelOf("↑3,050.00") - plot.top < 20);
  assert(plot.bottom - levelOf("↓2,950.00") < 20);
});

Deno.test("paint: a label that is wider than the chart is left out, not cut", () => {
  const own: ChartBox = { ...OWN, label: "quote: pays 13.23" };
  const isLabelled = (width: number) =>
    painted(new PriceSeries(), [own], { width }).texts.some(({ text }) => text === own.label);
  assert.deepEqual([isLabelled(400), isLabelled(190)], [true, false]);
});

Deno.test("paint: a label whose space is taken moves to the lower edge of its box", () => {
  const tall: ChartBox = { ...OWN, low: 0, high: 9_000, label: "own", fromMs: NOW_MS + 3_000 };
  const chosen: ChartBox = { ...tall, kind: "open", thesisId: 3, label: "chosen" };
  const { texts, scales: { plot } } = painted(new PriceSeries(), [chosen, tall]);
  const levelOf = (label: string) => texts.find(({ text }) => text === label)?.y ?? NaN;
  assert(levelOf("chosen") > plot.top && levelOf("chosen") < 40);
  assert(levelOf("own") < plot.bottom && levelOf("own") > plot.bottom - 40);
});

Deno.test('paint: no label covers "now"', () => {
  const tall: ChartBox = { ...OWN, low: 0, high: 9_000, label: "own" };
  const chosen: ChartBox = { ...tall, kind: "open", thesisId: 3, label: "chosen" };
  assert.deepEqual(labelsOf(/^(own|chosen)$/, tall), ["own"]);
  assert.deepEqual(
    labelsOf(/^(own|chosen)$/, chosen, tall),
    ["chosen"],
    "the lower edge is at now",
  );
});

Deno.test("paint: an open box has a label where that covers no other box, or if it is chosen", () => {
  const open: ChartBox = { ...OWN, kind: "open", low: 2_990, high: 3_000, label: "open" };
  const around: ChartBox = { ...open, low: 2_985, high: 3_005, label: "around" };
  const above: ChartBox = { ...open, low: 3_001, high: 3_010, label: "above" };
  const shown = (...boxes: ChartBox[]) => labelsOf(/^(open|around|above)$/, ...boxes);
  assert.deepEqual(shown(around, open), ["around"]);
  assert.deepEqual(shown(around, { ...open, thesisId: 3 }), ["open", "around"]);
  assert.deepEqual(shown(above, open), ["open", "above"], "below its box, above its box");
});

Deno.test("paint: a settled box, too, has a label where that covers no other box, as long as it is on the chart", () => {
  const won: ChartBox = { ...OWN, kind: "won", low: 2_990, high: 3_000, label: "won" };
  const at = { fromMs: NOW_MS - 30_000, toMs: NOW_MS - 20_000 };
  const shown = (...boxes: ChartBox[]) => labelsOf(/^(won|around)$/, ...boxes);
  assert.deepEqual(shown({ ...won, ...at }), ["won"]);
  const around: ChartBox = { ...won, ...at, low: 2_985, high: 3_005, label: "around" };
  assert.deepEqual(shown(around, { ...won, ...at }), ["around"]);
  assert.deepEqual(shown({ ...won, fromMs: NOW_MS - 70_000, toMs: NOW_MS - 60_000 }), []);
  const breach = { time: NOW_MS - 50_000, price: 1 };
  const left: ChartBox = { ...won, kind: "lost", fromMs: NOW_MS - 60_000, breach };
  assert.deepEqual(shown(left), [], "it is drawn until the price left it");
});

Deno.test("paint: the label of a lost box is at the edge that the price did not cross, if there is space", () => {
  const levelAt = (price: number) => {
    const breach = { time: NOW_MS - 9_000, price };
    const lost: ChartBox = { ...OWN, kind: "lost", low: 2_990, high: 3_000, breach, label: "lost" };
    const { texts, scales } = painted(new PriceSeries(), [{ ...lost, fromMs: NOW_MS - 10_000 }]);
    const level = texts.find(({ text }) => text === "lost")?.y ?? NaN;
    return level > scales.y(2_990) ? "below" : level < scales.y(3_000) ? "above" : level;
  };
  assert.deepEqual([3_001, 2_989].map(levelAt), ["below", "above"]);
});

Deno.test("paint: no label covers the newest price", () => {
  const series = new PriceSeries();
  series.merge([{ time: NOW_MS, price: 3_000.9 }]);
  const box: ChartBox = {
    ...OWN,
    kind: "won",
    low: 2_990,
    high: 3_000,
    fromMs: NOW_MS - 2_000,
    label: "won",
  };
  const { texts, scales } = painted(series, [box]);
  const level = texts.find(({ text }) => text === "won")?.y ?? NaN;
  assert(level > scales.y(2_990), "below the box: the price is above it");
});

Deno.test("paint: the invitation to draw is where the suggested box will be, below labels of bets", () => {
  const bet: ChartBox = { ...OWN, kind: "lost", label: "lost", fromMs: NOW_MS - 20_000 };
  const hint: ChartBox = { ...OWN, low: 2_985, high: 2_995, label: "Draw" };
  const { texts, rectangles: [drawn], scales } = painted(new PriceSeries(), [bet], { hint });
  assert.deepEqual(drawn, { top: scales.y(2_995), bottom: scales.y(2_985) });
  const names = texts.map(({ text }) => text);
  assert(names.indexOf("Draw") < names.indexOf("lost"), "painted first");
  assert.equal(texts.find(({ text }) => text === "Draw")?.widest, 0, "not squeezed into the box");
});

Deno.test('paint: the invitation to draw stays above "now", wherever the price is', () => {
  for (const price of [2_981, 3_000, 3_019]) {
    const series = new PriceSeries();
    series.merge([{ time: NOW_MS, price }]);
    const box: ChartBox = { ...OWN, low: price - 30, high: price + 30, label: "Draw" };
    const { texts, rectangles: [hint], scales } = painted(series, [], { hint: box });
    const now = texts.find(({ text }) => text === "now")?.y ?? NaN;
    assert(
      hint && hint.top > scales.plot.top && hint.bottom < now - 8,
      `${hint?.bottom} at ${price}`,
    );
  }
});
