import assert from "node:assert/strict";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { deviations } from "../../services/oracle/aggregation.ts";
import { PriceBoard } from "../../services/oracle/price_board.ts";

const T = 1_700_000_000_000;

Deno.test("deviations: in basis points from the median, once three sources can outvote one", () => {
  const prices = new PriceBoard({
    markets: MARKETS,
    aggregation: "median",
    minSources: 1,
    maxSourceAgeMs: 10_000,
  });
  prices.update("provider_a", "BTC/USDT", 60_000_000_000n, T);
  prices.update("provider_b", "BTC/USDT", 60_006_000_000n, T);
  assert.equal(deviations(prices.sources("BTC/USDT")), undefined);
  prices.update("provider_d", "BTC/USDT", 54_000_000_000n, T);
  assert.deepEqual(
    deviations(prices.sources("BTC/USDT")),
    new Map([
      ["provider_a", 0],
      ["provider_b", 1],
      ["provider_d", -1000],
    ]),
  );
});
