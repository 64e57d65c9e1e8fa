/** The option tables of the three documents, row by row, and the environment of real processes. */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { Signer } from "../../lib/protocol/signature.ts";
import { loggingOptions } from "../../lib/cli/shared_options.ts";
import { type OptionTable, parseOptions } from "../../lib/cli/options.ts";
import { options as bridgeOptions } from "../../services/bridge/mod.ts";
import { options as oracleOptions } from "../../services/oracle/mod.ts";
import { options as proxyOptions } from "../../services/proxy/mod.ts";
import { options as solverOptions } from "../../services/solver/mod.ts";
import { Program } from "../support/process.ts";
import { optionRow } from "./support.ts";

const { solver, relayer } = DEV_ACCOUNTS;

const URLS: { taken: [string, string][]; refused: string[] } = {
  taken: [
    ["http://127.0.0.1:1", "http://127.0.0.1:1"],
    ["https://node.example/rpc", "https://node.example/rpc"],
  ],
  refused: ["node.example", "ftp://node.example", "nonsense"],
};
const WS_URLS: typeof URLS = {
  taken: [["ws://127.0.0.1:1", "ws://127.0.0.1:1"], ["wss://node.example", "wss://node.example"]],
  refused: ["http://node.example", "nonsense"],
};
const PORTS: { taken: [string, number][]; refused: string[] } = {
  taken: [["0", 0], ["1", 1], ["65535", 65_535]],
  refused: ["65536", "http", "1.5"],
};

const SOLVER = "quote solver, Configuration";
const withKey = { SOLVER_PRIVATE_KEY: solver.privateKey };
for (
  const expected of [
    { option: "-d, --dry-run", default: false, taken: [[undefined, true]] as const },
    {
      option: "-r, --rpc-url <url>",
      env: "KAIZEN_RPC_URL",
      default: "http://localhost:8545",
      ...URLS,
    },
    {
      option: "-w, --ws-url <url>",
      env: "KAIZEN_WS_URL",
      default: "ws://localhost:8546",
      ...WS_URLS,
    },
    { option: "-p, --port <port>", default: 3000, ...PORTS },
    {
      option: "-m, --multiplier <ratio>",
      default: 1.5,
      taken: [["1.0", 1], ["1", 1], ["2.75", 2.75], ["10.0", 10]] as const,
      refused: ["0.9", "0.999999999", "10.1", "10.000000001", "much"],
    },
    {
      option: "--max-risk <amount>",
      default: 10_000_000_000n,
      taken: [["0", 0n], ["1", 1n], ["20000000000", 20_000_000_000n]] as const,
      refused: ["1.5", "0x10", "all"],
    },
  ]
) optionRow(SOLVER, solverOptions, expected, withKey);
keyRow(SOLVER, solverOptions, "SOLVER_PRIVATE_KEY", solver);

const PROXY = "RPC proxy, Proxy configuration";
for (
  const expected of [
    { option: "--port <port>", env: "PORT", default: 8546, ...PORTS },
    {
      option: "--write-node-url <url>",
      env: "WRITE_NODE_URL",
      default: "http://localhost:8545",
      ...URLS,
    },
    {
      option: "--read-node-url <url>",
      env: "READ_NODE_URL",
      default: "http://localhost:8547",
      ...URLS,
    },
    { option: "--read-node-ws-url <url>", env: "READ_NODE_WS_URL", default: undefined, ...WS_URLS },
    {
      option: "--broadcast-capacity <messages>",
      env: "BROADCAST_CAPACITY",
      default: 4096,
      taken: [["1", 1], ["1024", 1024], ["8192", 8192], ["16384", 16384]] as const,
      refused: ["0", "many"],
    },
    {
      option: "--cors-origins <origins>",
      env: "CORS_ORIGINS",
      default: ["*"],
      taken: [
        ["https://a.example", ["https://a.example"]],
        ["https://a.example,https://b.example", ["https://a.example", "https://b.example"]],
      ] as const,
    },
    {
      option: "--trust-proxy",
      env: "TRUST_PROXY",
      default: true,
      taken: [[undefined, true], ["true", true], ["false", false]] as const,
      refused: ["perhaps"],
    },
  ]
) optionRow(PROXY, proxyOptions, expected);
optionRow(PROXY, loggingOptions, {
  option: "--json-logs",
  default: false,
  taken: [[undefined, true]],
});

const BRIDGE = "deposit bridge, Bridge configuration";
for (
  const expected of [
    { option: "-p, --port <port>", default: 3000, ...PORTS },
    {
      option: "-r, --rpc-url <url>",
      env: "KAIZEN_RPC_URL",
      default: "http://localhost:8545",
      ...URLS,
    },
  ]
) optionRow(BRIDGE, bridgeOptions, expected);
keyRow(BRIDGE, bridgeOptions, "BRIDGE_PRIVATE_KEY", relayer);

const ALL = ["provider_a", "provider_b", "provider_c", "provider_d"];
for (
  const expected of [
    { option: "-P, --port <port>", default: 8550, ...PORTS },
    {
      option: "-p, --providers <list>",
      default: ALL,
      taken: [["provider_b", ["provider_b"]], ["provider_a,provider_d", [ALL[0], ALL[3]]]] as const,
      refused: ["provider_e", ""],
    },
    {
      option: "-a, --aggregation",
      default: "median",
      taken: [["median", "median"], ["average", "average"]] as const,
      refused: ["mode", ""],
    },
    {
      option: "-m, --min-sources <n>",
      default: 1,
      taken: [["1", 1], ["4", 4]] as const,
      refused: ["0", "1.5", "two"],
    },
  ]
) optionRow("price oracle, Service options", oracleOptions, expected);

/** A key is a secret: what was parsed can sign and says whose it is, and no error repeats it. */
function keyRow(
  section: string,
  table: OptionTable,
  env: string,
  account: { address: string; privateKey: string },
): void {
  const parse = (argv: string[], variables: Record<string, string> = {}): unknown => {
    const text = { name: "test", description: "", examples: [] };
    return parseOptions(text, table, argv, (name) => variables[name]).privateKey;
  };
  const addressOf = (key: unknown) => key instanceof Signer ? key.address : undefined;
  Deno.test(`${section}, -k, --private-key <key>, ${env}: 0x and 64 hex digits`, () => {
    const { address, privateKey } = account;
    assert.equal(addressOf(parse(["-k", privateKey])), address);
    assert.equal(addressOf(parse(["--private-key", privateKey])), address);
    assert.equal(addressOf(parse([], { [env]: privateKey })), address);
    const digits = privateKey.slice(2);
    for (const bad of [digits, `0x${digits.slice(1)}`, `0x${digits}0`, `0x${digits.slice(2)}zz`]) {
      for (const wrong of [() => parse(["-k", bad]), () => parse([], { [env]: bad })]) {
        assert.throws(wrong, (thrown) => !String(thrown).includes(digits.slice(2)));
      }
    }
  });
}

async function started(args: string[], env: Record<string, string>) {
  const program = new Program(args, env);
  const listening = /Listening on [\\"]*(http:\/\/[\d.]+:\d+)/;
  await program.until(({ stderr }) => listening.test(stderr));
  return { program, url: listening.exec(program.stderr)?.[1] ?? assert.fail(program.stderr) };
}

async function getJson(url: string): Promise<Record<string, unknown>> {
  return Object(await (await fetch(url)).json());
}

const RPC_URL = "http://127.0.0.1:9";

Deno.test(`${SOLVER}, SOLVER_PRIVATE_KEY: the key of a real process, in dry-run as it was started`, async () => {
  const env = { SOLVER_PRIVATE_KEY: solver.privateKey, KAIZEN_RPC_URL: RPC_URL };
  const args = ["solver", "--dry-run", "--port", "0", "--database", ":memory:"];
  const { program, url } = await started(args, env);
  const health = await getJson(`${url}/health`);
  program.kill("SIGTERM");
  await program.finished();
  assert.deepEqual([health.solver, health.dryRun], [solver.address, true]);
});

Deno.test(`${BRIDGE}, BRIDGE_PRIVATE_KEY and KAIZEN_RPC_URL: the key and the node of a real process`, async () => {
  const env = { BRIDGE_PRIVATE_KEY: relayer.privateKey, KAIZEN_RPC_URL: RPC_URL };
  const args = ["bridge", "--port", "0", "--database", ":memory:"];
  const { program, url } = await started(args, env);
  const info = await getJson(`${url}/info`);
  program.kill("SIGTERM");
  await program.finished();
  assert.deepEqual([info.bridge, info.rpcUrl], [relayer.address, RPC_URL]);
});

Deno.test(`${PROXY}, --json-logs: every line of a real process is JSON`, async () => {
  const { program, url } = await started(["proxy", "--json-logs"], { PORT: "0" });
  const health = await (await fetch(`${url}/health`)).text();
  program.kill("SIGTERM");
  const { stdout, stderr } = await program.finished();
  assert.equal(health, "OK");
  const lines = (stdout + stderr).trim().split("\n");
  assert.ok(lines.some((line) => line.includes("Listening")), "it says where it listens");
  for (const line of lines) assert.equal(typeof JSON.parse(line), "object", line);
});
