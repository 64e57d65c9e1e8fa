import assert from "node:assert/strict";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { parseOptions } from "../../lib/cli/options.ts";
import { configOption } from "../../lib/cli/shared_options.ts";
import { type NodeOptions, options } from "../../services/node/options.ts";
import { type NodeSettings, resolveSettings } from "../../services/node/settings.ts";
import { actors } from "./support/actors.ts";

const user = actors.user.address;

function fromFlags(...argv: string[]) {
  const text = {
    name: "node",
    description: "",
    examples: [],
  };
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

Deno.test("price oracle spec, Write node [oracle] settings: keys and defaults", () => {
  const oracleOf = (settings: NodeSettings) => {
    const { ringBufferSize, maxStaleMs, oracleUrl, oracleTimeoutMs } = settings;
    return [ringBufferSize, maxStaleMs, oracleUrl, oracleTimeoutMs];
  };
  assert.deepEqual(oracleOf(resolveSettings(fromFlags(), SPEC_MARKETS)), [
    65_536,
    3_000,
    "localhost:8550",
    10,
  ]);
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
     relayers = ["${user.toLowerCase()}"]
     [node.balances]
     "${user.toLowerCase()}" = 9_007_199_254_740_993
     "${actors.solver.address}" = "18446744073709551615"
     "${actors.admin.address}" = 0`,
  );
  assert.deepEqual([settings.chainId, settings.isDevGenesis], [7, false]);
  assert.equal(settings.maxStartAheadMs, 60_000);
  assert.deepEqual(settings.permissions, { relayers: [user], admins: [] });
  assert.deepEqual(
    settings.balances,
    new Map([
      [user, 9_007_199_254_740_993n],
      [actors.solver.address, 2n ** 64n - 1n],
      [actors.admin.address, 0n],
    ]),
  );
});

Deno.test("resolveSettings: options override the file, key by key", () => {
  const settings = fromFile(
    `chain_id = 7
     [oracle]
     max_stale_ms = 5000
     timeout_ms = 20
     [node]
     admins = ["${user}"]
     balances = { "${user}" = 1 }`,
    "--max-stale-ms",
    "4000",
    "--chain-id",
    "8",
    "--balances",
    `${user}=2`,
  );
  assert.deepEqual([settings.maxStaleMs, settings.oracleTimeoutMs], [4_000, 20]);
  assert.equal(settings.chainId, 8);
  assert.deepEqual(settings.permissions, { relayers: [], admins: [user] });
  assert.deepEqual(settings.balances, new Map([[user, 2n]]));
});

Deno.test("resolveSettings: the genesis has the development accounts unless a part of it is set", () => {
  const genesisOf = (given: Partial<NodeOptions>) => {
    const { permissions, balances, isDevGenesis } = resolveSettings(
      { ...fromFlags(), ...given },
      SPEC_MARKETS,
    );
    return { ...permissions, balances, isDevGenesis };
  };
  const { relayer, admin, solver } = DEV_ACCOUNTS;
  assert.deepEqual(genesisOf({}), {
    relayers: [relayer.address],
    admins: [admin.address],
    isDevGenesis: true,
    balances: new Map([[solver.address, 1_000_000_000_000n]]),
  });
  const none = { relayers: [], admins: [], balances: undefined, isDevGenesis: false };
  for (const given of [{ relayers: [user] }, { admins: [user] }, { balances: new Map() }]) {
    assert.deepEqual(genesisOf(given), { ...none, ...given });
  }
});

for (
  const [text, message] of [
    ["[oracle]\nring_size = 1", "oracle: Unknown key ring_size"],
    ["[node]\nring_size = 1", "node: Unknown key ring_size"],
    ["[oracles]", "Unknown key oracles"],
    ["max_bet = 1", "Unknown key max_bet"],
    ["oracle = 1", "oracle: Expected a section"],
  ] as const
) {
  Deno.test(`resolveSettings: ${JSON.stringify(text)} is refused in one line`, () => {
    assert.throws(() => fromFile(text), {
      name: "UsageError",
      message: new RegExp(`^Invalid settings file \\S+: ${message}$`),
    });
  });
}

for (
  const [text, message] of [
    ["[oracle]\ntimeout_ms = 10.5", "oracle.timeout_ms .*: Expected a whole number from 1 to 90"],
    ["[oracle]\ntimeout_ms = 100", "oracle.timeout_ms .*: Expected a whole number from 1 to 90"],
    ["[oracle]\nmax_stale_ms = -1", "oracle.max_stale_ms .*: Expected a whole number of at least"],
    ["[oracle]\nring_buffer_size = 65535", "oracle.ring_buffer_size .*: Expected a power of two"],
    ["[oracle]\nservice_url = 'a b'", "oracle.service_url .*: Expected host:port or an http"],
    ["[node]\nadmins = ['0x1']", "node.admins .*: Expected an address"],
    [`[node.balances]\n"${user}" = 1.5`, "node.balances .*: Expected <address>=<amount>"],
    [`[node.balances]\n"${user}" = -1`, "node.balances .*: Expected <address>=<amount>"],
    [
      `[node.balances]\n"${user}" = 1\n"${user.toLowerCase()}" = 2`,
      `node.balances .*: Expected ${user} once`,
    ],
  ] as const
) {
  Deno.test(`resolveSettings: the value in ${JSON.stringify(text)} is refused with its position`, () => {
    assert.throws(() => fromFile(text), {
      name: "UsageError",
      message: new RegExp(`^Invalid ${message}`),
    });
  });
}

Deno.test("resolveSettings: broken TOML is refused with line and column, in one line", () => {
  assert.throws(() => fromFile("[oracle]\nmax_stale_ms = "), {
    name: "UsageError",
    message: /^Invalid settings file \S+: line 2, column \d+: .+$/,
  });
});

Deno.test("resolveSettings: a file that does not exist is refused", () => {
  assert.throws(() => fromFlags("--config", "no-such-file.toml"), {
    name: "UsageError",
    message: /^Settings file no-such-file\.toml cannot be read: /,
  });
});
