/** What open bets can cost, by price and time. */
import { scaleSymlog } from "d3-scale";
import type { Thesis } from "@rangemaker/client";
import { isDecided } from "../data/live_breaches.ts";
import { toNumber } from "../format.ts";

/** Losses by price and time, USDC. */
export interface ExposureGrid {
  /** The largest loss at one price and time within each cell; rows from the highest price down. */
  cells: readonly (readonly number[])[];
  low: number;
  high: number;
  /** Where columns begin and the last one ends, Unix milliseconds: the next minute is the widest. */
  timesMs: readonly number[];
  worst: WorstPlace;
}

/** Prices and times at which most is lost: from the bounds of boxes, not from cells. */
export interface WorstPlace {
  loss: number;
  /** Both bounds are in it. */
  low: number;
  high: number;
  fromMs: number;
  toMs: number;
}

/** Cells of the grid. */
export const [ROWS, COLUMNS] = [12, 24];

/** The first half minute is about as wide as the next tenfold of it. */
const NEAR_MS = 30_000;

/** Times from now to percent of the width. */
export const timeScaleOf = (allMs: number) => scaleSymlog([0, allMs], [0, 100]).constant(NEAR_MS);

/** Times from now that may be named, in milliseconds. */
const TICKS_MS = [
  ...[0, 15_000, 60_000, 300_000, 900_000, 1_800_000],
  ...[1, 3, 6, 12, 24, 48, 96].map((hours) => hours * 3_600_000),
];

/** Percent of the width that a name needs. */
const NAME_WIDTH = 25;

/** Those that have room for their names, the longest ones first. */
export function timeTicksOf(allMs: number): number[] {
  const toX = timeScaleOf(allMs);
  const kept = [0];
  let right = 100 + NAME_WIDTH / 2;
  for (const ms of TICKS_MS.filter((ms) => ms > 0 && ms <= allMs).reverse()) {
    if (right - toX(ms) < NAME_WIDTH || toX(ms) < NAME_WIDTH) continue;
    kept.push(ms);
    right = toX(ms);
  }
  return kept;
}

/**
 * What the open bets of one market cost where the price is inside their boxes; undefined without bets.
 *
 * @param price Of now: of places that cost the same, one around it is the worst, or else the next.
 */
export function exposureGrid(
  theses: readonly Thesis[],
  nowMs: number,
  price = NaN,
): ExposureGrid | undefined {
  const boxes = theses.filter((thesis) => isUndecided(thesis, nowMs))
    .map(({ lowerPrice, upperPrice, startTime, endTime, ...money }) => ({
      // Losses are whole millionths of a USDC: sums of them leave no rest.
      ...{
        from: Math.max(startTime, nowMs),
        to: endTime,
        loss: Number(money.payout - money.betAmount),
      },
      ...{ lower: toNumber(lowerPrice), upper: toNumber(upperPrice) },
    }));
  const allMs = Math.max(...boxes.map(({ to }) => to)) - nowMs;
  if (!(allMs > 0)) return undefined;
  const low = Math.min(...boxes.map(({ lower }) => lower));
  const high = Math.max(...boxes.map(({ upper }) => upper));
  const timesMs = Array.from(
    { length: COLUMNS + 1 },
    (_, i) => nowMs + timeScaleOf(allMs).invert(100 * i / COLUMNS),
  );
  const bottoms = Array.from({ length: ROWS }, (_, row) => high - (row + 1) * (high - low) / ROWS);
  const cells = bottoms.map(() => Array.from({ length: COLUMNS }, () => 0));
  // A loss grows only where a box begins, so no other prices and times are looked at within a cell.
  const edges = [
    ...boxes.map((box) => ({ price: box.lower, order: 0, box, change: box.loss })),
    ...bottoms.map((price) => ({ price, order: 2, box: undefined, change: 0 })),
    ...boxes.map((box) => ({ price: box.upper, order: 1, box, change: -box.loss })),
  ].sort((a, b) => a.price - b.price || a.order - b.order);
  let most = 0;
  let worstPlaces: { time: number; price: number }[] = [];
  for (const time of new Set([...timesMs.slice(0, COLUMNS), ...boxes.map(({ from }) => from)])) {
    const column = timesMs.findLastIndex((timeMs) => timeMs <= time);
    let loss = 0;
    for (const { price, box, change } of edges) {
      if (box !== undefined && !(box.from <= time && time < box.to)) continue;
      loss += change;
      if (change > 0 && loss >= most) {
        worstPlaces = loss > most ? [{ time, price }] : [...worstPlaces, { time, price }];
        most = loss;
      }
      if (price >= high) continue;
      const cell = cells[bottoms.findIndex((bottom) => bottom <= price)] ?? cells.at(-1)!; // by rounding
      cell[column] = Math.max(cell[column] ?? 0, loss / 1e6);
    }
  }
  const worst = worstPlaces.map((place): WorstPlace => {
    const around = boxes.filter(({ from, to, lower, upper }) =>
      from <= place.time && place.time < to && lower <= place.price && place.price <= upper
    );
    return {
      loss: most / 1e6,
      low: Math.max(...around.map(({ lower }) => lower)),
      high: Math.min(...around.map(({ upper }) => upper)),
      fromMs: Math.max(...around.map(({ from }) => from)),
      toMs: Math.min(...around.map(({ to }) => to)),
    };
  }).sort((a, b) => Number(isIn(price, b)) - Number(isIn(price, a)) || a.fromMs - b.fromMs)[0]!;
  return { cells, low, high, timesMs, worst };
}

/** Whether a price is in it, whatever the time. */
export const isIn = (price: number, { low, high }: WorstPlace) => low <= price && price <= high;

/** Prices to come decide it. */
const isUndecided = (thesis: Thesis, nowMs: number) => !isDecided(thesis) && thesis.endTime > nowMs;

const lossOf = ({ betAmount, payout }: Pick<Thesis, "betAmount" | "payout">) =>
  toNumber(payout - betAmount);

/** Moves of the price that are tried, as shares of it. */
export const MOVES = [-0.03, -0.01, -0.003, -0.001, 0, 0.001, 0.003, 0.01, 0.03] as const;

/**
 * Profit and loss on the open bets of a market if the price moves and then stays: bets whose window has
 * begun or will begin are won by their users where the price is inside, and lost elsewhere.
 */
export function profitAfter(
  theses: readonly Thesis[],
  price: number,
  move: number,
  nowMs: number,
): number {
  const moved = price * (1 + move);
  return theses.filter((thesis) => isUndecided(thesis, nowMs)).reduce((sum, thesis) => {
    const isHeld = moved >= toNumber(thesis.lowerPrice) && moved <= toNumber(thesis.upperPrice);
    return sum + (isHeld ? -lossOf(thesis) : toNumber(thesis.betAmount));
  }, 0);
}

/** The next time at which bets end, and what is at risk in them until then. */
export interface NextEnd {
  endTime: number;
  atRisk: bigint;
}

/** Undefined if no bet can still end. */
export function nextEndOf(theses: readonly Thesis[], nowMs: number): NextEnd | undefined {
  const open = theses.filter((thesis) => isUndecided(thesis, nowMs));
  const endTime = Math.min(...open.map(({ endTime }) => endTime));
  const atRisk = open.filter((thesis) => thesis.endTime === endTime)
    .reduce((sum, { payout, betAmount }) => sum + payout - betAmount, 0n);
  return open.length === 0 ? undefined : { endTime, atRisk };
}

/** Bets that have ended: no price to come changes them, but their outcome is not known yet. */
export function endedOf(theses: readonly Thesis[], nowMs: number) {
  const ended = theses.filter((thesis) => !isDecided(thesis) && thesis.endTime <= nowMs);
  return {
    count: ended.length,
    loss: ended.reduce((sum, thesis) => sum + lossOf(thesis), 0),
    gain: ended.reduce((sum, { betAmount }) => sum + toNumber(betAmount), 0),
  };
}
