/** One frame of the chart: its content, scales and colours. */
import type { Point, PriceSeries } from "../data/price_series.ts";
import type { ChartBox } from "./chart_boxes.ts";
import type { Scales } from "./chart_scales.ts";
import type { Draft } from "./draft.ts";

/** Content of the chart at one moment. */
export interface ChartContent {
  series: PriceSeries;
  boxes: readonly ChartBox[];
  /** The box that the user is drawing, which is also among the boxes. */
  draft: Draft | undefined;
  highlighted: number | undefined;
  /** The position of the pointer, with a text about it. */
  probe: { place: Point; text: string } | undefined;
  /** The box that a tap would draw, while there is none. */
  hint: ChartBox | undefined;
  /** Whether the newest price is out of date. */
  isOld: boolean;
  nowMs: number;
  spanMs: number;
}

/** The content, with the context, scales and colours to paint it. */
export interface Frame extends ChartContent {
  context: CanvasRenderingContext2D;
  scales: Scales;
  palette: Palette;
}

/** Colours, by their names in the style sheet. */
const NAMES = [
  "surface",
  "future",
  "grid",
  "ink",
  "ink-soft",
  "accent",
  "open",
  "won",
  "lost",
] as const;

export type Palette = Record<(typeof NAMES)[number] | "font", string>;

/** Reads the colours of the current theme. They are resolved only when an element uses them. */
export function readPalette(element: HTMLElement): Palette {
  const style = getComputedStyle(element);
  const values = NAMES.map((name) => {
    element.style.color = `var(--${name})`;
    return [name, style.color];
  });
  element.style.color = "";
  // Every name has a value.
  return Object.fromEntries([...values, ["font", style.fontFamily]]) as Palette;
}
