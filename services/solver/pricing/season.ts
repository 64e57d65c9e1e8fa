/**
 * How far prices go in each hour of the day and in each minute of the hour, relative to the others.
 *
 * Crypto volatility peaks between 13 and 17 UTC and is lowest between 3 and 11 ("Intraday patterns
 * on 38 exchanges", Review of Quantitative Finance and Accounting 64, 275), with bursts at the
 * minutes 0, 15, 30 and 45 (Hansen et al., "Periodicity in cryptocurrency volatility", 2024).
 */
import { z } from "zod";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../lib/time.ts";

/** One cell counts at most as this many times the mean of its cycle. */
const RATIO_MAX = 4;

/** A repeating cycle of cells, such as the 24 hours of a day. */
interface CycleOptions {
  cells: number;
  cellMs: number;
  /** Weight of the prior, no season, in cycles. */
  priorCycles: number;
  /** Cycles after which older ones lose weight. */
  memoryCycles: number;
}

const DAY: CycleOptions = { cells: 24, cellMs: HOUR_MS, priorCycles: 5, memoryCycles: 60 };
const HOUR: CycleOptions = { cells: 60, cellMs: MINUTE_MS, priorCycles: 25, memoryCycles: 1_440 };

function cycleStateSchema({ cells, memoryCycles }: CycleOptions) {
  return z.object({
    ratios: z.array(z.number().min(0).max(RATIO_MAX)).length(cells),
    cycles: z.array(z.number().min(0).max(memoryCycles)).length(cells),
    recent: z.array(z.number().min(0).max(100)).max(cells),
    cell: z.object({ index: z.number(), sum: z.number().nonnegative(), ms: z.number() }),
  });
}

/** State of a {@link Season}. */
export const seasonStateSchema = z.object({
  day: cycleStateSchema(DAY),
  hour: cycleStateSchema(HOUR),
});

type CycleState = z.output<typeof seasonStateSchema>["day"];

/** Learns each cell's value relative to the cycle that ends with it. */
class Cycle {
  readonly #options: CycleOptions;
  readonly #state: CycleState;
  /** By cell, with a mean of 1. */
  factors: readonly number[];

  constructor(options: CycleOptions, state: CycleState | undefined) {
    this.#options = options;
    this.#state = structuredClone(state) ?? {
      ratios: new Array<number>(options.cells).fill(1),
      cycles: new Array<number>(options.cells).fill(0),
      recent: [],
      cell: { index: -1, sum: 0, ms: 0 },
    };
    this.factors = this.#shrunkFactors();
  }

  at(timeMs: number): number {
    const { cells, cellMs } = this.#options;
    return this.factors[Math.floor(timeMs / cellMs) % cells] ?? 1;
  }

  add(timeMs: number, durationMs: number, value: number): void {
    const index = Math.floor(timeMs / this.#options.cellMs);
    const { cell } = this.#state;
    if (index !== cell.index) {
      this.#close(index);
      Object.assign(cell, { index, sum: 0, ms: 0 });
    }
    cell.sum += value * durationMs;
    cell.ms += durationMs;
  }

  toJSON(): CycleState {
    return this.#state;
  }

  #close(nextIndex: number): void {
    const { cell, recent } = this.#state;
    // A cell needs at least a quarter of its prices.
    const isKnown = cell.ms >= this.#options.cellMs / 4;
    if (isKnown) this.#learn(cell.index, cell.sum / cell.ms);
    // A cycle is one without a gap.
    if (!isKnown || nextIndex !== cell.index + 1) recent.length = 0;
  }

  #learn(cellIndex: number, value: number): void {
    const { cells, memoryCycles } = this.#options;
    const { recent, ratios, cycles } = this.#state;
    recent.push(value);
    if (recent.length > cells) recent.shift();
    const mean = recent.reduce((sum, range) => sum + range, 0) / cells;
    if (recent.length < cells || mean === 0) return;
    const index = cellIndex % cells;
    cycles[index] = Math.min(memoryCycles, cycles[index]! + 1); // index is one of the cells
    ratios[index]! += (Math.min(RATIO_MAX, value / mean) - ratios[index]!) / cycles[index];
    if (index === cells - 1) this.factors = this.#shrunkFactors();
  }

  #shrunkFactors(): number[] {
    const { ratios, cycles } = this.#state;
    const shrunk = ratios.map((ratio, cell) =>
      1 + (ratio - 1) * cycles[cell]! / (cycles[cell]! + this.#options.priorCycles) // one per cell
    );
    const mean = shrunk.reduce((sum, ratio) => sum + ratio, 0) / shrunk.length;
    return shrunk.map((ratio) => ratio / mean);
  }
}

/** Learns the seasons of the day and of the hour from how far prices went. */
export class Season {
  readonly #day: Cycle;
  readonly #hour: Cycle;

  constructor(state?: z.output<typeof seasonStateSchema>) {
    this.#day = new Cycle(DAY, state?.day);
    this.#hour = new Cycle(HOUR, state?.hour);
  }

  /** Adds how far the price went in a time span within one minute, later than all before. */
  add(timeMs: number, durationMs: number, range: number): void {
    this.#day.add(timeMs, durationMs, range);
    this.#hour.add(timeMs, durationMs, range);
  }

  /** How far prices go at a time, relative to the mean. */
  factorAt(timeMs: number): number {
    return this.#day.at(timeMs) * this.#hour.at(timeMs);
  }

  /** Mean square of {@link factorAt} over a window: the factor of its variance. */
  meanSquareFactor(fromMs: number, toMs: number): number {
    // Minutes hardly matter to windows of many.
    const byMinute = toMs - fromMs <= HOUR_MS;
    const cellMs = byMinute ? MINUTE_MS : HOUR_MS;
    const minuteFactor = byMinute ? 1 : meanSquare(this.#hour.factors);
    // A whole day has each hour once. One after the other, those until a far start would take a minute.
    const daysMs = Math.floor((toMs - fromMs) / DAY_MS) * DAY_MS;
    let sum = daysMs * meanSquare(this.#day.factors);
    for (let ms = fromMs + daysMs; ms < toMs;) {
      const next = Math.min(toMs, (Math.floor(ms / cellMs) + 1) * cellMs);
      const factor = byMinute ? this.factorAt(ms) : this.#day.at(ms);
      sum += (next - ms) * factor * factor;
      ms = next;
    }
    return minuteFactor * sum / (toMs - fromMs);
  }

  toJSON(): z.input<typeof seasonStateSchema> {
    return { day: this.#day.toJSON(), hour: this.#hour.toJSON() };
  }
}

function meanSquare(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value * value, 0) / values.length;
}
