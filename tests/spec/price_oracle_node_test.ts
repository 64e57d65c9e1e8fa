/**
 * The price oracle document: how the write node pulls prices, what it does without them, and how
 * long it keeps them. tests/node/outage_test.ts and checkpoints_test.ts test the boundaries of its
 * States and Limits with a fake clock, and backfills; tests/lib/prices/price_ring_test.ts its ring
 * buffer.
 */
import { toWire } from "../../lib/protocol/scalars.ts";
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { options } from "../../services/node/mod.ts";
import { OracleClient } from "../../services/node/oracle/oracle_client.ts";
import { ETH, rfqSubmit } from "../node/support/actors.ts";
import { PRICES, pricesBody, startFakeOracle } from "../node/support/fake_oracle.ts";
import { SteppedNode, type SteppedParts, withSteppedNode } from "../node/support/stepped_node.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { signedExecution, withSolver } from "./quotes.ts";
import { newWallet, rpc } from "./support.ts";

const DEFAULTS = withDefaults(options, {});

async function priceOfEth(url: string): Promise<{ price: string; state: string }> {
  return Object((await rpc(url, "core_getPrices")).result)["ETH/USDT"];
}

/** Prices of ETH from a time on, and what is missing of them. */
async function historySince({ client, stepped }: SteppedParts, from: number) {
  const { base, quote } = ETH;
  const page = await client.getPriceHistory({ base, quote, from, to: stepped.now + 1 });
  return { prices: page.prices.map(({ price }) => price), missing: page.missing };
}

Deno.test("price oracle, pull cycle, step 1: the node requests GET /prices once per checkpoint", async () => {
  const clock = new FakeClock();
  const asked: string[] = [];
  await using oracle = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      asked.push(`${request.method} ${new URL(request.url).pathname}`);
      return Response.json(pricesBody(clock.now()));
    },
  );
  const oracleUrl = `127.0.0.1:${oracle.addr.port}`;
  await using stepped = await SteppedNode.start(
    withDefaults(options, { port: 0, readPort: 0, oracleUrl, dataDir: ":memory:" }),
    clock,
  );
  await stepped.run(7);
  assert.deepEqual(asked, Array(7).fill("GET /prices"));
});

for (const [waitMs, outcome] of [[9, "waits"], [10, "gives up"]] as const) {
  Deno.test(`price oracle, Limits, pull timeout 10 ms: after ${waitMs} ms the node ${outcome}`, async () => {
    await using oracle = startFakeOracle();
    const clock = new FakeClock();
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<Response>()];
    oracle.answer = () => {
      asked.resolve();
      return answer.promise;
    };
    const pulling = new OracleClient(oracle.url, DEFAULTS.oracleTimeoutMs, clock).pull();
    await asked.promise;
    clock.advance(waitMs);
    answer.resolve(Response.json({ prices: {} }));
    const result = await pulling;
    assert.equal("body" in result ? "waits" : "gives up", outcome);
  });
}

Deno.test("price oracle, pull cycle, step 2: received prices are used and recorded", () =>
  withSteppedNode(async (parts) => {
    const from = parts.stepped.now;
    parts.oracle.prices["ETH/USDT"] = 3_123_456_789n;
    await parts.stepped.run(2);
    assert.equal((await priceOfEth(parts.node.url)).price, "3123456789");
    assert.deepEqual(await historySince(parts, from), {
      prices: [PRICES["ETH/USDT"], 3_123_456_789n, 3_123_456_789n],
      missing: [],
    });
  }));

for (
  const [what, outcome, answer] of [
    ["an error", "error", () => new Response("away", { status: 503 })],
    ["a timeout", "timeout", (late: Promise<Response>) => late],
    ["nonsense", "error", () => new Response("{")],
  ] as const
) {
  Deno.test(`price oracle, pull cycle, step 3: after ${what} the last known prices are used`, () =>
    withSteppedNode(async (parts) => {
      const { stepped, clock, oracle, node } = parts;
      const from = stepped.now;
      const late = Promise.withResolvers<Response>();
      let asked = Promise.withResolvers<void>();
      oracle.prices["ETH/USDT"] = 7n;
      oracle.answer = () => {
        asked.resolve();
        return answer(late.promise);
      };
      await stepped.run(3, async () => {
        await asked.promise;
        asked = Promise.withResolvers();
        if (outcome === "timeout") clock.advance(DEFAULTS.oracleTimeoutMs);
      });
      const { result } = await rpc(node.url, "core_getOracleStatus");
      const { failuresInARow, lastFailure } = Object(result);
      assert.deepEqual([failuresInARow, lastFailure.outcome], [3, outcome]);
      const { price, state } = await priceOfEth(node.url);
      assert.deepEqual([price, state], [PRICES["ETH/USDT"]?.toString(), "fresh"]);
      assert.deepEqual(await historySince(parts, from), {
        prices: Array(4).fill(PRICES["ETH/USDT"]),
        missing: [],
      });
      late.resolve(new Response("late"));
    }, { oracleTimeoutMs: DEFAULTS.oracleTimeoutMs }));
}

Deno.test("price oracle, States, stale and fresh again: RFQ operations pause, then resume", () => {
  const wallet = newWallet();
  const balances = new Map([
    [wallet.address, 1_000_000_000n],
    [DEV_ACCOUNTS.solver.address, 1_000_000_000n],
  ]);
  return withSteppedNode(
    async ({ stepped, node, oracle }) => {
      await withSolver({ node: node.url, proxyWs: node.wsUrl }, {}, async (url) => {
        const { answer } = oracle;
        oracle.answer = () => new Response("away", { status: 503 });
        await stepped.run(30);
        assert.equal((await priceOfEth(node.url)).state, "fresh");
        await stepped.run(1);
        assert.equal((await priceOfEth(node.url)).state, "stale");
        const refused = rfqSubmit({
          timestamp: stepped.now,
          user: new LocalSigner(DEV_ACCOUNTS.relayer.privateKey),
          solver: new LocalSigner(DEV_ACCOUNTS.solver.privateKey),
        });
        const { result } = await rpc(node.url, "core_sendTransaction", [
          toWire(refused),
        ]);
        assert.equal(Object(result).error.code, "ORACLE_STALE");
        const execution = await signedExecution(url, wallet);
        await assertFailure(post(`${url}/execute`, execution), 503, /no fresh price/);
        oracle.answer = answer;
        await stepped.run(1);
        const { body } = await post(`${url}/execute`, execution);
        assert.equal(Object(body.result).status, "committed", JSON.stringify(body));
      });
    },
    { balances },
    // The solver's transaction has to be on the time of the node, give or take a minute.
    new FakeClock(Date.now()),
  );
});
