/**
 * Sums by blocks of time. Boxes of one block overlap and share its market, so standard errors are
 * calculated across blocks. Boxes may reach into the next block and volatility lasts, so blocks may
 * be correlated (Newey and West, 1987, three lags).
 */

/** A mean, with its standard error across blocks. */
export interface BlockMean {
  mean: number;
  /** Standard error; NaN for fewer than three blocks. */
  error: number;
  count: number;
}

/** Lags, in blocks, whose correlation counts. */
const LAGS = 3;

/** Fewer blocks are too few to estimate their spread. */
const BLOCKS_MIN = 3;

interface Block {
  count: number;
  sum: number;
}

/** Values summed by blocks of time. */
export class BlockSeries {
  readonly #blockMs: number;
  /** By number of the block. */
  readonly #blocks = new Map<number, Block>();

  constructor(blockMs: number) {
    this.#blockMs = blockMs;
  }

  add(timeMs: number, value: number): void {
    this.#add(Math.floor(timeMs / this.#blockMs), { count: 1, sum: value });
  }

  /** Adds the values of another series with blocks of the same length. */
  addAll(other: BlockSeries): void {
    for (const [index, block] of other.#blocks) this.#add(index, block);
  }

  mean(): BlockMean {
    return meanOfBlocks(this.#blocks);
  }

  /** Mean of this series minus that of another one whose values have the same times. */
  meanLess(other: BlockSeries): BlockMean {
    const less = [...this.#blocks].map(([index, { count, sum }]) =>
      [index, { count, sum: sum - (other.#blocks.get(index)?.sum ?? 0) }] as const
    );
    return meanOfBlocks(new Map(less));
  }

  #add(index: number, { count, sum }: Block): void {
    const block = this.#blocks.getOrInsertComputed(index, () => ({ count: 0, sum: 0 }));
    block.count += count;
    block.sum += sum;
  }
}

function meanOfBlocks(blocks: ReadonlyMap<number, Block>): BlockMean {
  let [count, total] = [0, 0];
  for (const block of blocks.values()) {
    count += block.count;
    total += block.sum;
  }
  const mean = total / count;
  const length = blocks.size;
  if (length < BLOCKS_MIN) return { mean, error: Number.NaN, count };
  const residualOf = (index: number) => {
    const block = blocks.get(index);
    return block === undefined ? 0 : block.sum - mean * block.count;
  };
  let variance = 0;
  for (let lag = 0; lag <= Math.min(LAGS, length - 2); lag++) {
    // Weights of Bartlett; every lag counts in both directions.
    const weight = lag === 0 ? 1 : 2 * (1 - lag / (LAGS + 1));
    for (const index of blocks.keys()) {
      variance += weight * residualOf(index) * residualOf(index - lag);
    }
  }
  const error = Math.sqrt(Math.max(0, variance) * length / (length - 1)) / count;
  return { mean, error, count };
}
