/** One frame of the chart: what is on it, where, and in which colours. */
import type { Point, PriceSeries } from "../data/price_series.ts";
import type { ChartBox } from "./chart_boxes.ts";
import type { Palette } from "./chart_palette.ts";
import type { Scales } from "./chart_scales.ts";
import type { Draft } from "./draft.ts";

/** Content of the chart at one moment. */
export interface ChartContent {
  series: PriceSeries;
  boxes: readonly ChartBox[];
  /** The box that is being drawn, which is also among the boxes. */
  draft: Draft | undefined;
  /** The bet that stands out. */
  highlighted: number | undefined;
  /** The place that the pointer shows, in words. */
  probe: { place: Point; text: string } | undefined;
  /** Shown where a box could be, until there is one. */
  hint: string | undefined;
  /** The newest price is not the one of now. */
  isOld: boolean;
  nowMs: number;
  spanMs: number;
}

/** The content, with what it is painted on and by. */
export interface Frame extends ChartContent {
  context: CanvasRenderingContext2D;
  scales: Scales;
  palette: Palette;
}
