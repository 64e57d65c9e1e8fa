/**
 * The uncertainty of a volatility forecast: the logarithm of the volatility is normal, and prices are
 * averaged over it with three nodes (Gauss and Hermite). A single bet sees one volatility, so averaging
 * prices is consistent (Piterbarg, "Mixture of models: a simple recipe for a … hangover?", 2003).
 */

/** A forecast of volatility. */
export interface SigmaForecast {
  /** Annualised; the median. */
  volatility: number;
  /** Standard deviation of its logarithm. */
  spread: number;
}

/** One volatility of the mixture, with its probability. */
export interface SigmaNode {
  volatility: number;
  weight: number;
}

export const OUTER_WEIGHT = 1 / 6;
export const CENTRE_WEIGHT = 2 / 3;

/** Forecast errors grow with the horizon: measured on BTC as 0.35 at 5 minutes, 0.05 more per factor e. */
const SPREAD_AT_5_MINUTES = 0.35;
const SPREAD_GROWTH = 0.05;
const SPREAD_MIN = 0.25;
const SPREAD_MAX = 0.75;

/** At this deviation, the outer node is already five times the median. */
const SPREAD_LIMIT = 1;

/** Additional deviation if the history is shorter than the horizon, per factor e. */
const SPREAD_PER_MISSING_HISTORY = 0.1;

/** Deviation of the logarithm of the volatility, for a horizon and the time that prices cover. */
export function spreadOver(horizonMs: number, historyMs: number): number {
  const usual = SPREAD_AT_5_MINUTES + SPREAD_GROWTH * Math.log(horizonMs / 300_000);
  const missing = SPREAD_PER_MISSING_HISTORY * Math.max(0, Math.log(horizonMs / historyMs));
  return Math.min(SPREAD_LIMIT, Math.min(SPREAD_MAX, Math.max(SPREAD_MIN, usual)) + missing);
}

/** The volatilities of a forecast; their weights add up to 1. */
export function sigmaNodes({ volatility, spread }: SigmaForecast): readonly SigmaNode[] {
  if (spread === 0) return [{ volatility, weight: 1 }];
  const factor = Math.exp(Math.sqrt(3) * spread);
  return [
    { volatility: volatility / factor, weight: OUTER_WEIGHT },
    { volatility, weight: CENTRE_WEIGHT },
    { volatility: volatility * factor, weight: OUTER_WEIGHT },
  ];
}
