/** Prices of a fake node, for strategies that need them. */
import { z } from "zod";
import type { FakeNode } from "../support/fake_node.ts";
import { market } from "./support.ts";

/** The price around which {@link giveHistory} swings. */
export const SPOT = 3_000_000_000;

const querySchema = z.object({ from: z.number(), to: z.number() });

/** Gives the node ten minutes of prices that swing a little, up to now. */
export function giveHistory(node: FakeNode): void {
  node.methods.set("core_getPriceHistory", (param) => {
    const { from, to } = querySchema.parse(param);
    const prices = [];
    for (let time = Math.max(from, to - 600_000); time < to; time += 100) {
      // Up and down by a hundredth of a percent every ten seconds, in steps.
      const phase = Math.floor(time / 100) % 100;
      const price = SPOT + Math.min(phase, 100 - phase) * 6_000;
      prices.push({ time, price: String(price) });
    }
    return { prices, missing: [], nextCursor: null };
  });
}

/** Notifies subscribers of a price. */
export function publishPrice(node: FakeNode, price = SPOT): void {
  const { base, quote, symbol } = market;
  const entry = { base, quote, decimals: 6, lastUpdate: Date.now(), ageMs: 0, state: "fresh" };
  node.feed.publish("prices", { [symbol]: { ...entry, price: String(price) } });
}
