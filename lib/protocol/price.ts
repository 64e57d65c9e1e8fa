import * as z from "zod/mini";
import { PRICE_DECIMALS } from "./markets.ts";
import {
  addressSchema,
  described,
  positiveUint64Schema,
  timestampSchema,
  UINT64_MAX,
  uint64Schema,
} from "./scalars.ts";

/** One value in `prices` of the oracle's `GET /prices` (spec: price oracle, "Price entry"). */
export const priceEntrySchema = described(
  z.object({
    base: addressSchema,
    quote: addressSchema,
    price: described(
      positiveUint64Schema("Expected a price above 0"),
      "Integer of 6 decimals, as text",
    ),
    decimals: z.literal(6, { error: "Expected 6 decimals" }),
    lastUpdate: described(
      timestampSchema,
      "Median: when half of the sources had confirmed their price; average: when the oldest had. " +
        "Unix milliseconds",
    ),
    sources: described(
      z.array(z.string()).check(z.minLength(1)),
      "Providers behind the price",
    ),
  }),
  { id: "PriceEntry" },
);

/** A trusted price of the oracle; its age counts from `lastUpdate`. */
export type PriceEntry = z.output<typeof priceEntrySchema>;

/** The body of the oracle's `GET /prices`. */
export const oraclePricesSchema = z.object({
  timestamp: described(timestampSchema, "When a price last changed, Unix milliseconds"),
  prices: described(
    z.record(z.string(), priceEntrySchema),
    "By symbol, such as `ETH/USDT`: each pair that enough sources back",
  ),
});

/** One value of `core_getPrices`: the write node's simplified view. */
export const nodePriceSchema = z.object({
  base: addressSchema,
  quote: addressSchema,
  price: uint64Schema,
  decimals: z.literal(6),
  lastUpdate: timestampSchema,
  ageMs: z.int().check(z.nonnegative()),
  state: z.enum(["fresh", "stale"]),
});

/** A market's price as the node last pulled it, and whether bets on it are accepted. */
export type NodePrice = z.output<typeof nodePriceSchema>;

/** A JSON number without a sign; the lengths of whole, fraction and exponent are bounded. */
const PRICE_PATTERN = /^(0|[1-9]\d{0,29})(?:\.(\d{1,30}))?(?:[eE]([+-]?\d{1,2}))?$/;

/**
 * Converts an exchange's decimal text to an integer price with {@link PRICE_DECIMALS} decimals,
 * without floating point; further digits are rounded half away from zero.
 *
 * @returns Undefined if the text is not a positive decimal number, or the price rounds to 0 or
 * exceeds 64 bits.
 * @example
 * ```ts
 * const price = parsePrice("2650.5"); // 2650500000n
 * ```
 */
export function parsePrice(text: string): bigint | undefined {
  const match = PRICE_PATTERN.exec(text);
  if (match === null) return undefined;
  const [, whole = "", fraction = "", exponent = "0"] = match;
  const price = scale(
    BigInt(whole + fraction),
    PRICE_DECIMALS + Number(exponent) - fraction.length,
  );
  return price > 0n && price <= UINT64_MAX ? price : undefined;
}

/** `value` times ten to the power of `power`, rounded half up; `value` is not negative. */
function scale(value: bigint, power: number): bigint {
  if (power >= 0) return value * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return (value + divisor / 2n) / divisor;
}

/**
 * Formats a price or an amount of USDC, both with 6 decimals, with `decimals` digits after the
 * point; further digits are cut off.
 *
 * @example
 * ```ts
 * const text = formatPrice(2_650_500_000n, 2); // "2650.50"
 * ```
 */
export function formatPrice(price: bigint, decimals: number = PRICE_DECIMALS): string {
  if (price < 0n) return `-${formatPrice(-price, decimals)}`;
  const digits = price.toString().padStart(PRICE_DECIMALS + 1, "0");
  const point = digits.length - PRICE_DECIMALS;
  if (decimals === 0) return digits.slice(0, point);
  return `${digits.slice(0, point)}.${digits.slice(point, point + decimals)}`;
}

/**
 * Formats a price or an amount of USDC, both with 6 decimals, without zeros at its end.
 *
 * @example
 * ```ts
 * const text = formatUnits(2_650_500_000n); // "2650.5"
 * ```
 */
export function formatUnits(units: bigint): string {
  return formatPrice(units).replace(/\.?0+$/, "");
}

/** An amount of USDC for people, such as `2.5 USDC`. */
export function usdcText(amount: bigint): string {
  return `${formatUnits(amount)} USDC`;
}
