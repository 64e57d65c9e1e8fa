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
] as const;

export type Palette = Record<(typeof NAMES)[number] | "font", string>;

/** Reads the colours that apply now. Only as the colour of an element do they depend on the theme. */
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
