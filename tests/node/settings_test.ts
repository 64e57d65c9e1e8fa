import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { parseOptions, UsageError } from "../../lib/cli/options.ts";
import { options } from "../../services/node/mod.ts";
import {
  DEV_SOLVER_BALANCE,
  parseSettings,
  readSettingsFile,
  resolveSettings,
} from "../../services/node/settings.ts";
import { runHere } from "../support/command_context.ts";
import { actors, rfqSubmit } from "./support/actors.ts";
import { withSteppedNode } from "./support/stepped_node.ts";

const user = actors.user.address;

function fromFlags(...argv: string[]) {
  const text = { name: "node", description: "", examples: [] };
  return parseOptions(text, options, argv, () => undefined);
}

Deno.test("price oracle spec, Write node [oracle] settings: keys and defaults", () => {
  assert.deepEqual(resolveSettings({}).oracle, {
    ringBufferSize: 65_536,
    maxStaleMs: 3_000,
    serviceUrl: "localhost:8550",
    timeoutMs: 10,
  });
  const file = parseSettings(
    `[oracle]
     ring_buffer_size = 1024
     max_stale_ms = 5_000
     service_url = "https://oracle.example"
     timeout_ms = 20`,
    "node.toml",
  );
  assert.deepEqual(resolveSettings({}, file).oracle, {
    ringBufferSize: 1_024,
    maxStaleMs: 5_000,
    serviceUrl: "https://oracle.example",
    timeoutMs: 20,
  });
});

Deno.test("Settings: how far ahead a window may start comes from the file", () => {
  assert.equal(resolveSettings({}).theses.maxStartAheadMs, 86_400_000);
  const file = parseSettings("[theses]\nmax_start_ahead_ms = 60_000", "node.toml");
  assert.equal(resolveSettings({}, file).theses.maxStartAheadMs, 60_000);
  const negative = "[theses]\nmax_start_ahead_ms = -1";
  assert.throws(() => parseSettings(negative, "node.toml"), /theses.max_start_ahead_ms: Expected/);
});

Deno.test("Settings: chain and genesis come from the file", () => {
  const file = parseSettings(
    `[chain]
     id = 7
     [permissions]
     relayers = ["${user.toLowerCase()}"]
     [genesis.balances]
     "${user.toLowerCase()}" = 9_007_199_254_740_993
     "${actors.solver.address}" = "18446744073709551615"
     "${actors.admin.address}" = 0`,
    "node.toml",
  );
  const settings = resolveSettings({}, file);
  assert.deepEqual([settings.chainId, settings.isDevGenesis], [7, false]);
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

Deno.test("Settings: options win over the file, key by key", () => {
  const file = parseSettings(
    `[oracle]
     max_stale_ms = 5000
     timeout_ms = 20
     [chain]
     id = 7
     [permissions]
     admins = ["${user}"]
     [genesis]
     balances = { "${user}" = 1 }`,
    "node.toml",
  );
  const flags = fromFlags(
    ...["--max-stale-ms", "4000", "--chain-id", "8", "--balances", `${user}=2`],
  );
  const settings = resolveSettings(flags, file);
  assert.deepEqual([settings.oracle.maxStaleMs, settings.oracle.timeoutMs], [4_000, 20]);
  assert.equal(settings.chainId, 8);
  assert.deepEqual(settings.permissions, { relayers: [], admins: [user] });
  assert.deepEqual(settings.balances, new Map([[user, 2n]]));
});

Deno.test("Settings: without any of the genesis it is that of the development accounts", () => {
  const { permissions, balances, isDevGenesis } = resolveSettings(fromFlags());
  assert.equal(isDevGenesis, true);
  assert.deepEqual(permissions, {
    relayers: [DEV_ACCOUNTS.relayer.address],
    admins: [DEV_ACCOUNTS.admin.address],
  });
  assert.deepEqual(balances, new Map([[DEV_ACCOUNTS.solver.address, DEV_SOLVER_BALANCE]]));
  assert.equal(DEV_SOLVER_BALANCE, 1_000_000_000_000n);
});

Deno.test("Settings: permissions or balances replace all of the development accounts", () => {
  const none = { relayers: [], admins: [], balances: undefined };
  const { address } = actors.user;
  for (
    const given of [
      { relayers: [address] },
      { admins: [address] },
      { balances: new Map([[address, 0n]]) },
    ]
  ) {
    const { permissions, balances, isDevGenesis } = resolveSettings(given);
    assert.deepEqual({ isDevGenesis, ...permissions, balances }, {
      ...{ isDevGenesis: false, ...none },
      ...given,
    });
  }
});

const badFiles: [text: string, message: string][] = [
  ["[oracle]\nring_size = 1", "oracle: Unknown key ring_size"],
  ["[oracles]", "Unknown key oracles"],
  ["[oracle]\ntimeout_ms = '10'", "oracle.timeout_ms: Expected a whole number from 1 to 90"],
  ["[oracle]\ntimeout_ms = 10.5", "oracle.timeout_ms: Expected a whole number from 1 to 90"],
  ["[oracle]\ntimeout_ms = 100", "oracle.timeout_ms: Expected a whole number from 1 to 90"],
  ["[oracle]\nmax_stale_ms = -1", "oracle.max_stale_ms: Expected a whole number of at least 1"],
  [
    "[oracle]\nring_buffer_size = 65535",
    "oracle.ring_buffer_size: Expected a power of two of at most 16777216",
  ],
  ["[oracle]\nservice_url = 8550", "oracle.service_url: Expected a URL as text"],
  [
    "[oracle]\nservice_url = 'a b'",
    "oracle.service_url: Expected host:port or an http: or https: URL",
  ],
  ["oracle = 1", "oracle: Expected an object"],
  ["[permissions]\nadmins = '0x1'", "permissions.admins: Expected a list of addresses"],
  [
    "[permissions]\nadmins = ['0x1']",
    "permissions.admins.0: Expected an address: 0x and 40 hex digits",
  ],
  [
    `[genesis.balances]\n"${user}" = 1.5`,
    `genesis.balances.${user}: Expected an amount in units of 10^-6 USDC`,
  ],
  [
    `[genesis.balances]\n"${user}" = -1`,
    `genesis.balances.${user}: Expected an amount of 64 bits`,
  ],
];

for (const [text, message] of badFiles) {
  Deno.test(`Settings: ${JSON.stringify(text)} is refused in one line`, () => {
    assert.throws(() => parseSettings(text, "node.toml"), {
      name: "UsageError",
      message: `Invalid settings file node.toml: ${message}`,
    });
  });
}

Deno.test("Settings: broken TOML is refused with line and column, in one line", () => {
  assert.throws(() => parseSettings("[oracle]\nmax_stale_ms = ", "node.toml"), (thrown) => {
    assert.ok(thrown instanceof UsageError);
    assert.match(thrown.message, /^Invalid settings file node\.toml: line 2, column \d+: .+$/);
    return true;
  });
});

Deno.test("Settings: a file that is not there is refused", async () => {
  await assert.rejects(() => readSettingsFile("no-such-file.toml"), {
    name: "UsageError",
    message: /^Settings file no-such-file\.toml cannot be read: /,
  });
});

Deno.test("Settings: a wrong file ends the command with one line and exit code 2", async () => {
  const path = await Deno.makeTempFile({ suffix: ".toml" });
  await Deno.writeTextFile(path, "[oracle]\nring_buffer_size = 1000\n");
  const { code, stderr, stdout } = await runHere(["node", "--config", path]);
  await Deno.remove(path);
  assert.equal(code, 2);
  assert.equal(stdout, "");
  assert.match(
    stderr,
    /^Invalid settings file .*: oracle\.ring_buffer_size: Expected a power .*$/,
  );
});

const badFlags: string[][] = [
  ["--ring-buffer-size", "1000"],
  ["--oracle-timeout-ms", "0"],
  ["--oracle-url", "http://"],
  ["--relayers", "0x12"],
  ["--balances", `${user}`],
  ["--balances", `${user}=1=2`],
  ["--balances", `${user}=x`],
  ["--read-port", "65536"],
  ["--chain-id", "0"],
];

for (const argv of badFlags) {
  Deno.test(`Settings: ${argv[0]} ${argv[1]?.slice(0, 8)} is a usage error`, () => {
    assert.throws(() => fromFlags(...argv), UsageError);
  });
}

Deno.test("Node: a window that starts past the bound of the settings file is refused", async () => {
  const config = await Deno.makeTempFile({ suffix: ".toml" });
  await Deno.writeTextFile(config, "[theses]\nmax_start_ahead_ms = 5_000");
  try {
    await withSteppedNode(async ({ client, clock }) => {
      const codeOf = async (aheadMs: number) => {
        const [timestamp, startTime] = [clock.now(), clock.now() + aheadMs];
        const bet = rfqSubmit({ timestamp, startTime, endTime: startTime + 1_000 });
        return (await client.sendTransaction(bet)).error?.code;
      };
      assert.equal(await codeOf(5_001), "INVALID_TIME_RANGE");
      assert.equal(await codeOf(5_000), "INSUFFICIENT_BALANCE", "the window is fine");
    }, { config });
  } finally {
    await Deno.remove(config);
  }
});
