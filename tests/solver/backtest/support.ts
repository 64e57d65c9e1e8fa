import type { RandomSource } from "../../../lib/clock.ts";
import { gaussian } from "../../../lib/random.ts";
import type { TapeRow } from "../../../lib/prices/tape.ts";
import { YEAR_MS } from "../../../services/solver/pricing/volatility.ts";

const START_MS = 1_700_000_000_000;

/** Trades every 100 ms of a price without jumps, trend or noise, and with a known volatility. */
export function simulatedTape(
  random: RandomSource,
  { volatility, durationMs }: { volatility: number; durationMs: number },
): TapeRow[] {
  const rows: TapeRow[] = [];
  const deviation = volatility * Math.sqrt(100 / YEAR_MS);
  let log = Math.log(3e9);
  for (let timeMs = 0; timeMs < durationMs; timeMs += 100) {
    const price = BigInt(Math.round(Math.exp(log)));
    rows.push({ timeMs: START_MS + timeMs, side: "buy", price, amount: "1" });
    log += deviation * gaussian(random) - deviation ** 2 / 2;
  }
  return rows;
}

/** The tape as its file. */
export function tapeText(rows: readonly TapeRow[]): string {
  const lines = rows.map(({ timeMs, side, price, amount }, index) => {
    const digits = price.toString().padStart(7, "0");
    return `${timeMs},${index + 1},${side},${digits.slice(0, -6)}.${digits.slice(-6)},${amount}`;
  });
  return ["time_ms,trade_id,side,price,amount", ...lines, ""].join("\n");
}
