/** Milliseconds of a year as volatility is quoted: 365 days. */
export const YEAR_MS = 365 * 86_400_000;
