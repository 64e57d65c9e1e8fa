import { SLOT_MS, slotFrom } from "../../../lib/prices/price_slots.ts";
import { discreteShift, stayProbability } from "./double_no_touch.ts";
import { forwardStayProbability } from "./forward_start.ts";
import { YEAR_MS } from "./volatility.ts";

/** A box thesis as it looks from one moment, nothing of it broken so far. */
export interface BoxView {
  /** Price of now; prices may have any unit as long as all have the same. */
  spot: bigint;
  lower: bigint;
  upper: bigint;
  nowMs: number;
  startMs: number;
  endMs: number;
  /** A year. */
  volatility: number;
}

/**
 * Probability that the price lies inside the box in every 100 ms slot of `[startMs, endMs)` that is
 * still to come (protocol, "Settlement of a box thesis"), if it moves without a trend.
 */
export function boxProbability(box: BoxView): number {
  const { spot, lower, upper, nowMs, startMs, endMs, volatility } = box;
  const varianceOf = (ms: number) => volatility * volatility * Math.max(0, ms) / YEAR_MS;
  const firstMs = slotFrom(startMs) * SLOT_MS;
  const lastMs = (slotFrom(endMs) - 1) * SLOT_MS;
  const startVariance = varianceOf(firstMs - nowMs);
  const variance = varianceOf(lastMs - Math.max(firstMs, nowMs));
  const watchShift = discreteShift(varianceOf(SLOT_MS));
  const toLower = Math.log(Number(spot) / Number(lower));
  const toUpper = Math.log(Number(upper) / Number(spot));
  // A price without a trend has a logarithm that sinks by half the variance.
  const drift = -variance / 2;
  if (startVariance > 0) {
    const startDrift = -startVariance / 2;
    return forwardStayProbability({
      toLower,
      toUpper,
      variance,
      drift,
      startVariance,
      startDrift,
      watchShift,
    });
  }
  if (toLower < 0 || toUpper < 0) return 0;
  return stayProbability({
    toLower: toLower + watchShift,
    toUpper: toUpper + watchShift,
    variance,
    drift,
  });
}
