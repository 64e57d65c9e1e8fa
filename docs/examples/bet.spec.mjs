// Tests a bet on a chain of its own, for a front end that reads Date: vitest run.
import { RangemakerClient } from "@rangemaker/client";
import { startChain } from "@rangemaker/testing";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";

let chain;
let snapshot;
beforeAll(async () => {
  chain = await startChain();
  await chain.setPrice("ETH/USDT", 3_000_000_000n); // prices and amounts have 6 decimals
  snapshot = await chain.snapshot();
});
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"] }); // faked timers would stop sockets and timeouts
  vi.setSystemTime(await chain.revert(snapshot));
});
afterAll(() => chain?.stop());

async function bet(client) {
  return await client.execute(
    await client.quote({
      symbol: "ETH/USDT",
      lowerPrice: 2_970_000_000n,
      upperPrice: 3_030_000_000n,
      betAmount: 10_000_000n,
      startTime: Date.now(),
      endTime: Date.now() + 60_000,
    }),
  );
}

test.each([
  { price: 3_010_000_000n, outcome: "won" },
  { price: 3_100_000_000n, outcome: "lost" },
])("a bet is $outcome if the price goes to $price", async ({ price, outcome }) => {
  const client = new RangemakerClient({ ...chain.options, wallet: chain.wallets[0] });
  const { thesisId } = await bet(client);
  vi.setSystemTime(await chain.advance(61_000, { "ETH/USDT": price }));
  const { status } = await client.settled(thesisId, 5_000);
  expect(status).toBe(outcome);
});
