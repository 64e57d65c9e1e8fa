/** Possible losses on open bets: by price, time and user, and within the limit. */
import { scaleSymlog } from "d3-scale";
import { formatUnits, type Thesis } from "@rangemaker/client";
import { PROBLEMS } from "../../../../lib/problems/mod.ts";
import { isDecided } from "../data/live_breaches.ts";
import { formatAmount, formatShare, toNumber } from "../format.ts";
import { labelOf } from "../trade/chart_spans.ts";

/** Losses by price and time, USDC. */
export interface ExposureGrid {
  /** The largest loss at one price and time within each cell; rows from the highest price down. */
  cells: readonly (readonly number[])[];
  low: number;
  high: number;
  /** Starts of the columns and end of the last, Unix milliseconds. Near times have more space. */
  timesMs: readonly number[];
  /** The largest loss of all, and where it is first: exactly, not by cells. */
  worst: Place;
}

/** A loss in USDC, the prices between which it is the same, and from when. */
interface Place {
  loss: number;
  low: number;
  high: number;
  fromMs: number;
}

/** Cells of the grid. */
export const [ROWS, COLUMNS] = [12, 24];

/** The first half minute is about as wide as the time from there to ten times as long. */
const NEAR_MS = 30_000;

/** Colours of losses. The last is for the largest loss on the map, each earlier one for half. */
export const STEPS = [1, 2, 3, 4, 5] as const;

/** The largest loss with a colour. */
export const boundOf = (step: number, most: number) => most / 2 ** (STEPS.length - step);

/** The colour of a loss. */
export const stepOf = (loss: number, most: number) =>
  STEPS.find((step) => loss <= boundOf(step, most)) ?? STEPS.length;

/** Scale from the time after now to percent of the width. */
const timeScaleOf = (allMs: number) => scaleSymlog([0, allMs], [0, 100]).constant(NEAR_MS);

/** Times with a label, in seconds from now. */
const TICKS_S = [5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400];

/** Width of a label and the space beside it, in percent of the narrowest drawing. */
const TICK_WIDTH = 24;

/** Round times of a grid, and their positions in percent of its width. */
export function timeTicksOf({ timesMs }: ExposureGrid): { afterMs: number; at: number }[] {
  const scale = timeScaleOf(timesMs[COLUMNS]! - timesMs[0]!); // from its start to its end
  const ticks: { afterMs: number; at: number }[] = [];
  for (const afterMs of TICKS_S.map((seconds) => 1_000 * seconds)) {
    const at = scale(afterMs);
    if (at - (ticks.at(-1)?.at ?? 0) >= TICK_WIDTH && at <= 95) ticks.push({ afterMs, at });
  }
  return ticks;
}

/** The loss on the open bets of one market at each price and time; undefined without bets. */
export function exposureGrid(theses: readonly Thesis[], nowMs: number): ExposureGrid | undefined {
  const boxes = theses.filter((thesis) => isUndecided(thesis, nowMs))
    .map(({ lowerPrice, upperPrice, startTime, endTime, ...money }) => ({
      // Losses are whole millionths of a USDC, so their sums are exact.
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
  // A loss grows only where a box begins, so only these prices and times are checked within a cell.
  const edges = [
    ...boxes.map((box) => ({ price: box.lower, order: 0, box, change: box.loss })),
    ...bottoms.map((price) => ({ price, order: 2, box: undefined, change: 0 })),
    ...boxes.map((box) => ({ price: box.upper, order: 1, box, change: -box.loss })),
  ].sort((a, b) => a.price - b.price || a.order - b.order);
  let worst: Place = { loss: 0, low, high, fromMs: Infinity };
  for (const time of new Set([...timesMs.slice(0, COLUMNS), ...boxes.map(({ from }) => from)])) {
    const column = timesMs.findLastIndex((timeMs) => timeMs <= time);
    const now = edges.filter(({ box }) => !box || (box.from <= time && time < box.to));
    let loss = 0;
    for (const [index, { price, box, change }] of now.entries()) {
      loss += change;
      if (price >= high) continue;
      const isWorst = loss / 1e6 > worst.loss ||
        (loss / 1e6 === worst.loss && time < worst.fromMs && box !== undefined);
      if (isWorst && loss > 0) {
        const end = now.slice(index + 1).find((next) => next.change < 0);
        worst = { loss: loss / 1e6, low: price, high: end?.price ?? high, fromMs: time };
      }
      // Rounding may put a price below the last row.
      const cell = cells[bottoms.findIndex((bottom) => bottom <= price)] ?? cells.at(-1)!;
      cell[column] = Math.max(cell[column] ?? 0, loss / 1e6);
    }
  }
  return { cells, low, high, timesMs, worst };
}

/** The prices of a cell and of those around it with the same largest loss. */
export function placeOf(
  { cells, low, high, timesMs }: ExposureGrid,
  [row, column]: readonly [row: number, column: number],
): Place {
  const loss = cells[row]?.[column] ?? 0;
  const isSame = (row: number) => cells[row]?.[column] === loss;
  let [top, bottom] = [row, row];
  while (isSame(top - 1)) top--;
  while (isSame(bottom + 1)) bottom++;
  const priceAt = (edge: number) => high - edge * (high - low) / ROWS;
  return { loss, low: priceAt(bottom + 1), high: priceAt(top), fromMs: timesMs[column] ?? 0 };
}

/** Whether future prices decide a bet. */
const isUndecided = (thesis: Thesis, nowMs: number) => !isDecided(thesis) && thesis.endTime > nowMs;

/** Bets are usually settled this soon after their end. */
const SETTLE_MS = 3_000;

/** That bets which have ended without an outcome are not on the map, and their sum at risk. */
export function waitingText(theses: readonly Thesis[], nowMs: number): string | undefined {
  const waiting = theses.filter((one) => !isDecided(one) && one.endTime <= nowMs - SETTLE_MS);
  if (waiting.length === 0) return undefined;
  const bets = waiting.length === 1 ? "1 bet that waits" : `${waiting.length} bets that wait`;
  return `Not on the map: ${bets} for missing prices, ${formatAmount(riskOf(waiting))} at risk.`;
}

/** Moves of the price that are evaluated, as shares of the price. */
export const MOVES = [-0.01, -0.005, -0.002, -0.001, 0, 0.001, 0.002, 0.005, 0.01] as const;

/**
 * Profit and loss on the open bets of a market if the price moves once and then stays. Users win
 * the bets whose boxes contain that price, and lose all others, including bets whose window begins
 * later.
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
    return sum + toNumber(isHeld ? thesis.betAmount - thesis.payout : thesis.betAmount);
  }, 0);
}

/** Spans in which bets end, from now on. */
const RELEASE_SPANS_MS = [60_000, 300_000, 3_600_000];

/** An amount at risk that is free within a time; of an end, also how far away it is. */
export interface Release {
  label: string;
  atRisk: bigint;
  inMs?: number;
}

/**
 * When the amount at risk in open bets is free: at the next end, within some spans, and all of it.
 * Always the same steps, so that none moves.
 */
export function releasesOf(theses: readonly Thesis[], nowMs: number): Release[] {
  const open = theses.filter((thesis) => isUndecided(thesis, nowMs));
  const ends = open.map(({ endTime }) => endTime);
  const [firstMs, lastMs] = [Math.min(...ends), Math.max(...ends)];
  const until = (timeMs: number) => riskOf(open.filter(({ endTime }) => endTime <= timeMs));
  const endOf = (label: string, timeMs: number): Release => ({
    ...{ label, atRisk: until(timeMs), inMs: timeMs - nowMs },
  });
  return [
    endOf("Next end", firstMs),
    ...RELEASE_SPANS_MS.map((ms) => ({
      ...{ label: `Within ${labelOf(ms)}`, atRisk: until(nowMs + ms) },
    })),
    endOf("Last end", lastMs),
  ];
}

/** The user whose open bets may cause the largest loss; undefined without open bets. */
export function riskiestUserOf(theses: readonly Thesis[]) {
  const open = Object.groupBy(theses.filter((thesis) => !isDecided(thesis)), ({ user }) => user);
  const users = Object.entries(open).map(([user, own = []]) => ({
    ...{ user, bets: own.length, atRisk: riskOf(own) },
  }));
  return users.sort((a, b) => Number(b.atRisk - a.atRisk))[0];
}

const riskOf = (theses: readonly Thesis[]) =>
  theses.reduce((sum, { payout, betAmount }) => sum + payout - betAmount, 0n);

/** The shares of the limit at which the alerts for operators fire. */
const [NEARLY_FULL = 1, FULL = 1] = ["SolverExposureHigh", "SolverExposureFull"].flatMap((name) =>
  PROBLEMS.find((one) => one.name === name)?.bound.limit ?? []
);

/** The known facts about the limit, USDC with 6 decimals. */
interface Limit {
  maxExposure: bigint | null;
  info: { config: { minBetAmount: bigint } };
}

/** How much more may be risked, as text with a style, and the used share of the limit. */
export function headroomOf(
  atRisk: bigint,
  solver: Limit | undefined,
): { style: string; text: string; used?: number } {
  if (solver === undefined) {
    return { style: "note", text: "How much is free is known once solver and chain answer." };
  }
  const { maxExposure: max, info: { config } } = solver;
  if (max === null) return { style: "note", text: "No limit is set (`--max-exposure`)." };
  if (max < config.minBetAmount) {
    const text = `▲ The limit is ${formatUnits(max)} USDC: hardly a bet fits. ` +
      "`--max-exposure` counts 6 decimals: 5000000000 is 5,000 USDC.";
    return { style: "warning", text };
  }
  const free = formatAmount(atRisk < max ? max - atRisk : 0n);
  const used = Number(atRisk) / Number(max);
  const [style, state] = used > FULL
    ? ["lost", "✕ Full"]
    : used > NEARLY_FULL
    ? ["warning", "▲ Nearly full"]
    : ["won", "✓ Fine"];
  const what = style === "won"
    ? `${free} USDC is free`
    : `bets that would add more than ${free} USDC to it are refused`;
  const share = `${formatShare(used)} of the limit of ${formatAmount(max)} is used`;
  return { style, used, text: `${state}: ${what}. ${share}.` };
}
