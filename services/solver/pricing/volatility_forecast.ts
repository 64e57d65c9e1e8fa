import { CENTRE_WEIGHT, OUTER_DEVIATIONS, OUTER_WEIGHT } from "./quadrature.ts";

/** A forecast of volatility. Prices are averaged over its nodes. */
export interface VolatilityForecast {
  /** Annualised; the middle node. */
  volatility: number;
  /** Standard deviation of its logarithm. */
  spread: number;
  /** Possible volatilities from the lowest to the highest; their weights add up to 1. */
  nodes: readonly { volatility: number; weight: number }[];
  /** Deviation of the window's end, as a share of the deviation that the largest move implies. */
  endToRangeRatio: number;
}

/**
 * A forecast from the middle volatility and how uncertain its logarithm is.
 *
 * @param below Standard deviation of the logarithm towards lower volatilities.
 */
export function forecastOf(volatility: number, below: number, above = below): VolatilityForecast {
  const nodes = [
    { volatility: volatility * Math.exp(-OUTER_DEVIATIONS * below), weight: OUTER_WEIGHT },
    { volatility, weight: CENTRE_WEIGHT },
    { volatility: volatility * Math.exp(OUTER_DEVIATIONS * above), weight: OUTER_WEIGHT },
  ];
  const spread = (below + above) / 2;
  return {
    volatility,
    spread,
    nodes: spread === 0 ? [{ volatility, weight: 1 }] : nodes,
    endToRangeRatio: 1,
  };
}

/** Forecasts the volatility of one market from now to the end of a window. */
export interface VolatilityForecaster {
  /** How much history is missing for a forecast, in milliseconds; 0 by default. */
  readonly missingMs?: number;
  /**
   * @param startMs Start of the window. If it begins later, its seasons count and not those until
   *   then; now by default.
   * @returns Undefined if there is too little history.
   */
  forecast(nowMs: number, endMs: number, startMs?: number): VolatilityForecast | undefined;
}
