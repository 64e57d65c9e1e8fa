import type { Box, Checks } from "./box_probability.ts";
import { checksOf } from "./box_probability.ts";
import { YEAR_MS } from "./units.ts";

/**
 * Assumed move of the price, in deviations, in favour of a user who sees it first. Measured with users
 * one to five minutes ahead: at 0.8 the maker loses at some horizons, at 1.25 less than 1 % of the
 * quotes are worth taking.
 */
const LEAD_DEVIATIONS = 1.25;

/**
 * The box as seen by a user who knows the price `leadMs` earlier: that part of the window has already
 * survived, and the price moved towards the centre, at most to it. The increase of the probability is
 * larger for a longer lead and for a shorter box.
 *
 * @returns Undefined if such a user sees the whole window.
 */
export function checksWithLead(box: Box, volatility: number, leadMs: number): Checks | undefined {
  const checks = checksOf({ ...box, nowMs: box.nowMs + leadMs });
  if (checks === undefined) return undefined;
  const toCentre = (checks.toUpper - checks.toLower) / 2;
  const reach = LEAD_DEVIATIONS * volatility * Math.sqrt(leadMs / YEAR_MS);
  const move = Math.sign(toCentre) * Math.min(Math.abs(toCentre), reach);
  return { ...checks, toLower: checks.toLower + move, toUpper: checks.toUpper - move };
}
