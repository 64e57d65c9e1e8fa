import { z } from "zod";
import { HOUR_MS } from "../../../lib/time.ts";

/** Windows of one minute of the hour after which older ones lose weight: those of two months. */
const MEMORY_WINDOWS = 1_440;

/** Fewer windows of one minute of the hour say too little about how much they differ by chance. */
const WINDOWS_MIN = 24;

/** One window counts as at most this far from what was expected of it. */
const LOG_MAX = 3;

/** State of a {@link StartSeason}. */
export const startSeasonSchema = z.object({
  /** By start within the hour. */
  cells: z.array(
    z.object({
      mean: z.number().min(-LOG_MAX).max(LOG_MAX),
      windows: z.number().min(0).max(MEMORY_WINDOWS),
    }),
  ),
  /** Of a window, about the mean of its cell. */
  variance: z.number().nonnegative(),
});

type State = z.output<typeof startSeasonSchema>;

/**
 * Windows that start in some minutes of the hour move further: the logarithm of the factor per minute,
 * shrunk towards 0 (James and Stein, "Estimation with quadratic loss", 1961). Prices that go on in one
 * direction, as after a full hour, go further than the sizes of single minutes say.
 *
 * The shrinkage follows from the data: it keeps the share of the variance that chance does not explain.
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

  /** What a window that begins now adds to the logarithm of how far others go. */
  at(startMs: number): number {
    this.#offsets ??= this.#shrunk();
    return this.#offsets[this.#indexOf(startMs)]!; // one per cell
  }

  /** Adds the logarithm of how far a window went, less what was expected of it. */
  add(startMs: number, log: number): void {
    const state = this.#state;
    const index = this.#indexOf(startMs);
    const cell = state.cells[index]!; // the index is below the number of cells
    cell.windows = Math.min(MEMORY_WINDOWS, cell.windows + 1);
    const off = Math.max(-LOG_MAX, Math.min(LOG_MAX, log)) - cell.mean;
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

  #shrunk(): number[] {
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
