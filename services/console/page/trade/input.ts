/** Parses numbers and durations as users type them. */
import { parsePrice } from "@rangemaker/client";
import { DAY_MS, HOUR_MS } from "../../../../lib/time.ts";
import { formatCount, toNumber } from "../parts/format.ts";

/** A number whose thousands may be separated by commas, such as `1,234.50`. */
const WITH_POINT = /^(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d{1,6})?$/;

/** The same with a decimal comma, such as `1.234,50`. */
const WITH_COMMA = /^(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+),\d{1,6}$/;

/** One comma before exactly three digits: it may separate thousands or decimals. */
const AMBIGUOUS = /^[1-9]\d{0,2},\d{3}$/;

const withoutSpaces = (text: string) => text.replace(/[\s'’]/g, "");

/** The same number without marks between thousands, and with a point; undefined if it is none. */
function withPoint(plain: string): string | undefined {
  if (WITH_POINT.test(plain)) return plain.replaceAll(",", "");
  return WITH_COMMA.test(plain) ? plain.replaceAll(".", "").replace(",", ".") : undefined;
}

/** A number above 0 with at most 6 decimals, in millionths; undefined if the text is not one. */
export function tryParseDecimal(text: string): bigint | undefined {
  const plain = withoutSpaces(text);
  const number = AMBIGUOUS.test(plain) ? undefined : withPoint(plain);
  return number === undefined ? undefined : parsePrice(number);
}

/** The largest number that {@link tryParseDecimal} accepts. */
const LARGEST = 18_446_744_073_709;

/**
 * What to enter instead of a text that is no number from `min` on.
 *
 * @param noun Such as `a price`.
 * @param minText Such as `above 0`.
 * @param min In millionths.
 */
export function numberError(text: string, noun: string, minText: string, min = 1n): string {
  const plain = withoutSpaces(text);
  if (plain === "") return `Enter ${noun}`;
  if (AMBIGUOUS.test(plain)) {
    const [whole, decimal] = ["", "."].map((mark) => plain.replace(",", mark));
    return `Write ${whole} or ${decimal}: “${plain}” can mean both`;
  }
  const value = Number(withPoint(plain) ?? plain.replace(",", "."));
  if (value < toNumber(min)) return `Enter ${noun} ${minText}`;
  if (value > LARGEST) return `Enter ${noun} of at most ${formatCount(LARGEST)}`;
  return "Enter a number such as 10.50, with 6 decimals at most";
}

/** Units of durations, with their names. */
const UNITS = [
  [DAY_MS, /^(d|days?)$/i],
  [HOUR_MS, /^(h|hours?)$/i],
  [60_000, /^(m|mins?|minutes?)$/i],
  [1_000, /^(s|secs?|seconds?)$/i],
] as const;

/** Milliseconds of a duration such as `15 s`, `1,5 h`, `2 min 5 s`, or `15`, which are seconds. */
export function tryParseDuration(text: string): number | undefined {
  const parts = [...text.matchAll(/\s*(\d{1,6}(?:[.,]\d{1,3})?)\s*([a-z]*)\s*/gi)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text) return undefined;
  let sum = 0;
  for (const [, number = "", name = ""] of parts) {
    const unit = name === "" && parts.length === 1
      ? 1_000
      : UNITS.find(([, names]) => names.test(name))?.[0];
    if (unit === undefined) return undefined;
    sum += Number(number.replace(",", ".")) * unit;
  }
  return Math.round(sum);
}
