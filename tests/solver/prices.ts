/** Prices of a fake node, for strategies that need them. */
import { z } from "zod";
import type { FakeNode } from "../support/fake_node.ts";
import type { Market } from "../../lib/protocol/markets.ts";
import { eventually } from "../support/eventually.ts";
import { type Answer, post } from "../support/http_answers.ts";
import { market } from "./support.ts";

/** The price around which {@link giveHistory} swings. */
export const SPOT = 3_000_000_000;

const querySchema = z.object({ from: z.number(), to: z.number() });

/** Gives the node so much of prices that swing a little, up to now; ten minutes by default. */
export function giveHistory(node: FakeNode, lengthMs = 600_000): void {
  node.methods.set("core_getPriceHistory", (param) => {
    const { from, to } = querySchema.parse(param);
    const prices = [];
    for (let time = Math.max(from, to - lengthMs); time < to; time += 100) {
      // Up and down by a hundredth of a percent every ten seconds, in steps.
      const phase = Math.floor(time / 100) % 100;
      const price = SPOT + Math.min(phase, 100 - phase) * 6_000;
      prices.push({ time, price: String(price) });
    }
    return { prices, missing: [], nextCursor: null };
  });
}

/** Notifies subscribers of a price of now, or of an older one, of ETH/USDT or of another market. */
export function publishPrice(node: FakeNode, price = SPOT, ageMs = 0, of: Market = market): void {
  const { base, quote, symbol } = of;
  const entry = { base, quote, decimals: 6, lastUpdate: Date.now() - ageMs, ageMs, state: "fresh" };
  node.feed.publish("prices", { [symbol]: { ...entry, price: String(price) } });
}

/** The body of a quote on a price of now, once the solver can price it. */
export function quoteOnPrices(
  url: string,
  node: FakeNode,
  request: Record<string, unknown>,
): Promise<Answer["body"]> {
  return eventually("a quote", async () => {
    publishPrice(node);
    const answer = await post(`${url}/quote`, request);
    return answer.status === 200 ? answer.body : undefined;
  });
}
