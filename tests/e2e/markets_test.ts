/** Markets are settings: every service reads them from one file, and has no others. */
import { DatabaseSync } from "node:sqlite";
import assert from "node:assert/strict";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { systemClock } from "../../lib/clock.ts";
import { callJson } from "../../lib/net/call_json.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { oraclePricesSchema } from "../../lib/protocol/price.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { type RunningStack, type StackOptions, startStack } from "../../services/stack/stack.ts";
import { eventually } from "../support/eventually.ts";
import { recorded } from "../support/http_answers.ts";
import { marketsToml, withFolder, withMarketsFile } from "../support/files.ts";

/** The number of markets that the specification counts its memory for. */
const COUNT = 50;

const NAMED = `${marketsToml(1)}[market.exchanges]
binance = "FIRST"
coinbase = "FIRST-COIN"
kraken = "FIRST/KRAKEN"
okx = "FIRST-OKX"
`;

/** Timeout of the node: fifty new markets keep a busy machine from answering for some seconds. */
const BUSY_MS = 20_000;

/** Runs a stack with markets that are not the specification's, until the node has all prices. */
async function withMarkets(
  text: string,
  options: Pick<StackOptions, "dataDir" | "pricing">,
  test: (stack: RunningStack, path: string) => Promise<void>,
): Promise<void> {
  await withMarketsFile(text, async (path) => {
    const { symbols } = await readMarkets(path);
    await using stack = await startStack({ ports: FREE_PORTS, seed: 1, markets: path, ...options });
    const node = new CoreClient({ url: stack.urls.node, timeoutMs: BUSY_MS });
    await eventually("fresh prices of all markets", async () => {
      const prices = await node.getPrices();
      assert.deepEqual(Object.keys(prices).filter((symbol) => !symbols.includes(symbol)), []);
      return symbols.every((symbol) => prices[symbol]?.state === "fresh");
    });
    await test(stack, path);
  });
}

Deno.test("stack --markets: a bet is won on a market of the file, which replaces the default markets", async () => {
  await withMarkets(NAMED, {}, async ({ urls }, path) => {
    const { list } = await readMarkets(path);
    const [market] = list;
    const answer = await fetch(`${urls.solver}/pairs`);
    const { base, quote } = market!;
    assert.deepEqual((await answer.json()).pairs, [{ symbol: "T1/EUR", base, quote, decimals: 6 }]);
    const { prices } = await callJson(`${urls.oracle}/prices`, oraclePricesSchema);
    assert.deepEqual(Object.keys(prices), ["T1/EUR"]);
    // All four exchanges know the market by the names of the file.
    await eventually("four sources", async () => {
      const { prices } = await callJson(`${urls.oracle}/prices`, oraclePricesSchema);
      return prices["T1/EUR"]?.sources.length === 4;
    });

    const wallet = privateKeyToAccount(generatePrivateKey());
    const client = new RangemakerClient({ urls, chainId: 1337, wallet, markets: list });
    await recorded(() => client.deposit(10_000_000n));
    const startTime = systemClock.now();
    const { price } = (await client.prices())["T1/EUR"]!;
    const bet = {
      symbol: "T1/EUR",
      lowerPrice: price / 2n,
      upperPrice: price * 2n,
      betAmount: 1_000_000n,
      startTime,
      endTime: startTime + 3_000, // the bet is on the chain by then
    };
    const { thesisId } = await client.execute(await client.quote(bet));
    assert.equal((await client.settled(thesisId, 30_000)).status, "won");
    assert.equal((await client.history("T1/EUR", startTime, startTime + 500)).prices.length, 5);
    await assert.rejects(client.quote({ ...bet, symbol: "ETH/USDT" }), /expected one of T1\/EUR/);
    const ofSpec = new RangemakerClient({ urls, chainId: 1337, wallet });
    const refused = ofSpec.quote({ ...bet, symbol: "ETH/USDT" });
    await assert.rejects(refused, { code: "UNSUPPORTED_PAIR" });
    const metrics = await (await fetch(`${urls.solver}/metrics`)).text();
    assert.match(metrics, /^solver_bets_usdc_total\{market="T1\/EUR"\} 1$/m);
  });
});

Deno.test("stack --markets: fifty markets have prices in every service and in the node's database", () =>
  withFolder(async (dataDir) => {
    const pricing = { pricing: "barrier", volatilityHistoryMs: 1_000 } as const;
    await withMarkets(marketsToml(COUNT), { dataDir, pricing }, async ({ urls }, path) => {
      const { pairs } = await (await fetch(`${urls.solver}/pairs`)).json();
      assert.equal(pairs.length, COUNT);
      // On a busy machine, the exchanges of a market may all be late for a moment.
      const prices = await eventually("prices of all markets", async () => {
        const { prices } = await callJson(`${urls.oracle}/prices`, oraclePricesSchema);
        return Object.keys(prices).length === COUNT ? prices : undefined;
      });
      const { list } = await readMarkets(path);
      const client = new RangemakerClient({ urls, chainId: 1337, markets: list });
      // A price that is fresh may still wait for its first checkpoint.
      const node = new CoreClient({ url: urls.node, timeoutMs: BUSY_MS });
      await eventually("a recorded price of every market", async () => {
        const to = systemClock.now();
        const pages = await Promise.all(
          list.map(({ base, quote }) =>
            node.getPriceHistory({ base, quote, from: to - 10_000, to })
          ),
        );
        return pages.every(({ prices }) => prices.length > 0);
      });
      const { symbol } = list[COUNT - 1]!;
      const { price } = prices[symbol]!;
      const startTime = systemClock.now();
      const bet = {
        symbol,
        lowerPrice: price * 999n / 1_000n,
        upperPrice: price * 1_001n / 1_000n,
        betAmount: 1_000_000n,
        startTime,
        endTime: startTime + 3_600_000,
      };
      // The model of the market knows it: there is a price, or not enough history for one yet.
      const code = await client.estimate(bet).then(() => "quoted", ({ code }) => code);
      assert.match(code, /^(quoted|(PRICE|VOLATILITY|HISTORY)_UNAVAILABLE)$/);
    });
    const db = new DatabaseSync(`${dataDir}/node/chain.sqlite`);
    const row = db.prepare("SELECT count(DISTINCT market) AS markets FROM prices").get();
    db.close();
    assert.equal(Object(row).markets, COUNT);
  }));
