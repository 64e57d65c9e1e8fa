import assert from "node:assert/strict";
import { CoreClient } from "../../lib/net/core_client.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { parseOptions } from "../../lib/cli/options.ts";
import { configOption } from "../../lib/cli/shared_options.ts";
import {
  type NodeOptions,
  type NodeSettings,
  options,
  resolveSettings,
} from "../../services/node/options.ts";
import { effectsOfListening, everyOption, listening } from "../support/every_option.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { freePort } from "../support/ports.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { tomlOf, withFolder, withMarketsFile } from "../support/files.ts";
import { actors, ETH } from "./support/actors.ts";
import { startFakeOracle } from "./support/fake_oracle.ts";
import { testOptions } from "./support/running_node.ts";
import { SteppedNode } from "./support/stepped_node.ts";

const { base, quote, symbol } = ETH;
const { admin, solver, user } = actors;

Deno.test(
  "Node: every option has its effect",
  everyOption(options, (observe) =>
    withMarketsFile(
      tomlOf([ETH]),
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
            chainId: async () => assert.equal(await client.getChainId(), 7),
            markets: async () => {
              assert.deepEqual(Object.keys(await client.getPrices()), [symbol]);
            },
            minBet: async () => assert.equal((await client.getLimits()).minBetAmount, given.minBet),
            maxStartAheadMs: async () => {
              assert.equal((await call("core_getLimits")).maxStartAheadMs, 7);
            },
            relayers: async () => {
              const { permissions } = await client.getAccount(DEV_ACCOUNTS.relayer.address);
              assert.deepEqual(permissions, ["relayer"]);
            },
            admins: async () => {
              assert.deepEqual((await client.getAccount(admin.address)).permissions, ["admin"]);
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
    )),
);

function fromFlags(...argv: string[]) {
  const text = { name: "node", description: "", examples: [] };
  return parseOptions(text, { ...options, config: configOption }, argv, () => undefined);
}

/** What the node reads from a settings file, with arguments. */
function fromFile(text: string, ...argv: string[]) {
  const path = Deno.makeTempFileSync({ suffix: ".toml" });
  try {
    Deno.writeTextFileSync(path, text);
    return resolveSettings(fromFlags("--config", path, ...argv), SPEC_MARKETS);
  } finally {
    Deno.removeSync(path);
  }
}

Deno.test("price oracle spec, service_url: the scheme may be left out", () => {
  const { schema } = options.oracleUrl.kind;
  const urls = {
    "localhost:8550": "http://localhost:8550",
    "https://oracle.example/": "https://oracle.example",
    "http://[::1]:1": "http://[::1]:1",
    oracle: "http://oracle",
  };
  for (const [text, url] of Object.entries(urls)) assert.equal(schema.parse(text), url);
  for (const bad of ["", "http://", "https:///", "a b", "localhost:99999", "ftp://oracle"]) {
    assert.equal(schema.safeParse(bad).success, false, bad);
  }
});

Deno.test("price oracle spec, Write node [oracle] settings: keys and defaults", () => {
  const oracleOf = (settings: NodeSettings) => {
    const { ringBufferSize, maxStaleMs, oracleUrl, oracleTimeoutMs } = settings;
    return [ringBufferSize, maxStaleMs, oracleUrl, oracleTimeoutMs];
  };
  const byDefault = oracleOf(resolveSettings(fromFlags(), SPEC_MARKETS));
  assert.deepEqual(byDefault, [65_536, 3_000, "http://localhost:8550", 10]);
  const given = fromFile(
    `[oracle]
     min_sources = 3 # of the oracle itself
     ring_buffer_size = 1024
     max_stale_ms = 5_000
     service_url = "https://oracle.example"
     timeout_ms = 20`,
  );
  assert.deepEqual(oracleOf(given), [1_024, 5_000, "https://oracle.example", 20]);
});

Deno.test("resolveSettings: chain, theses and genesis come from the file", () => {
  const settings = fromFile(
    `chain_id = 7
     [node]
     max_start_ahead_ms = 60_000
     relayers = ["${user.address.toLowerCase()}"]
     [node.balances]
     "${user.address.toLowerCase()}" = 9_007_199_254_740_993
     "${solver.address}" = "18446744073709551615"
     "${admin.address}" = 0`,
  );
  assert.deepEqual([settings.chainId, settings.isDevGenesis], [7, false]);
  assert.equal(settings.maxStartAheadMs, 60_000);
  assert.deepEqual(settings.permissions, { relayers: [user.address], admins: [] });
  assert.deepEqual(
    settings.balances,
    new Map([
      [user.address, 9_007_199_254_740_993n],
      [solver.address, 2n ** 64n - 1n],
      [admin.address, 0n],
    ]),
  );
});

Deno.test("resolveSettings: options override the file, key by key", () => {
  const balances = ["--balances", `${user.address}=2`];
  const settings = fromFile(
    `chain_id = 7
     [oracle]
     max_stale_ms = 5000
     timeout_ms = 20
     [node]
     admins = ["${user.address}"]
     balances = { "${user.address}" = 1 }`,
    ...["--max-stale-ms", "4000", "--chain-id", "8", ...balances],
  );
  assert.deepEqual([settings.maxStaleMs, settings.oracleTimeoutMs], [4_000, 20]);
  assert.equal(settings.chainId, 8);
  assert.deepEqual(settings.permissions, { relayers: [], admins: [user.address] });
  assert.deepEqual(settings.balances, new Map([[user.address, 2n]]));
});

Deno.test("resolveSettings: the genesis has the development accounts unless a part of it is set", () => {
  const genesisOf = (given: Partial<NodeOptions>) => {
    const { permissions, balances, isDevGenesis } = resolveSettings(
      { ...fromFlags(), ...given },
      SPEC_MARKETS,
    );
    return { ...permissions, balances, isDevGenesis };
  };
  assert.deepEqual(genesisOf({}), {
    relayers: [DEV_ACCOUNTS.relayer.address],
    admins: [DEV_ACCOUNTS.admin.address],
    isDevGenesis: true,
    balances: new Map([[DEV_ACCOUNTS.solver.address, 1_000_000_000_000n]]),
  });
  const none = { relayers: [], admins: [], balances: undefined, isDevGenesis: false };
  const parts = [{ relayers: [user.address] }, { admins: [user.address] }, { balances: new Map() }];
  for (const given of parts) {
    assert.deepEqual(genesisOf(given), { ...none, ...given });
  }
});

Deno.test("resolveSettings: the two ports differ, unless both are free ones", () => {
  const settingsOf = (port: string, readPort: string) =>
    resolveSettings(fromFlags("--port", port, "--read-port", readPort), SPEC_MARKETS);
  assert.throws(() => settingsOf("8545", "8545"), {
    name: "UsageError",
    message: "Invalid --read-port: Expected another port than --port: received 8545",
  });
  assert.equal(settingsOf("0", "0").readPort, 0);
});

const WRONG: [text: string, message: string][] = [
  ["[oracle]\nring_size = 1", "settings file \\S+: oracle: Unknown key ring_size$"],
  [
    "[oracle]\ntmeout_ms = 1",
    "settings file \\S+: oracle: Unknown key tmeout_ms \\(did you mean timeout_ms\\?\\)$",
  ],
  ["[node]\nring_size = 1", "settings file \\S+: node: Unknown key ring_size$"],
  ["[oracles]", "settings file \\S+: Unknown key oracles \\(did you mean oracle\\?\\)$"],
  ["max_bet = 1", "settings file \\S+: Unknown key max_bet$"],
  ["oracle = 1", "settings file \\S+: oracle: Expected a section$"],
  ["[oracle]\nmax_stale_ms = ", "settings file \\S+: line 2, column \\d+: .+$"],
  ["[oracle]\ntimeout_ms = 10.5", "oracle.timeout_ms .*: Expected a whole number from 1 to 90"],
  ["[oracle]\ntimeout_ms = 100", "oracle.timeout_ms .*: Expected a whole number from 1 to 90"],
  ["[oracle]\nmax_stale_ms = -1", "oracle.max_stale_ms .*: Expected a whole number of at least"],
  ["[oracle]\nring_buffer_size = 65535", "oracle.ring_buffer_size .*: Expected a power of two"],
  ["[oracle]\nservice_url = 'a b'", "oracle.service_url .*: Expected host:port or an http"],
  ["[node]\nadmins = ['0x1']", "node.admins .*: Expected an address"],
  [`[node.balances]\n"${user.address}" = 1.5`, "node.balances .*: Expected <address>=<amount>"],
  [`[node.balances]\n"${user.address}" = -1`, "node.balances .*: Expected <address>=<amount>"],
  [
    `[node.balances]\n"${user.address}" = 1\n"${user.address.toLowerCase()}" = 2`,
    `node.balances .*: Expected ${user.address} once`,
  ],
];

for (const [text, rule] of WRONG) {
  Deno.test(`resolveSettings: ${JSON.stringify(text)} is refused with its position`, () => {
    const message = new RegExp(`^Invalid ${rule}`);
    assert.throws(() => fromFile(text), { name: "UsageError", message });
  });
}

Deno.test("resolveSettings: a file that does not exist is refused", () => {
  assert.throws(() => fromFlags("--config", "no-such-file.toml"), {
    name: "UsageError",
    message: /^Settings file no-such-file\.toml cannot be read: /,
  });
});
