import { z } from "zod";
import { HOUR_MS } from "../../../lib/time.ts";

/** Windows per minute of the hour after which older ones lose weight: two months. */
const MEMORY_WINDOWS = 1_440;

/** With fewer windows per minute of the hour, the variance by chance is too uncertain. */
const WINDOWS_MIN = 24;

/** Largest difference from the expectation with which one window counts. */
const LOG_DIFFERENCE_MAX = 3;

/** State of a {@link StartSeason}. */
export const startSeasonSchema = z.object({
  /** By start within the hour. */
  cells: z.array(
    z.object({
      mean: z.number().min(-LOG_DIFFERENCE_MAX).max(LOG_DIFFERENCE_MAX),
      windows: z.number().min(0).max(MEMORY_WINDOWS),
    }),
  ),
  /** Variance of a window around the mean of its cell. */
  variance: z.number().nonnegative(),
});

type State = z.output<typeof startSeasonSchema>;

/**
 * Windows that start in some minutes of the hour move further: the logarithm of the factor per
 * minute, shrunk towards 0 (James and Stein, "Estimation with quadratic loss", 1961). Prices that
 * trend, as after a full hour, go further than the ranges of single minutes suggest.
 *
 * The shrinkage follows from the data: it keeps the share of the variance that chance does not
 * explain.
 */
export class StartSeason {
  readonly #state: State;
  #offsets: readonly number[] | undefined;

  /** @param stepMs Time from one start to the next, a divisor of the hour. */
  constructor(stepMs: number, state?: State) {
    const length = HOUR_MS / stepMs;
    this.#state = state?.cells.length === length ? structuredClone(state) : {
      cells: Array.from({ length }, () => ({ mean: 0, windows: 0 })),
      variance: 0,
    };
  }

  /** The offset of a window that begins at a time, to the logarithm of how far windows go. */
  at(startMs: number): number {
    this.#offsets ??= this.#shrunkOffsets();
    return this.#offsets[this.#indexOf(startMs)]!; // one per cell
  }

  /** Adds the logarithm of how far a window went, minus the expected one. */
  add(startMs: number, log: number): void {
    const state = this.#state;
    const index = this.#indexOf(startMs);
    const cell = state.cells[index]!; // the index is below the number of cells
    cell.windows = Math.min(MEMORY_WINDOWS, cell.windows + 1);
    const off = Math.max(-LOG_DIFFERENCE_MAX, Math.min(LOG_DIFFERENCE_MAX, log)) - cell.mean;
    cell.mean += off / cell.windows;
    if (cell.windows > 1) {
      const known = cell.windows * state.cells.length;
      state.variance += (off * off - state.variance) / known;
    }
    if (index === 0) this.#offsets = undefined;
  }

  toJSON(): State {
    return this.#state;
  }

  #indexOf(startMs: number): number {
    return Math.floor(startMs % HOUR_MS / HOUR_MS * this.#state.cells.length);
  }

  #shrunkOffsets(): number[] {
    const { cells, variance } = this.#state;
    const meanOf = (values: readonly number[]) =>
      values.reduce((sum, value) => sum + value, 0) / values.length;
    if (cells.some(({ windows }) => windows < WINDOWS_MIN)) return cells.map(() => 0);
    const mean = meanOf(cells.map((cell) => cell.mean));
    const differences = meanOf(cells.map((cell) => (cell.mean - mean) ** 2));
    const byChance = variance * meanOf(cells.map(({ windows }) => 1 / windows));
    const share = differences > byChance ? 1 - byChance / differences : 0;
    return cells.map((cell) => share * (cell.mean - mean));
  }
}
