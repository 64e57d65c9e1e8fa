/** The texts of bets without a price, for the strategies that come with the solver. */
import { createErrors } from "../../../lib/errors.ts";
import { formatUnits, usdcText } from "../../../lib/protocol/price.ts";
import { FUTURE_PRICE_MAX_MS, type PricingDetails, PricingRefusedError } from "./strategy.ts";

/** The text of each refusal of `--pricing barrier`, made from the numbers in `details`. */
const TEXTS = {
  PRICE_UNAVAILABLE: (
    { symbol, ageMs, isStale, maxPriceAgeMs }: {
      symbol: string;
      ageMs: number | null;
      isStale: boolean;
      maxPriceAgeMs: number;
    },
  ) => {
    if (ageMs === null) return `No price of ${symbol} is known yet: try again in a few seconds`;
    if (ageMs < -FUTURE_PRICE_MAX_MS) {
      return `Price of ${symbol} is dated ${-ageMs} ms in the future: the solver's clock is behind ` +
        "the core node's; synchronise both (NTP)";
    }
    const why = isStale
      ? " and reported stale by the core node"
      : `, over the limit of ${maxPriceAgeMs} ms`;
    return `Price of ${symbol} is ${Math.max(0, ageMs)} ms old${why}: ` +
      "try again when there is a newer one";
  },
  VOLATILITY_UNAVAILABLE: (
    d: { symbol: string; lagMs: number | null; maxLagMs: number; missingMs: number },
  ) => {
    if (d.missingMs > 0) {
      return `Price history of ${d.symbol} is ${d.missingMs} ms too short for a volatility ` +
        "(--volatility-history-ms): try again after that time";
    }
    const end = d.lagMs === null
      ? "not read yet"
      : `read up to ${d.lagMs} ms ago, over the limit of ${d.maxLagMs} ms`;
    return `Price history of ${d.symbol} is ${end}: try again in a few seconds`;
  },
  HISTORY_UNAVAILABLE: ({ from, to }: { from: number; to: number }) =>
    `Window has begun, and its prices from ${from} to ${to} are not known: ` +
    "try again in a few seconds, or choose a later start",
  RANGE_BROKEN: ({ price, time }: { price: bigint; time: number }) =>
    `Price was ${formatUnits(price)} at ${time}, outside the range: choose a later start`,
  OUTSIDE_RANGE: (d: { price: bigint; lowerPrice: bigint; upperPrice: bigint }) =>
    `Price ${formatUnits(d.price)} is outside ${formatUnits(d.lowerPrice)} to ` +
    `${formatUnits(d.upperPrice)}: choose a range around it`,
  RANGE_TOO_NARROW: (d: { width: bigint; tick: bigint; minWidthTicks: number }) =>
    `Range of ${formatUnits(d.width)} is narrower than ${d.minWidthTicks} moves of ` +
    `${formatUnits(d.tick)} (--min-width-ticks): choose a wider one`,
  WINDOW_ENDED: ({ endTime, agoMs }: { endTime: number; agoMs: number }) =>
    `Window ended at ${endTime}, ${agoMs} ms ago: choose a later one`,
  DURATION_TOO_SHORT: (d: { durationMs: number; minDurationMs: number }) =>
    `Duration of ${d.durationMs} ms is below ${d.minDurationMs} ms (--min-duration-ms): ` +
    "choose a longer window",
  PAYOUT_TOO_LOW: (d: { betAmount: bigint; probability: number; margin: number }) => {
    // With a lower probability, only rounding down to the smallest unit takes the winnings.
    const isRounded = d.probability < 1 - d.margin;
    const probability = (Math.floor(d.probability * 1e4) / 1e4).toFixed(4);
    return `A bet of ${usdcText(d.betAmount)} would pay no more than its stake: once executed, ` +
      `the user wins with a probability of ${probability} and the margin is ${d.margin}; ` +
      "choose a narrower range" +
      (isRounded ? ", a longer window or a larger bet" : " or a longer window");
  },
  PRICE_MOVED: (d: { signedPayout: bigint; kept: number; minKept: number } & CurrentPayout) =>
    `Payout of ${usdcText(d.signedPayout)} would leave ${d.kept.toFixed(4)} of the bet ` +
    `to the solver, below ${d.minKept.toFixed(4)}: request a new quote`,
  PRICE_IMPROVED: (d: { signedPayout: bigint; currentPayout: bigint }) =>
    `Payout of ${usdcText(d.signedPayout)} is ` +
    `${usdcText(d.currentPayout - d.signedPayout)} below that of a new quote: request it`,
};

interface CurrentPayout {
  /** Payout of a new quote; null if none is possible. */
  currentPayout: bigint | null;
}

const failure = createErrors(TEXTS);

/**
 * A bet that has no price.
 *
 * @param pricing The model's details of the bet, if it could be priced.
 */
export function refusal<Code extends keyof typeof TEXTS>(
  code: Code,
  facts: Parameters<typeof TEXTS[Code]>[0],
  pricing?: PricingDetails,
): PricingRefusedError {
  // A list of one value is that parameter list, which TypeScript cannot derive for a generic type.
  const { message, details } = failure(code, ...[facts] as Parameters<typeof TEXTS[Code]>);
  return new PricingRefusedError(code, message, { details, ...(pricing && { pricing }) });
}
