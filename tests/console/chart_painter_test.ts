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

/** A canvas that counts the calls of each kind. */
function countingContext() {
  const counts: Record<string, number> = {};
  const context = new Proxy({}, {
    get: (_, name) => (text?: unknown) => {
      counts[String(name)] = (counts[String(name)] ?? 0) + 1;
      return { width: 7 * String(text).length };
    },
    set: () => true,
  });
  return { counts, context };
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
  const { counts, context } = countingContext();
  paint(
    {
      context,
      scales: scalesOf(SIZE, { nowMs: NOW_MS, spanMs: 60_000, low: 2_980, high: 3_020 }),
      boxes: Array.from({ length: boxes }, (_, index) => boxOf(index)),
      ...{
        series,
        palette: {},
        draft: undefined,
        highlighted: 3,
        probe: undefined,
        hint: undefined,
      },
    },
    SIZE.width,
    SIZE.height,
  );
  return counts;
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
