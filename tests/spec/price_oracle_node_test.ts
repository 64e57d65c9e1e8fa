/**
 * The price oracle document: how the write node pulls prices, what it does without them, and how long
 * it remembers them. tests/node/outage_test.ts and checkpoints_test.ts hold the boundaries of its
 * States and Limits with a clock of their own.
 */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { PriceRing } from "../../lib/prices/price_ring.ts";
import { SLOT_MS } from "../../lib/prices/price_slots.ts";
import { Signer } from "../../lib/protocol/signature.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { SettlementError } from "../../services/node/errors.ts";
import { type NodeOptions, options, type RunningNode, startNode } from "../../services/node/mod.ts";
import { httpPull } from "../../services/node/oracle/oracle_pull.ts";
import { DEFAULTS } from "../../services/node/settings.ts";
import { options as solverOptions, startSolver } from "../../services/solver/mod.ts";
import { actors, backfill, deposit, ETH, hashOf, rfqSubmit } from "../node/support/actors.ts";
import { PRICES, pricesBody, startFakeOracle } from "../node/support/fake_oracle.ts";
import { TestChain } from "../node/support/test_chain.ts";
import { assertFailure, post } from "../support/envelope.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { signedExecution } from "./quotes.ts";
import { newWallet, rpc, untilPriced } from "./support.ts";

type FakeOracle = ReturnType<typeof startFakeOracle>;

/** Plays with a node whose oracle does what the test says. */
async function withNode(
  given: Partial<NodeOptions>,
  play: (node: RunningNode, oracle: FakeOracle) => Promise<void>,
): Promise<void> {
  const oracle = startFakeOracle();
  // A busy test machine may take longer than the 10 ms of the document to answer itself.
  const patient = { port: 0, oracleUrl: oracle.url, oracleTimeoutMs: 90 };
  const node = await startNode(withDefaults(options, { ...patient, ...given }));
  try {
    await untilPriced(node.url);
    await play(node, oracle);
  } finally {
    await node.stop();
    await oracle.stop();
  }
}

async function blockNumber(url: string): Promise<number> {
  return Number((await rpc(url, "eth_blockNumber")).result);
}

/** Resolves once so many more blocks are sealed. */
async function moreBlocks(url: string, count: number): Promise<void> {
  const until = await blockNumber(url) + count;
  await eventually(`block ${until}`, async () => await blockNumber(url) >= until || undefined);
}

async function priceOfEth(url: string): Promise<{ price: string; state: string }> {
  return Object((await rpc(url, "core_getPrices")).result)["ETH/USDT"];
}

Deno.test("price oracle, pull cycle, step 1: the node asks GET /prices, once a checkpoint at most", async () => {
  const asked: string[] = [];
  const oracle = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    asked.push(`${request.method} ${new URL(request.url).pathname}`);
    return Response.json(pricesBody(Date.now()));
  });
  const oracleUrl = `127.0.0.1:${oracle.addr.port}`;
  const node = await startNode(withDefaults(options, { port: 0, oracleUrl, oracleTimeoutMs: 90 }));
  try {
    await moreBlocks(node.url, 5);
    assert.deepEqual([...new Set(asked)], ["GET /prices"]);
    const pulls = asked.length;
    assert.ok(pulls <= await blockNumber(node.url) + 1, `${pulls} pulls`);
  } finally {
    await node.stop();
    await oracle.shutdown();
  }
});

for (const [waitMs, outcome] of [[9, "waits"], [10, "gives up"]] as const) {
  Deno.test(`price oracle, Limits, pull timeout 10 ms: after ${waitMs} ms the node ${outcome}`, async () => {
    const oracle = startFakeOracle();
    const clock = new FakeClock();
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<Response>()];
    oracle.answer = () => {
      asked.resolve();
      return answer.promise;
    };
    const pulling = httpPull(oracle.url, DEFAULTS.oracleTimeoutMs, clock)();
    await asked.promise;
    clock.advance(waitMs);
    answer.resolve(Response.json({ prices: {} }));
    const result = await pulling;
    assert.equal("body" in result ? "waits" : "gives up", outcome);
    await oracle.stop();
  });
}

Deno.test("price oracle, pull cycle, step 2: the prices that came are the node's, and are recorded", () =>
  withNode({}, async (node, oracle) => {
    oracle.prices["ETH/USDT"] = 3_123_456_789n;
    await eventually("the new price", async () => {
      return (await priceOfEth(node.url)).price === "3123456789" || undefined;
    });
    await moreBlocks(node.url, 2);
    const query = { base: ETH.base, quote: ETH.quote, from: Date.now() - 5_000, to: Date.now() };
    const { prices } = Object((await rpc(node.url, "core_getPriceHistory", [query])).result);
    assert.equal(prices.at(-1).price, "3123456789");
  }));

for (
  const [what, answer] of [
    ["an error", () => new Response("away", { status: 503 })],
    ["a timeout", (end: Promise<void>) => end.then(() => new Response("late"))],
    ["nonsense", () => new Response("{")],
  ] as const
) {
  Deno.test(`price oracle, pull cycle, step 3: after ${what} the last known prices are used`, () =>
    withNode({}, async (node, oracle) => {
      const end = Promise.withResolvers<void>();
      const fromMs = Date.now();
      oracle.answer = () => answer(end.promise);
      await eventually("a failed pull", async () => {
        const { result } = await rpc(node.url, "core_getOracleStatus");
        return Object(result).failuresInARow >= 3 || undefined;
      });
      const { price, state } = await priceOfEth(node.url);
      assert.deepEqual([price, state], [PRICES["ETH/USDT"]?.toString(), "fresh"]);
      const query = { base: ETH.base, quote: ETH.quote, from: fromMs, to: Date.now() };
      const { prices } = Object((await rpc(node.url, "core_getPriceHistory", [query])).result);
      assert.ok(prices.length > 0, "checkpoints went on recording");
      end.resolve();
    }));
}

Deno.test("price oracle, States, stale and fresh again: RFQ operations pause, then resume", () => {
  const wallet = newWallet();
  const balances = new Map([
    [wallet.address, 1_000_000_000n],
    [DEV_ACCOUNTS.solver.address, 1_000_000_000n],
  ]);
  return withNode({ maxStaleMs: 200, balances }, async (node, oracle) => {
    const solver = await startSolver(withDefaults(solverOptions, {
      port: 0,
      rpcUrl: node.url,
      wsUrl: node.wsUrl,
      privateKey: new Signer(DEV_ACCOUNTS.solver.privateKey),
      database: ":memory:",
    }));
    try {
      const { answer } = oracle;
      oracle.answer = () => new Response("away", { status: 503 });
      const stale = async () => (await priceOfEth(node.url)).state === "stale" || undefined;
      await eventually("stale prices", stale);
      const refused = rfqSubmit({
        timestamp: Date.now(),
        user: new Signer(DEV_ACCOUNTS.relayer.privateKey),
        solver: new Signer(DEV_ACCOUNTS.solver.privateKey),
      });
      const sent = JSON.parse(
        JSON.stringify(refused, (_, v) => typeof v === "bigint" ? `${v}` : v),
      );
      const { result } = await rpc(node.url, "core_sendTransaction", [sent]);
      assert.equal(Object(result).error.code, "ORACLE_STALE");
      const execution = await signedExecution(solver.url, wallet);
      await assertFailure(post(`${solver.url}/execute`, execution), 503, /no fresh price/);
      oracle.answer = answer;
      await untilPriced(node.url);
      const { body } = await post(`${solver.url}/execute`, execution);
      assert.equal(Object(body.result).status, "committed", JSON.stringify(body));
    } finally {
      await solver.stop();
    }
  });
});

for (
  const [who, signer] of [["a stranger", actors.stranger], ["an admin", actors.admin]] as const
) {
  const filled = who === "an admin";
  const then = filled ? "settled" : "PERMISSION_DENIED, and still missing";
  Deno.test(`price oracle, States, needs backfill: NeedsBackfill outside the ring; filled by ${who}: ${then}`, () => {
    const test = new TestChain({ ringSlots: 64 });
    test.run(3);
    const { address: user } = actors.user;
    const { now: start } = test;
    test.chain.submit(deposit({
      timestamp: start,
      user,
      amount: 5_000_000n,
      externalTxHash: hashOf(1),
    }));
    const endTime = start + 10_000;
    test.chain.submit(rfqSubmit({ timestamp: start, endTime }));
    test.run(100);
    const code = () => {
      try {
        test.chain.settle(1);
      } catch (thrown) {
        assert.ok(thrown instanceof SettlementError);
        return thrown.code;
      }
    };
    assert.equal(code(), "NeedsBackfill");
    const prices = Array<bigint>(37).fill(3_000_000_000n);
    const receipt = test.chain.submit(
      backfill({ timestamp: test.now, startTime: start, prices, by: signer }),
    );
    assert.equal(receipt.error?.code, filled ? undefined : "PERMISSION_DENIED");
    assert.equal(code(), filled ? undefined : "NeedsBackfill");
    assert.equal(test.chain.state.ledger.thesis(1)?.status, filled ? "won" : "needs_backfill");
  });
}

const RING = "price oracle, Price history ring buffer";

Deno.test(`${RING}, slots, slot duration, total span, slot size, size per market`, () => {
  const ring = new PriceRing(DEFAULTS.ringBufferSize);
  assert.equal(ring.slots, 65_536);
  assert.equal(SLOT_MS, 100);
  assert.equal(ring.slots * SLOT_MS, 6_553_600);
  assert.equal(ring.bytes.byteLength / ring.slots, 16);
  assert.equal(ring.bytes.byteLength, 1_048_576);
});

Deno.test(`${RING}, slot size: 8 bytes of timestamp, 8 of price`, () => {
  const ring = new PriceRing(DEFAULTS.ringBufferSize);
  const time = 65_536 * SLOT_MS * 3;
  ring.append(time, 123_456_789n);
  const slot = new DataView(ring.bytes.buffer, 0, 16);
  assert.deepEqual([slot.getFloat64(0, true), slot.getBigUint64(8, true)], [time, 123_456_789n]);
});

Deno.test(`${RING}, total span: 6553.6 s are known, the slot before them is not`, () => {
  const ring = new PriceRing(DEFAULTS.ringBufferSize);
  const first = 1_700_000_000_000;
  for (let n = 0; n <= 65_536; n++) ring.append(first + n * SLOT_MS, BigInt(n + 1));
  const newest = first + 65_536 * SLOT_MS;
  assert.equal(ring.at(first), undefined);
  assert.equal(ring.at(first + SLOT_MS), 2n);
  assert.equal(ring.at(newest - 600_000), 65_537n - 6_000n, "ten minutes ago");
  assert.equal(ring.at(newest), 65_537n);
});
