/** Parses numbers and durations as users type them. */
import { parsePrice } from "@rangemaker/client";

/** One comma before exactly three digits: it may separate thousands or decimals. */
const AMBIGUOUS = /^[1-9]\d{0,2},\d{3}$/;

/**
 * A number above 0 with at most 6 decimals, in millionths. The last comma or point is the decimal
 * separator. Earlier ones, and spaces, separate thousands.
 *
 * @returns A sentence for the user if the text is ambiguous; undefined if it is not such a number.
 */
export function parseDecimal(text: string): bigint | string | undefined {
  const plain = text.replace(/[\s'’]/g, "");
  if (AMBIGUOUS.test(plain)) {
    return `Write ${plain.replace(",", "")} or ${
      plain.replace(",", ".")
    }: “${plain}” can mean both`;
  }
  if (!/^[\d.,]+$/.test(plain)) return undefined;
  const at = Math.max(plain.lastIndexOf(","), plain.lastIndexOf("."));
  if (at < 0) return parsePrice(plain);
  const [whole, fraction] = [plain.slice(0, at), plain.slice(at + 1)];
  const separator = plain[at] === "," ? "." : ",";
  const isGrouped = /[.,]/.test(whole);
  if (isGrouped && !whole.split(separator).every((group, index) => isGroup(group, index))) {
    return undefined;
  }
  return parsePrice(`${whole.replaceAll(separator, "")}.${fraction}`);
}

/** The largest number that {@link parseDecimal} accepts. */
const LARGEST = 18_446_744_073_709;

/**
 * What to enter instead of a text that is no number from `min` on.
 *
 * @param noun Such as `a price`.
 * @param minText Such as `above 0`.
 * @param min In millionths.
 */
export function numberError(text: string, noun: string, minText: string, min = 1n): string {
  if (text.trim() === "") return `Enter ${noun}`;
  const value = Number(text.replace(",", "."));
  if (value * 1e6 < Number(min)) return `Enter ${noun} ${minText}`;
  if (value > LARGEST) return `Enter ${noun} of at most ${LARGEST.toLocaleString("en-US")}`;
  return "Enter a number such as 10.50";
}

/** Whether digits can be a group between separators of thousands. */
function isGroup(digits: string, index: number): boolean {
  return (index === 0 ? /^\d{1,3}$/ : /^\d{3}$/).test(digits);
}

/** Units of durations, with their names. */
const UNITS = [
  [86_400_000, /^(d|days?)$/i],
  [3_600_000, /^(h|hours?)$/i],
  [60_000, /^(m|mins?|minutes?)$/i],
  [1_000, /^(s|secs?|seconds?)$/i],
] as const;

/** Minutes and seconds as on a clock, with hours before them if needed. */
const CLOCK = /^(?:(\d{1,2}):(?=[0-5]\d:))?(\d{1,3}):([0-5]\d)$/;

/** The unit that a duration without one has: a plain number counts seconds. */
export function unitOf(text: string): "s" | undefined {
  return /^\s*\d+([.,]\d*)?\s*$/.test(text) ? "s" : undefined;
}

/**
 * Milliseconds of a duration such as `15 s`, `1,5 h`, `2 min 5 s`, `2:05`, or `15`, which are
 * seconds.
 */
export function parseDuration(text: string): number | undefined {
  const clock = CLOCK.exec(text.trim());
  if (clock !== null) {
    const [hours, minutes, seconds] = clock.slice(1).map((part) => Number(part ?? 0));
    return 1_000 * (3_600 * hours! + 60 * minutes! + seconds!); // three groups
  }
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
