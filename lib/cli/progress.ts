/** Replaces the progress line on a terminal; an empty text clears it. */
export type ShowProgress = (text: string) => void;

/** The parts of a terminal that drawing needs. */
export interface ProgressTerminal {
  isTerminal(): boolean;
  writeSync(bytes: Uint8Array): number;
}

/** Assumed width of a terminal that reports none, or 0. */
const COLUMNS = 80;

const BAR_WIDTH = 40;

/**
 * Draws progress on a terminal, and nothing on a file or a pipe.
 *
 * @param columns Current width: a wrapped line could not be replaced.
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

/** A progress bar as text: `████░░░░ 50 % of 10 slots`. */
export function progressBar(done: number, total: number, unit: string): string {
  const share = total === 0 ? 1 : done / total;
  const filled = Math.round(share * BAR_WIDTH);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  return `${bar} ${Math.floor(share * 100)} % of ${total} ${unit}`;
}
