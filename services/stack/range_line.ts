/** The demo's line while a bet runs: where the price is in its range, and the time left. */
import type { ShowProgress } from "../../lib/cli/terminal.ts";
import type { Clock } from "../../lib/clock.ts";
import { PollingLoop } from "../../lib/timing/polling_loop.ts";
import { formatPrice } from "../../lib/protocol/price.ts";
import type { Bet } from "../../lib/protocol/bet.ts";

/** Characters between the two ends of the range: the line fits a terminal of 80 columns. */
const WIDTH = 19;

/** The interval at which the node records prices. */
const REDRAW_MS = 100;

type BetWindow = Pick<Bet, "lowerPrice" | "upperPrice" | "startTime" | "endTime">;

/** One line: `2985.20 ├───────●───────┤ 3015.20 at 3000.20, 2.4 s left`; ✗ is a price outside. */
export function rangeLine(price: bigint, bet: BetWindow, nowMs: number): string {
  const { lowerPrice, upperPrice, startTime, endTime } = bet;
  const outside = price < lowerPrice || price > upperPrice;
  const share = (price - lowerPrice) * BigInt(WIDTH) / (upperPrice - lowerPrice + 1n);
  const at = price < lowerPrice ? 0 : Math.min(WIDTH - 1, Number(share));
  const line = "─".repeat(at) + (outside ? "✗" : "●") + "─".repeat(WIDTH - 1 - at);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const time = nowMs < startTime
    ? `starts in ${seconds(startTime - nowMs)}`
    : nowMs < endTime
    ? `${seconds(endTime - nowMs)} left`
    : "settling";
  return `${short(lowerPrice)} ├${line}┤ ${short(upperPrice)}  ` +
    `at ${short(price)}, ${time}`;
}

/** A price with two decimals. */
function short(price: bigint): string {
  return Number(formatPrice(price)).toFixed(2);
}

/** Redraws a progress line until a promise settles; skips a redraw if the price cannot be read. */
export async function drawWhile<T>(
  awaited: Promise<T>,
  clock: Clock,
  progress: ShowProgress,
  readLine: () => Promise<string>,
): Promise<T> {
  const loop = new PollingLoop({
    clock,
    intervalMs: REDRAW_MS,
    poll: async (signal) => {
      const line = await readLine();
      if (!signal.aborted) progress(line);
    },
  });
  loop.start();
  try {
    return await awaited;
  } finally {
    await loop.stop();
  }
}
