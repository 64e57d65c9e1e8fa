import { SLOT_MS, slotFrom, type TimeSpan } from "../../../lib/prices/price_slots.ts";
import type { Trade } from "./trade_history.ts";

/** Neighbouring slots with their prices, as one `BackfillOracle` carries them. */
export interface SlotRun {
  /** Unix milliseconds, a multiple of 100. */
  startTime: number;
  prices: bigint[];
}

/**
 * The prices of slots from trades: each slot has the price of the last trade at or before its start,
 * as the node would have seen it, if that trade is not older than `maxCarryMs`. A slot without such a
 * trade is left out.
 *
 * @param trades In order of time, from `maxCarryMs` before the span on.
 */
export async function slotPrices(
  trades: AsyncIterable<Trade>,
  span: TimeSpan,
  maxCarryMs: number,
): Promise<SlotRun[]> {
  const runs: SlotRun[] = [];
  let time = slotFrom(span.from) * SLOT_MS;
  let last: Trade | undefined;
  const fillBefore = (endMs: number) => {
    for (; time < endMs; time += SLOT_MS) {
      if (last === undefined || time - last.time > maxCarryMs) continue;
      const run = runs.at(-1);
      if (run !== undefined && run.startTime + run.prices.length * SLOT_MS === time) {
        run.prices.push(last.price);
      } else runs.push({ startTime: time, prices: [last.price] });
    }
  };
  for await (const trade of trades) {
    fillBefore(Math.min(trade.time, span.to));
    last = trade;
  }
  fillBefore(span.to);
  return runs;
}
