/** Milliseconds of a year in annualised volatility: 365 days. */
export const YEAR_MS = 365 * 86_400_000;
