/** What a frame costs, as calls of the canvas: the time that they take is in the bench. */
import assert from "node:assert/strict";
import { PriceSeries } from "../../services/console/page/data/price_series.ts";
import type { BoxKind, ChartBox } from "../../services/console/page/trade/chart_boxes.ts";
import { scalesOf } from "../../services/console/page/trade/chart_scales.ts";

/** Imported by its URL: tests have no types of the DOM. */
const PAINTER = import.meta.resolve("../../services/console/page/trade/chart_painter.ts");
const { paint }: { paint(frame: unknown, width: number, height: number): void } = await import(
  PAINTER
);

const NOW_MS = 1_000_000;
const SIZE = { width: 900, height: 500 };
const KINDS: readonly BoxKind[] = ["lost", "won", "waiting", "open"];

/** A canvas that counts the calls of each kind, and keeps its texts and their places. */
function countingContext() {
  const counts: Record<string, number> = {};
  const texts: { text: string; x: number; y: number }[] = [];
  const context = new Proxy({}, {
    get: (_, name) => (text?: unknown, x = 0, y = 0) => {
      counts[String(name)] = (counts[String(name)] ?? 0) + 1;
      if (name === "fillText") texts.push({ text: String(text), x, y });
      return { width: 7 * String(text).length };
    },
    set: () => true,
  });
  return { counts, texts, context };
}

/** Calls for one frame with so many boxes and prices ten times a second. */
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
    ...{ low: 2_990 + index % 7, high: 3_003 + index % 5 },
    ...{ fromMs: NOW_MS - 20_000 + 90 * index, toMs: NOW_MS - 5_000 + 120 * index },
    label: `pays ${index}`,
    thesisId: index,
  });
  return painted(series, Array.from({ length: boxes }, (_, index) => boxOf(index))).counts;
}

/** One frame of a minute between 2,980 and 3,020. */
function painted(series: PriceSeries, boxes: readonly ChartBox[]) {
  const { context, ...calls } = countingContext();
  const content = { series, boxes, palette: {}, highlighted: 3, isOld: false };
  const scales = scalesOf(SIZE, { nowMs: NOW_MS, spanMs: 60_000, low: 2_980, high: 3_020 });
  paint({ ...content, context, scales }, SIZE.width, SIZE.height);
  return { ...calls, scales };
}

Deno.test("Chart: shapes are filled and outlined by kind, so 200 boxes cost as many strokes as 20", () => {
  const [few, many] = [callsFor(20, 600), callsFor(200, 600)];
  for (const call of ["fill", "stroke", "clip", "save"]) {
    const [before = 0, after = 0] = [few[call], many[call]];
    // A label is a filled shape of its own, and there are at most forty.
    const more = call === "fill" ? 40 : 8;
    assert(after <= before + more, `${call}: ${before} for 20 boxes, ${after} for 200`);
  }
  assert((many.measureText ?? 0) <= 60, `${many.measureText} texts measured`);
});

Deno.test("Chart: the line has at most a few points in each pixel, however many prices there are", () => {
  const { lineTo = 0 } = callsFor(0, 60_000);
  assert(lineTo < 8 * SIZE.width, `${lineTo} points`);
  assert(lineTo > SIZE.width / 4, "it is drawn");
});

const OWN: ChartBox = {
  ...{ kind: "draft", low: 2_990, high: 2_990.5, label: "pays 12.00" },
  ...{ fromMs: NOW_MS, toMs: NOW_MS + 9_000 },
};

Deno.test("Chart: both bounds of the own box have a tag at the axis, apart however low the box is", () => {
  const { texts, scales: { plot } } = painted(new PriceSeries(), [OWN]);
  const tags = texts.filter(({ text, x }) => x > plot.right && /^2,990\.[05]0$/.test(text));
  const [upper, lower] = tags;
  assert.deepEqual(tags.map(({ text }) => text), ["2,990.50", "2,990.00"]);
  assert((lower?.y ?? 0) - (upper?.y ?? 0) >= 20);
});

Deno.test("Chart: a label whose place is taken is at the lower edge of its box, inside the chart", () => {
  const tall: ChartBox = { ...OWN, kind: "won", low: 0, high: 9_000, label: "won" };
  const { texts, scales: { plot } } = painted(new PriceSeries(), [
    tall,
    { ...tall, label: "lost" },
  ]);
  const levelOf = (label: string) => texts.find(({ text }) => text === label)?.y ?? NaN;
  assert(levelOf("lost") > plot.top && levelOf("lost") < 40);
  assert(levelOf("won") < plot.bottom && levelOf("won") > plot.bottom - 40);
});
