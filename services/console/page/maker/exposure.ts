/** What open bets can cost, by price and time. */
import type { Thesis } from "@rangemaker/client";
import { isDecided } from "../data/live_breaches.ts";
import { toNumber } from "../format.ts";

/** Loss if the price is at a place of the grid and its bets are won, USDC. */
export interface ExposureGrid {
  /** Rows from the highest price to the lowest, columns from now on. */
  cells: readonly (readonly number[])[];
  low: number;
  high: number;
  fromMs: number;
  toMs: number;
}

/** Cells of the grid. */
export const [ROWS, COLUMNS] = [12, 24];

/** The sum over the open bets of one market whose box covers each cell; undefined without bets. */
export function exposureGrid(theses: readonly Thesis[], nowMs: number): ExposureGrid | undefined {
  const boxes = theses.filter((thesis) => !isDecided(thesis) && thesis.endTime > nowMs);
  if (boxes.length === 0) return undefined;
  const low = Math.min(...boxes.map(({ lowerPrice }) => toNumber(lowerPrice)));
  const high = Math.max(...boxes.map(({ upperPrice }) => toNumber(upperPrice)));
  const toMs = Math.max(...boxes.map(({ endTime }) => endTime));
  const cells = Array.from({ length: ROWS }, (_, row) => {
    const price = high - (row + 0.5) * (high - low) / ROWS;
    return Array.from({ length: COLUMNS }, (_, column) => {
      const time = nowMs + (column + 0.5) * (toMs - nowMs) / COLUMNS;
      return boxes.reduce((sum, box) => sum + (covers(box, price, time) ? lossOf(box) : 0), 0);
    });
  });
  return { cells, low, high, fromMs: nowMs, toMs };
}

function covers(
  { lowerPrice, upperPrice, startTime, endTime }: Thesis,
  price: number,
  time: number,
): boolean {
  const isInside = price >= toNumber(lowerPrice) && price <= toNumber(upperPrice);
  return isInside && time >= startTime && time < endTime;
}

const lossOf = ({ betAmount, payout }: Thesis) => toNumber(payout - betAmount);

/** Moves of the price that are tried, as shares of it. */
export const MOVES = [-0.01, -0.003, -0.001, 0, 0.001, 0.003, 0.01] as const;

/**
 * Profit and loss on the open bets of a market if the price moves and then stays: bets whose window has
 * begun or will begin are won by their users where the price is inside, and lost elsewhere.
 */
export function profitAfter(theses: readonly Thesis[], price: number, move: number): number {
  const moved = price * (1 + move);
  return theses.filter((thesis) => !isDecided(thesis)).reduce((sum, thesis) => {
    const isHeld = moved >= toNumber(thesis.lowerPrice) && moved <= toNumber(thesis.upperPrice);
    return sum + (isHeld ? -lossOf(thesis) : toNumber(thesis.betAmount));
  }, 0);
}
