// Tests a bet on a chain of its own: node --test, in Node 20 or newer.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { RangemakerClient } from "@rangemaker/client";
import { startChain } from "@rangemaker/testing";

let chain;
before(async () => {
  chain = await startChain();
});
after(() => chain?.stop());

test("a bet is won if the price stays in its range", async () => {
  await chain.setPrice("ETH/USDT", 3_000_000_000n); // prices and amounts have 6 decimals
  const client = new RangemakerClient({ ...chain.options, wallet: chain.wallets[0] });
  const offer = await client.quote({
    symbol: "ETH/USDT",
    lowerPrice: 2_970_000_000n,
    upperPrice: 3_030_000_000n,
    betAmount: 10_000_000n,
    startTime: chain.now(),
    endTime: chain.now() + 60_000,
  });
  const { thesisId } = await client.execute(offer);
  await chain.advance(61_000);
  const { status } = await client.settled(thesisId, 5_000);
  assert.equal(status, "won");
});
