/** Formats amounts, prices and times for users. */
import { formatPrice } from "@rangemaker/client";

/** A formatter for each number of digits, made once: that takes longer than painting a box. */
const byDigits = Array.from({ length: 7 }, (_, digits) =>
  new Intl.NumberFormat("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }));

/** An amount, 0.01 USDC. */
export const CENT = 10_000n;

/**
 * USDC with 6 decimals as text. The one rule for money that was deposited, bet, lost or paid out: it
 * is exact, in cents or with all digits, so that balances, rows and sums agree to the last digit. Only
 * what is not settled, and sums of it, are rounded to cents, see {@link formatCents} and
 * {@link formatLoss}.
 */
export function formatAmount(amount: bigint): string {
  const exact = formatPrice(amount) as `${number}`; // a number has not all digits of billions
  return byDigits[amount % CENT === 0n ? 2 : 6]!.format(exact).replace("-", "−");
}

/** A payout that is only offered, or an estimated amount, in cents: rounded down. */
export function formatCents(amount: bigint): string {
  const isDown = amount < 0n && amount % CENT !== 0n;
  return formatAmount((amount / CENT - (isDown ? 1n : 0n)) * CENT);
}

/** An amount with its unit, or a sign that it is not known yet. */
export function formatUsdc(amount: bigint | undefined): string {
  return amount === undefined ? "…" : `${formatAmount(amount)} USDC`;
}

/** What may be lost, without a sign, in cents: rounded up. */
export function formatLoss(amount: bigint): string {
  return formatCents(-amount).replace("−", "");
}

/** A gain or loss with its sign. */
export function formatGain(amount: bigint): string {
  return (amount > 0n ? "+" : "") + formatAmount(amount);
}

/** A maker's gain or loss with its sign, in cents: rounded down. */
export function formatProfit(amount: bigint): string {
  return (amount >= CENT ? "+" : "") + formatCents(amount);
}

/** Digits after the point for a price of this size: six digits in total. */
export function decimalsOf(price: number): number {
  return clamp(5 - Math.floor(Math.log10(Math.max(Math.abs(price), 1e-6))), 0, 6);
}

/** A price such as 2,998.41. */
export function formatQuotePrice(price: number): string {
  return formatDigits(price, decimalsOf(price));
}

/** A price with a number of digits after the point, 6 at most. */
export function formatDigits(price: number, digits: number): string {
  return byDigits[digits]!.format(price); // 6 at most
}

/** The range of a box, such as `2,997.37 – 3,000.16`. @param separator Another one, to be spoken. */
export function formatRange(
  box: { lowerPrice: bigint; upperPrice: bigint },
  separator = " – ",
): string {
  return [box.lowerPrice, box.upperPrice].map(toNumber).map(formatQuotePrice).join(separator);
}

const UNITS = [["d", 86_400], ["h", 3_600], ["min", 60], ["s", 1]] as const;

/** Rounds a duration to two units, the smallest of which is the tenth of a second. */
export function roundDuration(durationMs: number): number {
  const tenths = Math.round(Math.max(0, durationMs) / 100);
  const index = UNITS.findIndex(([, unit]) => tenths >= 10 * unit);
  const stepMs = tenths < 600 ? 100 : 1_000 * UNITS[index + 1]![1]; // a minute has a smaller unit
  return Math.round(100 * tenths / stepMs) * stepMs;
}

/** A duration in at most two units, such as `7.8 s`, `15 s`, `2 min`, `1 h 10 min`. */
export function durationText(durationMs: number): string {
  return exactDurationText(roundDuration(durationMs));
}

/** A span of time in one unit, such as `45 s`, `1.5 min`, `3 h`. */
export function spanText(durationMs: number): string {
  const [name, unit] = UNITS.find(([, unit]) => durationMs >= 1_000 * unit) ?? UNITS[3];
  return `${Math.round(durationMs / (100 * unit)) / 10} ${name}`;
}

/** A remaining time in full seconds, rounded up: `0 s` only once it is over. */
export function countdownText(remainingMs: number): string {
  return durationText(1_000 * Math.ceil(remainingMs / 1_000));
}

/** A duration to the tenth of a second, such as `1 h 10 min 30.5 s`. */
export function exactDurationText(durationMs: number): string {
  let tenths = Math.round(Math.max(0, durationMs) / 100);
  const parts = UNITS.map(([name, unit]) => {
    const count = name === "s" ? tenths / 10 : Math.floor(tenths / (10 * unit));
    tenths -= 10 * unit * count;
    return count > 0 ? `${count} ${name}` : "";
  });
  return parts.filter(Boolean).join(" ") || "0 s";
}

/** The date of a time; of one that is too late for a date, the latest. */
export function dateOf(timeMs: number): Date {
  return new Date(Math.min(timeMs, 8.64e15));
}

const times = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** A time of day with seconds, in the user's time zone. */
export function formatTime(timeMs: number): string {
  return times.format(dateOf(timeMs));
}

/** A count such as `1,234`. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** A count with its noun, such as `1 bet` or `2 bets`. */
export function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

const days = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

/** A time with its day, such as `22 Nov, 18:00`. */
export function formatDay(timeMs: number): string {
  return days.format(dateOf(timeMs));
}

/** A shortened address for users. */
export function shortAddress(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-4)}`;
}

/** A price or an amount as a number. */
export function toNumber(price: bigint): number {
  return Number(price) / 1e6;
}

/** A price or an amount with 6 decimals. */
export function fromNumber(price: number): bigint {
  return BigInt(Math.round(price * 1e6));
}

/** The nearest value within bounds; if these exclude each other, the lower one. */
export function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}

/** A share such as 0.0123 as text that does not break. */
export function formatShare(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}\u00a0%`.replace(/^-0\.0\s/, "0.0\u00a0")
    .replace("-", "−");
}
