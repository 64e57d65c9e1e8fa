import type { CheckResult } from "./runner.ts";
import type { Level } from "./check.ts";

const COLORS: Readonly<Record<Level, number>> = { ok: 32, warn: 33, fail: 31 };

/** Widths of the columns before the text. */
export interface ReportWidths {
  service: number;
  subject: number;
}

/** A result as lines for a person: what was found, and what mends it. */
export function linesOf(result: CheckResult, widths: ReportWidths, color: boolean): string[] {
  const { level, service, subject, text, remedy, tookMs } = result;
  const word = level.padEnd(4);
  const shown = color ? `\x1b[${COLORS[level]}m${word}\x1b[0m` : word;
  const where = `${service.padEnd(widths.service)}  ${subject.padEnd(widths.subject)}`;
  const line = `${shown}  ${where}  ${text} (${Math.round(tookMs)} ms)`;
  return remedy === undefined ? [line] : [line, `      mend: ${remedy}`];
}

/** How many results there are of each level, as a line. */
export function summaryOf(results: readonly CheckResult[]): string {
  const { ok, warn, fail } = countsOf(results);
  return `${results.length} checks: ${ok} ok, ${warn} to look at, ${fail} failed`;
}

/** The results for a machine. */
export function jsonOf(results: readonly CheckResult[]): string {
  const counts = countsOf(results);
  return JSON.stringify({ ok: counts.fail === 0, counts, checks: results }, null, 2);
}

function countsOf(results: readonly CheckResult[]): Record<Level, number> {
  const counts = { ok: 0, warn: 0, fail: 0 };
  for (const { level } of results) counts[level] += 1;
  return counts;
}
