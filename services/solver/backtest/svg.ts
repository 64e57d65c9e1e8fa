/** The parts that pictures are drawn from: SVG as text. */

/** A linear scale from values to coordinates. */
export interface Scale {
  (value: number): number;
  ticks: readonly number[];
}

/** Position of a chart on its page. */
export interface ChartArea {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Colours that people with a colour vision deficiency can tell apart (Okabe and Ito, 2008). */
export const COLORS = ["#0072b2", "#d55e00", "#999999", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

export const INK = "#222";
const PALE = "#ddd";
const FONT_SIZE = 14;

/** A page with a title and a sentence below it. */
export function page(
  width: number,
  height: number,
  title: string,
  subtitle: string,
  parts: readonly string[],
): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}"` +
    ` width="${width}" height="${height}" font-family="sans-serif" font-size="${FONT_SIZE}"` +
    ` fill="${INK}">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    `<text x="30" y="36" font-size="22" font-weight="bold">${escaped(title)}</text>`,
    `<text x="30" y="60" fill="#555">${escaped(subtitle)}</text>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

/** A scale with round ticks that covers the values. */
export function scale(
  values: readonly number[],
  [from, to]: readonly [number, number],
): Scale {
  const finite = values.filter(Number.isFinite);
  const lowest = Math.min(0, ...finite);
  const highest = Math.max(0, ...finite);
  const span = highest - lowest || 1;
  const raw = span / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw) ?? raw;
  const first = Math.floor(lowest / step);
  const last = Math.ceil(highest / step);
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
  const at = (value: number) =>
    from + (value - first * step) / ((last - first) * step || 1) * (to - from);
  return Object.assign(at, { ticks });
}

/** Horizontal grid lines with their values at the left. */
export function yAxis({ left, width }: ChartArea, y: Scale, label: string, top: number): string[] {
  const decimals = Math.max(0, Math.ceil(-Math.log10((y.ticks[1] ?? 1) - (y.ticks[0] ?? 0))));
  return [
    text(left - 8, top - 12, label, "start"),
    ...y.ticks.flatMap((tick) => [
      line(left, y(tick), left + width, y(tick), Math.abs(tick) < 1e-12 ? INK : PALE),
      text(left - 8, y(tick) + 5, tick.toFixed(decimals), "end"),
    ]),
  ];
}

/** A point with an error bar of `error` to both sides; no bar if `error` is NaN. */
export function pointWithError(
  x: number,
  y: Scale,
  value: number,
  error: number,
  color: string,
): string[] {
  const bar = Number.isFinite(error)
    ? [line(x, y(value - error), x, y(value + error), color, 2)]
    : [];
  return [...bar, `<circle cx="${at(x)}" cy="${at(y(value))}" r="5" fill="${color}"/>`];
}

/** Names beside dots of their colours. */
export function legend(x: number, y: number, names: readonly string[]): string[] {
  return names.flatMap((name, index) => [
    `<circle cx="${at(x)}" cy="${at(y + 22 * index - 5)}" r="5" fill="${colorOf(index)}"/>`,
    text(x + 12, y + 22 * index, name, "start"),
  ]);
}

/** The colour of a series. */
export function colorOf(index: number): string {
  return COLORS[index % COLORS.length]!; // the remainder is below the length
}

export function line(
  x1: number,
  y1: number,
  x2: number,
  y2: number,
  color: string,
  width = 1,
): string {
  return `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}"` +
    ` stroke="${color}" stroke-width="${width}"/>`;
}

export function text(
  x: number,
  y: number,
  words: string,
  anchor: "start" | "middle" | "end" = "middle",
): string {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">${escaped(words)}</text>`;
}

function escaped(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function at(coordinate: number): string {
  return coordinate.toFixed(1);
}
