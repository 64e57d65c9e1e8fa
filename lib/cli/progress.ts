/** Tells somebody at a terminal how far a command is while they wait. */

/** Draws one line over the one before; an empty text takes it away. */
export type ShowProgress = (text: string) => void;

/** The part of a terminal that is needed to draw on it. */
export interface ProgressTerminal {
  isTerminal(): boolean;
  writeSync(bytes: Uint8Array): number;
}

/** How wide a terminal is taken to be that tells no width, or 0. */
const COLUMNS = 80;

const BAR_WIDTH = 40;

/**
 * Draws on a terminal; on anything else, such as a file or a pipe, nothing at all.
 *
 * @param columns How wide the terminal is now: a line that wraps could not be drawn over.
 */
export function progressOn(
  terminal: ProgressTerminal,
  columns: () => number = () => COLUMNS,
): ShowProgress {
  if (!terminal.isTerminal()) return () => {};
  const encoder = new TextEncoder();
  let drawn = "";
  return (text) => {
    const width = columns() || COLUMNS;
    const line = [...text].slice(0, width - 1).join("");
    if (line === drawn) return;
    const blank = " ".repeat(Math.max(0, drawn.length - line.length));
    const end = line === "" ? "\r" : "";
    terminal.writeSync(encoder.encode(`\r${line}${blank}${end}`));
    drawn = line;
  };
}

/** The text of a progress bar: what is done of a total, drawn and in numbers. */
export function progressBar(done: number, total: number, unit: string): string {
  const share = total === 0 ? 1 : done / total;
  const filled = Math.round(share * BAR_WIDTH);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  return `${bar} ${Math.floor(share * 100)} % of ${total} ${unit}`;
}
