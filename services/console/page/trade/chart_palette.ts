/** Colours of the chart, as the style sheet names them. */
const NAMES = [
  "surface",
  "future",
  "grid",
  "ink",
  "ink-soft",
  "line",
  "accent",
  "won",
  "lost",
  "font",
] as const;

export type Palette = Record<(typeof NAMES)[number], string>;

/** Reads the colours that apply now: they differ between light and dark. */
export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const values = NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]);
  // Every name has a value.
  return Object.fromEntries(values) as Palette;
}
