/**
 * How a front end tests its bets on a development stack: money from the faucet, the end of a bet by
 * time travel, and a clean chain again by a revert.
 */
import assert from "node:assert/strict";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type Bet, RangemakerClient } from "../../lib/client/mod.ts";
import { ShiftedClock, systemClock } from "../../lib/clock.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { startStack } from "../../services/stack/stack.ts";
import { recorded, resultOf } from "../support/http_answers.ts";

/** Ten minutes that nobody has to wait for. */
const WINDOW_MS = 600_000;

/** From the quote to the outcome, for the fastest bet: others may have waited for a busy machine. */
const SETTLED_WITHIN_MS = 1_000;

Deno.test("stack: ten-minute bets are settled within a second by moving the chain's time, repeatedly", async () => {
  await using stack = await startStack({ ports: FREE_PORTS, seed: 1 });
  const { proxy } = stack.urls;
  const wallet = privateKeyToAccount(generatePrivateKey());
  const clock = new ShiftedClock(systemClock);
  const client = new RangemakerClient({ urls: stack.urls, chainId: 1337, wallet, clock });
  /** Calls a method that moves the time of the chain, and moves the client with it. */
  const travel = async (method: string, params: unknown) => {
    const { now } = await resultOf(proxy, method, [params]);
    clock.shift(now - clock.now());
  };
  const betOn = (price: bigint): Bet => ({
    symbol: "ETH/USDT",
    lowerPrice: price * 90n / 100n,
    upperPrice: price * 110n / 100n,
    betAmount: 1_000_000n,
    startTime: clock.now(),
    endTime: clock.now() + WINDOW_MS,
  });
  const { price } = await waitForPrices(stack.urls, client, systemClock);
  await resultOf(proxy, "core_faucet", [wallet.address, "50000000"]);
  const snapshot = await resultOf(proxy, "core_snapshot", []);
  const tookMs: number[] = [];
  const play = async (path: bigint) => {
    const startedMs = performance.now();
    const { thesisId } = await recorded(async () =>
      await client.execute(await client.quote(betOn(price)))
    );
    await travel("core_advance", {
      ms: WINDOW_MS + 1_000,
      prices: { "ETH/USDT": path.toString() },
    });
    const { status } = await client.settled(thesisId, 30_000);
    tookMs.push(performance.now() - startedMs);
    assert.equal(status, path === price ? "won" : "lost");
    return thesisId;
  };
  for (let test = 0; test < 2; test++) {
    const won = await play(price);
    // Bridge and solver have travelled, too.
    await recorded(() => client.deposit(1_000_000n));
    const lost = await play(price * 120n / 100n);
    // The clock goes back, and both bets never happened.
    await travel("core_revert", snapshot);
    assert.equal((await client.account()).balance, 50_000_000n);
    for (const id of [won, lost]) {
      assert.equal(await resultOf(proxy, "core_getThesis", [id]), null);
    }
  }
  assert(Math.min(...tookMs) < SETTLED_WITHIN_MS, `${tookMs} ms`);
});
