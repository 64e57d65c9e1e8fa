/**
 * The option tables of the three documents, row by row. Real processes take their keys from the
 * environment in `killed_process_test.ts` of solver and bridge.
 */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { loggingOptions } from "../../lib/cli/shared_options.ts";
import { type OptionTable, parseOptions, UsageError } from "../../lib/cli/options.ts";
import { options as bridgeOptions } from "../../services/bridge/mod.ts";
import { options as oracleOptions } from "../../services/oracle/mod.ts";
import { options as proxyOptions } from "../../services/proxy/mod.ts";
import { options as solverOptions } from "../../services/solver/mod.ts";
import { Program } from "../support/process.ts";

/** Texts that are accepted with their values, and texts that are refused; a switch has no text. */
interface Kind {
  accepted: readonly (readonly [text: string | undefined, value: unknown])[];
  refused?: readonly string[];
  secret?: string;
}

/** A row of an option table; without a variable in the document it is undefined. */
type Row = [option: string, env: string | undefined, byDefault: unknown, kind: Kind];

const SWITCH: Kind = { accepted: [[undefined, true]] };
const [NODE, NODE_WS] = ["https://node.example/rpc", "wss://node.example"];
const HTTP_URL: Kind = {
  accepted: [["http://127.0.0.1:1", "http://127.0.0.1:1"], [NODE, NODE]],
  refused: ["node.example", "ftp://node.example", "nonsense"],
};
const WS_URL: Kind = {
  accepted: [["ws://127.0.0.1:1", "ws://127.0.0.1:1"], [NODE_WS, NODE_WS]],
  refused: ["http://node.example", "nonsense"],
};
const PORT: Kind = {
  accepted: [["0", 0], ["1", 1], ["65535", 65_535]],
  refused: ["65536", "http", "1.5"],
};
const RPC_ROW: Row = ["-r, --rpc-url <url>", "KAIZEN_RPC_URL", "http://localhost:8545", HTTP_URL];

function keyRow(env: string, { privateKey }: { privateKey: `0x${string}` }): Row {
  const digits = privateKey.slice(2);
  return ["-k, --private-key <key>", env, undefined, {
    accepted: [[privateKey, new LocalSigner(privateKey)]],
    refused: [digits, `0x${digits.slice(1)}`, `0x${digits}0`, `0x${digits.slice(2)}zz`],
    secret: digits.slice(2),
  }];
}

optionRows("quote solver, Configuration", solverOptions, [
  ["-d, --dry-run", undefined, false, SWITCH],
  RPC_ROW,
  ["-w, --ws-url <url>", "KAIZEN_WS_URL", "ws://localhost:8546", WS_URL],
  ["-p, --port <port>", undefined, 3000, PORT],
  ["-m, --multiplier <ratio>", undefined, 1.5, {
    accepted: [["1.0", 1], ["1", 1], ["2.75", 2.75], ["10.0", 10]],
    refused: ["0.9", "0.999999999", "10.1", "10.000000001", "much"],
  }],
  ["--max-risk <amount>", undefined, 10_000_000_000n, {
    accepted: [["0", 0n], ["1", 1n], ["20000000000", 20_000_000_000n]],
    refused: ["1.5", "0x10", "all"],
  }],
  keyRow("SOLVER_PRIVATE_KEY", DEV_ACCOUNTS.solver),
]);

const PROXY = "RPC proxy, Proxy configuration";
const [PAGE, OTHER] = ["https://a.example", "https://b.example"];
optionRows(PROXY, { ...proxyOptions, ...loggingOptions }, [
  ["--port <port>", "PORT", 8546, PORT],
  ["--write-node-url <url>", "WRITE_NODE_URL", "http://localhost:8545", HTTP_URL],
  ["--read-node-url <url>", "READ_NODE_URL", "http://localhost:8547", HTTP_URL],
  ["--read-node-ws-url <url>", "READ_NODE_WS_URL", undefined, WS_URL],
  ["--broadcast-capacity <messages>", "BROADCAST_CAPACITY", 4096, {
    accepted: [["1", 1], ["1024", 1024], ["8192", 8192], ["16384", 16384]],
    refused: ["0", "many"],
  }],
  ["--cors-origins <origins>", "CORS_ORIGINS", ["*"], {
    accepted: [[PAGE, [PAGE]], [`${PAGE},${OTHER}`, [PAGE, OTHER]]],
  }],
  ["--trust-proxy", "TRUST_PROXY", true, {
    accepted: [[undefined, true], ["true", true], ["false", false]],
    refused: ["perhaps"],
  }],
  ["--json-logs", undefined, false, SWITCH],
  ["--write-methods <methods>", "WRITE_METHODS", [], { accepted: [["a_b,c_d", ["a_b", "c_d"]]] }],
]);

optionRows("deposit bridge, Bridge configuration", bridgeOptions, [
  ["-p, --port <port>", undefined, 3000, PORT],
  RPC_ROW,
  keyRow("BRIDGE_PRIVATE_KEY", DEV_ACCOUNTS.relayer),
  ["--chain-id", "CHAIN_ID", 1337, { accepted: [["7", 7]], refused: ["0", "0x7", "main"] }],
]);

const ALL = ["provider_a", "provider_b", "provider_c", "provider_d"];
optionRows("price oracle, Service options", oracleOptions, [
  ["-P, --port <port>", undefined, 8550, PORT],
  ["-p, --providers <list>", undefined, ALL, {
    accepted: [["provider_b", ["provider_b"]], ["provider_a,provider_d", [ALL[0], ALL[3]]]],
    refused: ["provider_e", ""],
  }],
  ["-a, --aggregation", undefined, "median", {
    accepted: [["median", "median"], ["average", "average"]],
    refused: ["mode", ""],
  }],
  ["-m, --min-sources <n>", undefined, 1, {
    accepted: [["1", 1], ["4", 4]],
    refused: ["0", "1.5", "two"],
  }],
]);

function optionRows(section: string, table: OptionTable, rows: readonly Row[]): void {
  Deno.test(`${section}: every option has its documented spellings, variable, default and values`, () => {
    for (const [option, env, byDefault, { accepted, refused = [], secret }] of rows) {
      const spellings = option.replace(/ [<[].*$/, "").split(", ");
      const key = spellings.at(-1)!.slice(2).replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
      const parse = (argv: string[], variables: Record<string, string> = {}) => {
        const values: Record<string, unknown> = parseOptions(
          { name: "test", description: "", examples: [] },
          table,
          argv,
          (name) => variables[name],
        );
        assert.ok(key in values, `no option ${key}`);
        return values[key];
      };
      assert.deepEqual(parse([]), byDefault, option);
      for (const [text, value] of accepted) {
        for (const spelling of spellings) {
          const argv = text === undefined ? [spelling] : [spelling, text];
          assert.deepEqual(parse(argv), value, argv.join(" "));
        }
        if (env !== undefined) assert.deepEqual(parse([], { [env]: text ?? "true" }), value, env);
      }
      for (const text of refused) {
        const wrong = spellings.map((spelling) => () => parse([spelling, text]));
        if (env !== undefined) wrong.push(() => parse([], { [env]: text }));
        for (const attempt of wrong) {
          assert.throws(attempt, (thrown) => {
            assert.ok(thrown instanceof UsageError, `${option} ${text}`);
            return secret === undefined || !thrown.message.includes(secret);
          });
        }
      }
    }
  });
}

Deno.test(`${PROXY}, --json-logs: every line of a real process is JSON`, async () => {
  const program = new Program(["proxy", "--json-logs"], { PORT: "0" });
  const health = await (await fetch(`${await program.url()}/health`)).text();
  const { stdout, stderr } = await program.stop();
  assert.equal(health, "OK");
  const lines = (stdout + stderr).trim().split("\n");
  assert.ok(lines.some((line) => line.includes("Listening")), "it says where it listens");
  for (const line of lines) assert.equal(typeof JSON.parse(line), "object", line);
});
