/** Possible losses on open bets: by price, time and user, and within the limit. */
import { formatUnits, type Thesis } from "@rangemaker/client";
import { worstCaseLoss } from "../../../../lib/prices/worst_case_loss.ts";
import { PROBLEMS } from "../../../../lib/problems/mod.ts";
import { isDecided } from "../data/live_breaches.ts";
import { counted, formatAmount, formatShare, formatTime, toNumber } from "../format.ts";
import { labelOf } from "../trade/chart_spans.ts";

/** Losses by price and time, USDC. */
export interface ExposureGrid {
  /** The largest loss at one price and time within each cell; rows from the highest price down. */
  cells: readonly (readonly number[])[];
  low: number;
  high: number;
  /** Starts of the columns and end of the last, Unix milliseconds: when bets start or end. */
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

/** Rows of the grid. */
export const ROWS = 12;

/** Columns of the grid, at most. */
const COLUMNS_MAX = 24;

/** Labels below the grid, besides that of now. */
const LABELS = 4;

/** Times of a grid with a label, and their positions in percent of its width. */
export function timeTicksOf({ timesMs }: ExposureGrid): { afterMs: number; at: number }[] {
  const columns = timesMs.length - 1;
  const indices = Array.from({ length: LABELS }, (_, i) => Math.round(columns * (i + 1) / LABELS));
  return [...new Set(indices)].filter((index) => index > 0)
    .map((index) => ({ afterMs: timesMs[index]! - timesMs[0]!, at: 100 * index / columns }));
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
  if (boxes.length === 0) return undefined;
  const low = Math.min(...boxes.map(({ lower }) => lower));
  const high = Math.max(...boxes.map(({ upper }) => upper));
  const changesMs = [...new Set([nowMs, ...boxes.flatMap(({ from, to }) => [from, to])])]
    .sort((a, b) => a - b);
  const columns = Math.min(COLUMNS_MAX, changesMs.length - 1);
  const timesMs = Array.from(
    { length: columns + 1 },
    (_, i) => changesMs[Math.round(i * (changesMs.length - 1) / columns)]!,
  );
  const bottoms = Array.from({ length: ROWS }, (_, row) => high - (row + 1) * (high - low) / ROWS);
  const cells = bottoms.map(() => Array.from({ length: columns }, () => 0));
  // A loss grows only where a box begins, so only these prices and times are checked within a cell.
  const edges = [
    ...boxes.map((box) => ({ price: box.lower, order: 0, box, change: box.loss })),
    ...bottoms.map((price) => ({ price, order: 2, box: undefined, change: 0 })),
    ...boxes.map((box) => ({ price: box.upper, order: 1, box, change: -box.loss })),
  ].sort((a, b) => a.price - b.price || a.order - b.order);
  let worst: Place = { loss: 0, low, high, fromMs: Infinity };
  for (const time of new Set([...timesMs.slice(0, columns), ...boxes.map(({ from }) => from)])) {
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

/** The prices and time of a cell, and its loss. */
export function placeOf(
  { cells, low, high, timesMs }: ExposureGrid,
  [row, column]: readonly [row: number, column: number],
): Place {
  const priceAt = (edge: number) => high - edge * (high - low) / ROWS;
  const loss = cells[row]?.[column] ?? 0;
  return { loss, low: priceAt(row + 1), high: priceAt(row), fromMs: timesMs[column] ?? 0 };
}

/** Whether future prices decide a bet. */
const isUndecided = (thesis: Thesis, nowMs: number) => !isDecided(thesis) && thesis.endTime > nowMs;

/** Bets are usually settled this soon after their end. */
export const SETTLE_MS = 3_000;

/** The open bets whose window is over: they wait for missing prices. */
export const lateBets = (theses: readonly Thesis[], nowMs: number) =>
  openOf(theses).filter(({ status, endTime }) =>
    status === "needs_backfill" || endTime <= nowMs - SETTLE_MS
  );

/** The open bets that wait for missing prices, in the middle of their window (`gaps`) or after it. */
export function waitingBets(
  theses: readonly Thesis[],
  gaps: ReadonlySet<number>,
  nowMs: number,
): ReadonlySet<Thesis> {
  return new Set([...openOf(theses).filter(({ id }) => gaps.has(id)), ...lateBets(theses, nowMs)]);
}

/** How many bets wait, what they may cost, and what becomes of them. */
export function waitingText(waiting: ReadonlySet<Thesis>): string {
  const one = waiting.size === 1;
  return `▲ ${counted(waiting.size, "bet")} ${one ? "waits" : "wait"} for missing prices, ${
    formatAmount(worstLossOf([...waiting]))
  } at risk: until a backfill, ${
    one ? "it stays" : "they stay"
  } at risk unless the price leaves the ` +
    "box. Those that have ended are not on the map; “if prices stay” counts them as won by users.";
}

/**
 * Profit and loss on the open bets if all prices stay: users win the bets whose boxes contain them and
 * those that have ended, and lose all others, including bets whose window begins later. Undefined if a
 * price is unknown.
 */
export function profitIfStill(
  theses: readonly Thesis[],
  priceOf: (thesis: Thesis) => number | undefined,
  nowMs: number,
): bigint | undefined {
  let profit = 0n;
  for (const thesis of openOf(theses)) {
    const { lowerPrice, upperPrice, betAmount, payout, endTime } = thesis;
    const price = endTime <= nowMs ? toNumber(lowerPrice) : priceOf(thesis);
    if (price === undefined) return undefined;
    const isWon = toNumber(lowerPrice) <= price && price <= toNumber(upperPrice);
    profit += betAmount - (isWon ? payout : 0n);
  }
  return profit;
}

/** How long a bet lasts, with a detail; of a bet that has not begun, both times. */
export function timeTexts(
  { startTime, endTime }: Thesis,
  isWaiting: boolean,
  nowMs: number,
): [text: string, detail: string] {
  const [start, end] = [startTime, endTime].map(formatTime);
  const detail = `${nowMs < endTime ? "ends" : "ended"} ${end}`;
  if (isWaiting) return ["waits for missing prices", detail];
  const [from, to] = [labelOf(startTime - nowMs), labelOf(endTime - nowMs)];
  const [number, unit = ""] = from.split(" ");
  if (nowMs < startTime) {
    return [`in ${to.endsWith(unit) ? number : from}–${to}`, `${start} – ${end}`];
  }
  return [nowMs < endTime ? to : "being settled", detail];
}

/** Spans after which the rest of the risk is shown. */
const SPANS_MS = [60_000, 300_000, 3_600_000];

interface RiskNow {
  /** The most that can be lost, with bets that are being placed. */
  all: bigint;
  /** At risk in bets that are being placed, whose ends are unknown. */
  placing: bigint;
  waiting: ReadonlySet<Thesis>;
  nowMs: number;
}

/**
 * The most that can still be lost after some spans, if no bet is added: on the bets that end later,
 * and on those that wait for prices.
 */
export function restsOf(
  theses: readonly Thesis[],
  { all, placing, waiting, nowMs }: RiskNow,
) {
  let rest = all;
  return SPANS_MS.map((spanMs) => {
    const stays = (bet: Thesis) => bet.endTime > nowMs + spanMs || waiting.has(bet);
    const loss = placing + worstLossOf(theses.filter(stays));
    // The bound on fewer bets may be less exact.
    if (loss < rest) rest = loss;
    return { label: `Still at risk in ${labelOf(spanMs)}`, rest };
  });
}

/** The user whose open bets may cause the largest loss; undefined without open bets. */
export function riskiestUserOf(theses: readonly Thesis[]) {
  const users = [...Map.groupBy(openOf(theses), ({ user }) => user)].map(([user, own]) => ({
    ...{ user, bets: own.length, atRisk: worstLossOf(own) },
  }));
  return users.sort((a, b) => Number(b.atRisk - a.atRisk))[0];
}

/** The most that the open bets can lose, over all price paths. */
export const worstLossOf = (theses: readonly Thesis[]) => worstCaseLoss(openOf(theses));

/** Those that are not decided. */
export const openOf = (theses: readonly Thesis[]) => theses.filter((thesis) => !isDecided(thesis));

/** The shares of the limit at which the alerts for operators fire. */
const [NEARLY_FULL = 1, FULL = 1] = ["SolverExposureHigh", "SolverExposureFull"].flatMap((name) =>
  PROBLEMS.find((one) => one.name === name)?.bound.limit ?? []
);

/** The known facts about the limit, USDC with 6 decimals. */
interface Limit {
  maxExposure: bigint | null;
  info: { config: { minBetAmount: bigint } };
}

/**
 * How much more may be risked, as text with a style, and the used share of the limit.
 *
 * @param isWaiting Whether bets wait for missing prices, which is not fine.
 */
export function headroomOf(
  atRisk: bigint,
  { maxExposure: max, info: { config } }: Limit,
  isWaiting = false,
): { style: string; text: string; used?: number } {
  if (max === null) return { style: "note", text: "No limit is set (`--max-exposure`)." };
  if (max < config.minBetAmount) {
    const text = `▲ The limit is ${formatUnits(max)} USDC: hardly a bet fits. ` +
      "`--max-exposure` counts 6 decimals: 5000000000 is 5,000 USDC.";
    return { style: "warning", text };
  }
  const free = formatAmount(max - atRisk);
  const used = Number(atRisk) / Number(max);
  const refused = `bets that would add more than ${free} USDC to it are refused`;
  const [style, state] = used > 1
    ? [
      "lost",
      `✕ Over the limit by ${
        formatAmount(atRisk - max)
      } USDC: every bet that adds to it is refused`,
    ]
    : used > FULL
    ? ["lost", `✕ Full: ${refused}`]
    : used > NEARLY_FULL
    ? ["warning", `▲ Nearly full: ${refused}`]
    : isWaiting
    ? ["warning", `▲ ${free} USDC is free, but bets wait for prices`]
    : ["won", `✓ Fine: ${free} USDC is free`];
  // 99.6 % is not all.
  const share = `${formatShare(used < 1 ? Math.min(used, 0.99) : used)} of the limit of ${
    formatAmount(max)
  } is used`;
  return { style, used, text: `${state}. ${share}.` };
}
