import { YEAR_MS } from "../../../lib/time.ts";
import { LIMITS } from "../shared/limits.ts";
import { type BoxToPrice, NoTouch, noTouchAtChecks, priceChecksOf } from "./box_probability.ts";
import type { VolatilityForecast } from "./volatility_forecast.ts";

/** The model's state of a market. */
export interface MarketModel {
  forecast: VolatilityForecast;
  /** Share of slots in which the price does not move. */
  stillShare: number;
  /** Volatility until a window that begins later, as a share of the forecast's; 1 by default. */
  startFactor?: number | undefined;
}

/** Probabilities that the user wins. */
export interface BoxPrice {
  /** Probability by the model, averaged over the uncertainty of volatility. */
  probability: number;
  /** Probability if the box survives its hold; never lower. The payout is made from it. */
  chargedProbability: number;
}

/** Payout ratios are rounded down to multiples of one over this. */
const RATIO_SCALE = 1e12;

/**
 * Prices a box that is not broken, for a spot inside its range.
 *
 * A box that {@link needsHold} is rechecked after `holdMs`, and refused if it broke meanwhile.
 * Executed bets have therefore survived that time and are worth more than the quoted box,
 * especially near a bound.
 */
export function priceBox(
  box: BoxToPrice,
  model: MarketModel,
  holdMs: number,
  margin: number,
): BoxPrice {
  const noTouch = createMixedNoTouch(box, model);
  const probability = noTouch(box.endMs);
  const valuePerBet = probability * payoutRatio(probability, margin);
  if (!needsHold(box, model, holdMs, valuePerBet)) {
    return { probability, chargedProbability: probability };
  }
  const holdEndMs = box.nowMs + holdMs;
  if (box.endMs <= holdEndMs) return { probability, chargedProbability: 1 };
  const survives = noTouch(holdEndMs);
  return { probability, chargedProbability: probability < survives ? probability / survives : 1 };
}

/** Highest mean gain per bet of users with a lead on a box that is executed at once. */
const LEAD_GAIN_MAX = 0.008;

/** The probability is sampled at this many deviations down, none, and this many up. */
const SAMPLED_DEVIATIONS = 2;

/** The gain is averaged over these moves. */
const LEAD_MOVES = Array.from({ length: 81 }, (_, index) => {
  const deviations = (index - 40) / 10;
  return { deviations, weight: Math.exp(-deviations * deviations / 2) };
});

/**
 * Whether a box must be held: whether seeing prices `holdMs` early is worth more than
 * {@link LEAD_GAIN_MAX} per bet. Such a user bets only if the box, after the lead, is worth more
 * than it costs. How much more depends on the distance to the bounds, in deviations of the price
 * over the lead: near a bound the probability rises and falls with the price, in the middle every
 * move lowers it, and far from both it stays.
 *
 * @param valuePerBet Present value of a bet of 1: probability times payout over bet.
 */
export function needsHold(
  box: BoxToPrice,
  model: MarketModel,
  holdMs: number,
  valuePerBet: number,
): boolean {
  if (holdMs <= 0) return false;
  const later = priceChecksOf({ ...box, nowMs: box.nowMs + holdMs });
  if (later === undefined) return true;
  const { forecast: { volatility }, stillShare, startFactor = 1 } = model;
  const waitMs = Math.min(holdMs, Math.max(0, box.startMs - box.nowMs));
  const variance = (waitMs * startFactor ** 2 + holdMs - waitMs) / YEAR_MS;
  const sampledMove = SAMPLED_DEVIATIONS * volatility * Math.sqrt(variance);
  const { toLower, toUpper } = later;
  if (toLower <= sampledMove || toUpper <= sampledMove) return true;
  const probabilityAfter = (move: number) => {
    const moved = { ...later, toLower: toLower + move, toUpper: toUpper - move };
    return noTouchAtChecks(moved, { volatility, stillShare, startFactor });
  };
  const [low, high] = [probabilityAfter(-sampledMove), probabilityAfter(sampledMove)];
  return meanGainOfBettors({ low, middle: probabilityAfter(0), high }, valuePerBet) > LEAD_GAIN_MAX;
}

/**
 * The mean gain per bet of those who bet only if the price has moved in their favour.
 *
 * After a move of d deviations the probability is close to p(d) = middle + slope d + bend d². Its
 * mean over d ~ N(0, 1) is middle + bend: the probability now, at which a bet of 1 has
 * `valuePerBet`.
 *
 * @param probabilities After moves of {@link SAMPLED_DEVIATIONS} down, none, and up.
 */
function meanGainOfBettors(
  { low, middle, high }: { low: number; middle: number; high: number },
  valuePerBet: number,
): number {
  const slope = (high - low) / (2 * SAMPLED_DEVIATIONS);
  const bend = (high + low - 2 * middle) / (2 * SAMPLED_DEVIATIONS ** 2);
  const valuePerProbability = valuePerBet / (middle + bend);
  let gains = 0;
  let bets = 0;
  for (const { deviations, weight } of LEAD_MOVES) {
    const probability = middle + (slope + bend * deviations) * deviations;
    const gain = valuePerProbability * probability - 1;
    if (gain <= 0) continue;
    gains += weight * gain;
    bets += weight;
  }
  return bets === 0 ? 0 : gains / bets;
}

/** Probability that a box is not broken until a time. For speed, ask for the end of the box first. */
function createMixedNoTouch(
  box: BoxToPrice,
  { forecast, stillShare, startFactor }: MarketModel,
): (endMs: number) => number {
  const checks = priceChecksOf(box);
  if (checks === undefined) return () => 1;
  const nodes = forecast.nodes.map(({ volatility, weight }) => ({
    weight,
    noTouch: new NoTouch(checks, { volatility, stillShare, startFactor }),
  }));
  return (endMs) => {
    const steps = priceChecksOf({ ...box, endMs })?.steps;
    if (steps === undefined) return 1;
    return Math.min(
      1,
      nodes.reduce((sum, { weight, noTouch }) => sum + weight * noTouch.after(steps), 0),
    );
  };
}

/** Payout over bet, without a skew. */
function payoutRatio(probability: number, margin: number): number {
  return Math.min((1 - margin) / probability, Number(LIMITS.maxPayoutRatio));
}

/**
 * The payout at which the maker earns its margin on average, up to the limit.
 *
 * @param skew Share of the winnings that is withheld.
 * @returns Undefined if it would not be more than the bet.
 */
export function payoutFor(
  betAmount: bigint,
  probability: number,
  margin: number,
  skew = 0,
): bigint | undefined {
  const full = payoutRatio(probability, margin);
  const bounded = Math.min(full, 1 + (full - 1) * (1 - skew));
  const payout = betAmount * BigInt(Math.floor(bounded * RATIO_SCALE)) / BigInt(RATIO_SCALE);
  return payout > betAmount ? payout : undefined;
}
