const WIDTH = 40;

/** The text of a progress bar: what is done of a total, drawn and in numbers. */
export function progressBar(done: number, total: number, unit: string): string {
  const share = total === 0 ? 1 : done / total;
  const filled = Math.round(share * WIDTH);
  const bar = "█".repeat(filled) + "░".repeat(WIDTH - filled);
  return `${bar} ${Math.floor(share * 100)} % of ${total} ${unit}`;
}
