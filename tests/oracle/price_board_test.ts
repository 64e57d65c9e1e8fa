import assert from "node:assert/strict";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { oraclePricesSchema } from "../../lib/protocol/price.ts";
import { PriceBoard, type PriceBoardOptions } from "../../services/oracle/price_board.ts";

const T = 1_700_000_000_000;

function board(options: Partial<PriceBoardOptions> = {}): PriceBoard {
  return new PriceBoard({
    markets: MARKETS,
    aggregation: "median",
    minSources: 1,
    maxSourceAgeMs: 10_000,
    ...options,
  });
}

function served(board: PriceBoard) {
  return oraclePricesSchema.parse(JSON.parse(board.body));
}

Deno.test("PriceBoard: the answer has the form of the specification (oracle spec, Price entry)", () => {
  const prices = board();
  assert.equal(prices.body, '{"timestamp":0,"prices":{}}');
  prices.update("provider_b", "ETH/USDT", 1_666_870_001n, T);
  prices.update("provider_a", "ETH/USDT", 1_666_870_000n, T + 5);
  assert.deepEqual(JSON.parse(prices.body), {
    timestamp: T + 5,
    prices: {
      "ETH/USDT": {
        base: "0x0000000000000000000000000000000000000002",
        quote: "0x0000000000000000000000000000000000000100",
        price: "1666870001",
        decimals: 6,
        lastUpdate: T,
        sources: ["provider_a", "provider_b"],
      },
    },
  });
});

function sourcesOf({ markets }: PriceBoard) {
  return markets.get("BTC/USDT")?.sources ?? [];
}

/** The providers that contribute to BTC/USDT, by letter. */
function contributing(prices: PriceBoard): string {
  return sourcesOf(prices).map(({ provider }) => provider.at(-1)).join("");
}

Deno.test("PriceBoard: a confirmation keeps a price fresh, at most 30 s after its trade", () => {
  const prices = board();
  const lastUpdate = () => served(prices).prices["BTC/USDT"]?.lastUpdate;
  prices.confirm("provider_a", "DOGE/USDT", T);
  prices.confirm("provider_a", "BTC/USDT", T);
  assert.equal(served(prices).timestamp, 0, "nothing to confirm");
  prices.update("provider_a", "BTC/USDT", 5n, T);
  prices.confirm("provider_b", "BTC/USDT", T + 1);
  assert.equal(served(prices).timestamp, T);
  prices.confirm("provider_a", "BTC/USDT", T + 9_000);
  assert.deepEqual([served(prices).timestamp, lastUpdate()], [T + 9_000, T + 9_000]);
  assert.equal(prices.expire(T + 10_001), T + 19_001);
  prices.confirm("provider_a", "BTC/USDT", T + 19_000);
  prices.confirm("provider_a", "BTC/USDT", T + 29_000);
  prices.confirm("provider_a", "BTC/USDT", T + 30_000);
  prices.confirm("provider_a", "BTC/USDT", T + 30_001);
  assert.equal(lastUpdate(), T + 30_000);
  assert.equal(prices.expire(T + 40_000), T + 40_001);
  assert.equal(prices.expire(T + 40_001), undefined);
});

Deno.test("PriceBoard: the timestamp is that of the last change", () => {
  const prices = board();
  prices.update("provider_a", "BTC/USDT", 5n, T);
  prices.removeProvider("provider_b", T + 1);
  prices.expire(T + 2);
  prices.keepAlive("provider_a", T + 3);
  prices.update("provider_a", "DOGE/USDT", 5n, T + 4);
  assert.equal(served(prices).timestamp, T);
  prices.removeProvider("provider_a", T + 5);
  assert.equal(served(prices).timestamp, T + 5);
  for (const provider of ["provider_a", "provider_b", "provider_c"] as const) {
    prices.update(provider, "BTC/USDT", 7n, T + 10);
  }
  prices.update("provider_c", "BTC/USDT", 9n, T + 11);
  assert.equal(served(prices).timestamp, T + 10, "its median and its time are the same");
});

Deno.test("PriceBoard: a new price, or a clock set back, also removes outdated sources", () => {
  const prices = board();
  prices.update("provider_a", "BTC/USDT", 5n, T);
  prices.update("provider_b", "BTC/USDT", 7n, T + 4_000);
  prices.update("provider_b", "BTC/USDT", 7n, T + 10_000);
  assert.equal(contributing(prices), "ab");
  prices.update("provider_b", "BTC/USDT", 7n, T + 10_001);
  assert.equal(contributing(prices), "b");
  prices.update("provider_a", "BTC/USDT", 5n, T + 1_000);
  assert.deepEqual(sourcesOf(prices).map(({ confirmedAtMs }) => confirmedAtMs), [
    T + 1_000,
    T + 1_000,
  ]);
  prices.update("provider_a", "BTC/USDT", 5n, T + 50_000);
  assert.equal(contributing(prices), "a", "it joins again, and the other one is stale");
});

Deno.test("PriceBoard: a clock set back does not lengthen the 30 s after a trade", () => {
  const prices = board();
  prices.update("provider_a", "BTC/USDT", 5n, T + 100_000);
  prices.update("provider_b", "BTC/USDT", 5n, T);
  for (const afterMs of [9_000, 18_000, 27_000, 30_001]) {
    prices.confirm("provider_a", "BTC/USDT", T + afterMs);
  }
  assert.equal(sourcesOf(prices)[0]?.confirmedAtMs, T + 27_000);
});
