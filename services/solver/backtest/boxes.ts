import type { RandomSource } from "../../../lib/clock.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { type Charges, priceOf } from "../pricing/barrier_strategy.ts";
import { MockStrategy } from "../pricing/mock_strategy.ts";
import { VolatilityEstimator, type VolatilityOptions, YEAR_MS } from "../pricing/volatility.ts";
import type { SlotPrices } from "./slot_prices.ts";

/** Boxes of one backtest at most: a minute's work, and what memory holds easily. */
const BOXES_MAX = 2_000_000;

/** The bet on each box: 1 USDC. */
const BET = 1_000_000n;

/** Which boxes are tried, and how they are priced. */
export interface BoxPlan {
  /** Time from one row of boxes to the next, in milliseconds. */
  stepMs: number;
  durationsMs: readonly number[];
  /** Half widths of the boxes, in deviations of the move that is expected over the duration. */
  widths: readonly number[];
  charges: Charges;
  estimate: VolatilityOptions;
  /** A year, where it is known and need not be estimated. */
  volatility?: number | undefined;
  /** Told how much of the time that the prices span has been gone through, in milliseconds. */
  onProgress?: (doneMs: number, totalMs: number) => void;
}

/** A box that was tried, and what came of a bet of 1 on it. */
export interface TriedBox {
  startMs: number;
  /** By the model, that it holds. */
  probability: number;
  held: boolean;
  /** Payout over bet, by strategy. */
  mockRatio: number;
  barrierRatio: number;
}

/** The plan asks for more than one run can do. */
export class BacktestError extends RangemakerError {
  constructor(message: string) {
    super("BACKTEST", message);
  }
}

/**
 * Slides boxes around the price of each moment over the prices. A box begins at once, so all that is
 * known of it is what had happened by then.
 *
 * @throws {BacktestError} If there are more than {@link BOXES_MAX} boxes, or none.
 */
export function slideBoxes(prices: SlotPrices, plan: BoxPlan, random: RandomSource): TriedBox[] {
  const { ring, fromMs, toMs } = prices;
  const { stepMs, durationsMs, widths, estimate } = plan;
  const most = Math.ceil((toMs - fromMs) / stepMs) * durationsMs.length * widths.length;
  if (most > BOXES_MAX) {
    throw new BacktestError(
      `Plan has ${most} boxes: expected at most ${BOXES_MAX}; raise the step`,
    );
  }
  const estimator = new VolatilityEstimator(estimate);
  const mock = new MockStrategy(random);
  const boxes: TriedBox[] = [];
  for (let nowMs = fromMs; nowMs < toMs; nowMs += SLOT_MS) {
    const spot = ring.at(nowMs);
    if (spot === undefined) continue;
    estimator.add(nowMs, spot);
    const volatility = plan.volatility ?? estimator.volatility;
    if ((nowMs - fromMs) % stepMs !== 0 || volatility === undefined) continue;
    plan.onProgress?.(nowMs - fromMs, toMs - fromMs);
    for (const durationMs of durationsMs) {
      if (nowMs + durationMs > toMs) continue;
      for (const width of widths) {
        boxes.push(
          tryBox(prices, plan.charges, mock, { nowMs, spot, volatility, durationMs, width }),
        );
      }
    }
  }
  if (boxes.length > 0) return boxes;
  throw new BacktestError(
    `No box fits into ${toMs - fromMs} ms of prices after the history that volatility needs`,
  );
}

interface Trial {
  nowMs: number;
  spot: bigint;
  volatility: number;
  durationMs: number;
  width: number;
}

function tryBox(
  { ring }: SlotPrices,
  charges: Charges,
  mock: MockStrategy,
  { nowMs, spot, volatility, durationMs, width }: Trial,
): TriedBox {
  const move = Number(spot) * volatility * Math.sqrt(durationMs / YEAR_MS);
  const reach = BigInt(Math.max(1, Math.round(width * move)));
  const lowerPrice = spot > reach ? spot - reach : 0n;
  const upperPrice = spot + reach;
  const endTime = nowMs + durationMs;
  const bet = { betAmount: BET, lowerPrice, upperPrice, startTime: nowMs, endTime };
  const { payout, probability } = priceOf(bet, spot, volatility, nowMs, charges);
  const { outside } = ring.checkRange(nowMs, endTime, { lower: lowerPrice, upper: upperPrice });
  return {
    startMs: nowMs,
    probability,
    held: outside === undefined,
    mockRatio: Number(mock.price(bet).payout) / Number(BET),
    barrierRatio: Number(payout) / Number(BET),
  };
}
