/** The test kit, from its source: a front end's tests use it as the package does. */
import assert from "node:assert/strict";
import { RangemakerClient } from "../../../lib/client/mod.ts";
import { startChain, type TestChain } from "../../../lib/testing/mod.ts";

const ETH = 3_000_000_000n;
const WINDOW_MS = 60_000;
const DAY_MS = 86_400_000;

/** A client for one of the chain's wallets, and its bet on 1 % around a price. */
async function bet(chain: TestChain, windowMs = WINDOW_MS, wallet = chain.wallets[0]) {
  const client = new RangemakerClient({ ...chain.options, wallet });
  const startTime = chain.now();
  const offer = await client.quote({
    symbol: "ETH/USDT",
    lowerPrice: ETH * 99n / 100n,
    upperPrice: ETH * 101n / 100n,
    betAmount: 10_000_000n,
    startTime,
    endTime: startTime + windowMs,
  });
  return { client, ...await client.execute(offer) };
}

Deno.test("startChain: a test controls prices, time, snapshots and balances", async (t) => {
  await using chain = await startChain({ wallets: 2, balance: 50_000_000n });

  await t.step("wallets are funded, and the same in every run", async () => {
    const [first, second] = chain.wallets;
    assert.equal(first?.address, "0x8033bf5805F4B91bc0caE5f293D5FFfF62e8a49b");
    const client = new RangemakerClient({ ...chain.options, wallet: second });
    assert.equal((await client.account()).balance, 50_000_000n);
    await chain.faucet(await client.address(), 1_000_000n);
    assert.equal((await client.account()).balance, 51_000_000n);
  });

  const id = await chain.snapshot();
  let thesisOfWon = 0;

  await t.step("a bet is won without waiting for its window, if the price stays", async () => {
    const startedAtMs = performance.now();
    await chain.setPrice("ETH/USDT", ETH);
    const { client, thesisId } = await bet(chain);
    await chain.advance(WINDOW_MS + 1_000);
    const { status, payout } = await client.settled(thesisId, 5_000);
    assert.equal(status, "won");
    assert.equal((await client.account()).balance, 40_000_000n + payout);
    await client.deposit(1_000_000n); // the bridge has travelled, too
    thesisOfWon = thesisId;
    const tookMs = performance.now() - startedAtMs;
    assert(tookMs < WINDOW_MS, `${tookMs} ms for a window of ${WINDOW_MS} ms`);
  });

  await t.step("a bet of 24 h, the longest, is settled when it is won", async () => {
    const { client, thesisId } = await bet(chain, DAY_MS);
    await chain.advance(DAY_MS);
    assert.equal((await client.settled(thesisId, 5_000)).status, "won");
  });

  await t.step("a revert restores money and time, also for clients", async () => {
    const before = chain.now();
    const revertedMs = await chain.revert(id);
    assert(chain.now() - revertedMs < 1_000 && revertedMs < before - WINDOW_MS);
    const client = new RangemakerClient({ ...chain.options, wallet: chain.wallets[0] });
    assert.equal((await client.account()).balance, 50_000_000n);
    assert.equal(await client.thesis(thesisOfWon), null);
  });

  await t.step("a bet is lost when the price leaves the range", async () => {
    const { client, thesisId } = await bet(chain);
    await chain.setPrice("ETH/USDT", ETH * 2n);
    assert.equal((await client.settled(thesisId, 5_000)).status, "lost");
  });

  await t.step("a price on the way can lose the bet", async () => {
    await chain.setPrice("ETH/USDT", ETH);
    const { client, thesisId } = await bet(chain);
    for (const price of [ETH, ETH / 2n, ETH]) {
      await chain.advance(WINDOW_MS / 3, { "ETH/USDT": price });
    }
    const { status, breach } = await client.settled(thesisId, 5_000);
    assert.deepEqual([status, breach?.price], ["lost", ETH / 2n]);
  });

  await t.step("setPrice with null returns to the simulated prices", async () => {
    await chain.setPrice("ETH/USDT", ETH * 2n);
    await chain.setPrice("ETH/USDT", null);
    const client = new RangemakerClient(chain.options);
    for (;;) {
      const { price } = (await client.prices())["ETH/USDT"] ?? assert.fail("No price");
      if (price < ETH + ETH / 2n) break;
    }
  });

  await t.step("setPrice works where fetch is a page's, which may not PUT: happy-dom", async () => {
    const { fetch } = globalThis;
    const pageFetch: typeof fetch = (url, init) =>
      init?.method === "PUT" ? Promise.reject(new TypeError("Blocked")) : fetch(url, init);
    Object.assign(globalThis, { fetch: pageFetch });
    try {
      await chain.setPrice("ETH/USDT", ETH);
    } finally {
      Object.assign(globalThis, { fetch });
    }
  });

  await t.step("wrong symbols, prices and amounts are refused by name", async () => {
    const names = {
      code: "INVALID_INPUT",
      message: /^Expected one of BTC\/USDT, .*received "ETH"$/,
    };
    await assert.rejects(chain.setPrice("ETH", ETH), names);
    // Programs in JavaScript have no types.
    const number: bigint = JSON.parse("3000");
    const refused = { code: "INVALID_INPUT", message: /Expected a bigint .*received 3000$/ };
    await assert.rejects(chain.setPrice("ETH/USDT", number), refused);
    await assert.rejects(chain.faucet(chain.wallets[0]!.address, number), refused);
    await assert.rejects(chain.advance(1_000, { "ETH/USDT": number }), { code: "INVALID_INPUT" });
    await assert.rejects(startChain({ balance: number }), { code: "INVALID_INPUT" });
    await assert.rejects(startChain({ wallets: -1 }), /wallets: Expected at least 0: received -1/);
    const misspelt: object = { walets: 1 };
    await assert.rejects(startChain(misspelt), { code: "INVALID_INPUT", message: /walets/ });
    await assert.rejects(chain.setPrice("ETH/USDT", 0n), /Expected a price above 0/);
    const refusals: [Promise<unknown>, RegExp][] = [
      [chain.faucet(chain.wallets[0]!.address, 0n), /at least 1/],
      [chain.faucet("0x1", 1n), /Expected an address/],
      [chain.revert(999), /No snapshot has the id 999/],
      [chain.advance(-1), /ms/],
      [chain.advance(1_000, { ETH: ETH }), /BTC\/USDT/],
    ];
    for (const [refused, message] of refusals) {
      await assert.rejects(refused, { code: "INVALID_INPUT", message });
    }
  });

  await t.step("its stop has a time limit even if a test has replaced the timers", async () => {
    const { setTimeout } = globalThis;
    Object.assign(globalThis, { setTimeout: assert.fail });
    try {
      await chain.stop();
    } finally {
      Object.assign(globalThis, { setTimeout });
    }
    await assert.rejects(chain.setPrice("ETH/USDT", ETH), { code: "SERVICE_UNREACHABLE" });
    await assert.rejects(chain.advance(1_000), { code: "NODE_UNREACHABLE" });
  });
});

Deno.test("startChain: an aborted start rejects with CHAIN_NOT_STARTED", async () => {
  const aborter = new AbortController();
  const starting = startChain({ signal: aborter.signal });
  aborter.abort();
  await assert.rejects(starting, { code: "CHAIN_NOT_STARTED" });
});
