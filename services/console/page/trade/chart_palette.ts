/** Colours of the chart, by their names in the style sheet. */
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
