/** One frame of the chart: its content, scales and colours. */
import type { Point, PriceSeries } from "../data/price_series.ts";
import type { ChartBox } from "./chart_boxes.ts";
import type { Palette } from "./chart_palette.ts";
import type { Scales } from "./chart_scales.ts";
import type { Draft } from "./draft.ts";

/** Content of the chart at one moment. */
export interface ChartContent {
  series: PriceSeries;
  boxes: readonly ChartBox[];
  /** The box that the user is drawing, which is also among the boxes. */
  draft: Draft | undefined;
  /** Id of the highlighted bet. */
  highlighted: number | undefined;
  /** The position of the pointer, with a text about it. */
  probe: { place: Point; text: string } | undefined;
  /** Text shown where a box can be drawn, while there is none. */
  hint: string | undefined;
  /** Whether the newest price is out of date. */
  isOld: boolean;
  /** Whether a badge in the upper left corner says that prices are simulated. */
  isSimulated: boolean;
  nowMs: number;
  spanMs: number;
}

/** The content, with the context, scales and colours to paint it. */
export interface Frame extends ChartContent {
  context: CanvasRenderingContext2D;
  scales: Scales;
  palette: Palette;
}
