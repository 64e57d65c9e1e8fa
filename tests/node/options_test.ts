import assert from "node:assert/strict";
import { CoreClient } from "../../lib/net/core_client.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { options } from "../../services/node/mod.ts";
import { effectsOfListening, everyOption, listening } from "../support/every_option.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { freePort } from "../support/ports.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { withFolder, withMarketsFile } from "../support/files.ts";
import { actors, ETH } from "./support/actors.ts";
import { startFakeOracle } from "./support/fake_oracle.ts";
import { testOptions } from "./support/running_node.ts";
import { SteppedNode } from "./support/stepped_node.ts";

const { base, quote, symbol } = ETH;
const { admin, solver, user } = actors;
const market = `[[market]]\nsymbol = "${symbol}"\nbase = "${base}"\nquote = "${quote}"\n`;

Deno.test(
  "Node: every option has its effect",
  everyOption(
    options,
    (observe) =>
      withMarketsFile(
        market,
        (markets) =>
          withFolder(async (dataDir) => {
            const clock = new FakeClock();
            await using oracle = startFakeOracle(() => clock.now());
            const given = {
              ...listening(),
              readPort: freePort(),
              oracleUrl: oracle.url,
              oracleTimeoutMs: 60,
              maxStaleMs: 5_000,
              ringBufferSize: 64,
              chainId: 7,
              markets,
              minBet: 2_000_000n,
              relayers: [DEV_ACCOUNTS.relayer.address],
              admins: [admin.address],
              balances: new Map([[solver.address, 123n]]),
              maxStartAheadMs: 7,
              dataDir,
              retain: 700_000,
              dev: true,
            };
            await using stepped = await SteppedNode.start(testOptions(given), clock);
            const { node, client } = stepped;
            const reader = new CoreClient({ url: node.readUrl });
            await using socket = await RpcSocket.open(node.wsUrl);
            const call = async (method: string, ...params: unknown[]) =>
              Object((await socket.call(method, params)).result);
            const stateOfPrice = async () => (await client.getPrices())[symbol]?.state;
            await stepped.run(1);
            await observe(given, {
              ...effectsOfListening(node.url, given, "/health"),
              readPort: async () => {
                assert.equal(new URL(node.readUrl).port, String(given.readPort));
                assert.equal(await reader.acceptsTransactions(), false);
              },
              oracleUrl: async () => assert.equal(await stateOfPrice(), "fresh"),
              chainId: async () => assert.equal(await client.chainId(), 7),
              markets: async () => {
                assert.deepEqual(Object.keys(await client.getPrices()), [symbol]);
              },
              minBet: async () => assert.equal(await client.minBetAmount(), given.minBet),
              maxStartAheadMs: async () => {
                assert.equal((await call("core_getLimits")).maxStartAheadMs, 7);
              },
              relayers: async () => {
                const { permissions } = await client.getAccount(DEV_ACCOUNTS.relayer.address);
                assert.deepEqual(permissions, ["relayer"]);
              },
              admins: async () => {
                assert.deepEqual((await client.getAccount(admin.address)).permissions, [
                  "admin",
                ]);
              },
              balances: async () => {
                assert.equal((await client.getAccount(solver.address)).balance, 123n);
              },
              dataDir: () => assert.ok(Deno.statSync(`${dataDir}/chain.sqlite`).size > 0),
              ringBufferSize: async () => {
                const from = stepped.now;
                await stepped.run(64);
                const query = { base, quote, from, to: from + 200 };
                const { prices } = await client.getPriceHistory(query);
                assert.deepEqual(prices.map(({ time }) => time), [from + 100]);
              },
              // At the default of 10 ms the pull would have ended before.
              oracleTimeoutMs: async () => {
                const { answer } = oracle;
                const late = Promise.withResolvers<Response>();
                oracle.answer = () => late.promise;
                const failure = async () => (await call("core_getOracleStatus")).lastFailure;
                await stepped.run(1, async () => {
                  clock.advance(59);
                  assert.equal(await failure(), null);
                  clock.advance(1);
                });
                assert.match((await failure()).reason, /within 60 ms/);
                oracle.answer = answer;
                late.resolve(answer(new Request(oracle.url)));
              },
              maxStaleMs: async () => {
                const { answer } = oracle;
                oracle.answer = () => new Response("", { status: 500 });
                await stepped.run(45); // 3 s at the default
                assert.equal(await stateOfPrice(), "fresh");
                await stepped.run(10);
                assert.equal(await stateOfPrice(), "stale");
                oracle.answer = answer;
              },
              dev: async () => {
                const { txHash } = await call("core_faucet", user.address, "5");
                assert.equal((await client.getTransaction(txHash))?.status, "committed");
              },
              retain: async () => {
                const { txHash } = await call("core_faucet", user.address, "5");
                clock.jump(given.retain - 200);
                await stepped.run(1);
                assert.equal((await client.getTransaction(txHash))?.status, "committed");
                await stepped.run(3);
                assert.equal(await client.getTransaction(txHash), null);
              },
            });
          }),
      ),
  ),
);
