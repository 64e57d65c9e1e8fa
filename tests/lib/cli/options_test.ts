import assert from "node:assert/strict";
import { z } from "zod";
import { keyKind } from "../../../lib/cli/key_options.ts";
import * as kinds from "../../../lib/cli/option_kinds.ts";
import {
  flagsOf,
  HelpRequest,
  type OptionsOf,
  type OptionTable,
  parseOptions,
  UsageError,
} from "../../../lib/cli/options.ts";
import { loggingOptions } from "../../../lib/cli/shared_options.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";

const text = {
  name: "sample",
  description: "A service for this test.",
  examples: [["deno task sample", "start it"]] as const,
};
const table = {
  port: { flags: "-p, --port", kind: kinds.port, description: "port", default: "3000" },
  rpcUrl: {
    flags: "-r, --rpc-url",
    kind: kinds.httpUrl,
    env: "SAMPLE_RPC_URL",
    description: "node",
    default: "http://localhost:8545",
  },
  privateKey: { flags: "-k, --private-key", kind: keyKind, env: "SAMPLE_KEY", description: "key" },
  trustProxy: {
    flags: "--trust-proxy [bool]",
    kind: kinds.toggle,
    env: "TRUST_PROXY",
    description: "trust",
    default: "true",
  },
  dryRun: { flags: "-d, --dry-run", kind: kinds.flag, description: "dry run", default: "false" },
  limit: { flags: "--limit", kind: kinds.integer(1, 10), description: "limit", default: "5" },
  peers: {
    flags: "--peers <list>",
    kind: { schema: z.array(z.string()) },
    env: "PEERS",
    description: "peers",
    default: "a",
    repeatable: true,
  },
} satisfies OptionTable;

function parse(argv: string[], env: Record<string, string> = {}) {
  return parseOptions(text, table, argv, (name) => env[name]);
}

Deno.test("parseOptions: a negatable switch accepts every usual form", () => {
  const forms: [string[], Record<string, string>, boolean][] = [
    [[], {}, true],
    [["--trust-proxy"], {}, true],
    [["--no-trust-proxy"], {}, false],
    [["--trust-proxy=false"], {}, false],
    [["--trust-proxy", "false"], {}, false],
    [[], { TRUST_PROXY: "false" }, false],
    [[], { TRUST_PROXY: "0" }, false],
    [["--trust-proxy"], { TRUST_PROXY: "false" }, true],
  ];
  for (const [argv, env, expected] of forms) {
    assert.equal(parse(argv, env).trustProxy, expected, `${argv} ${Deno.inspect(env)}`);
  }
});

Deno.test("parseOptions: a repeatable option collects flags and splits its variable", () => {
  assert.deepEqual(parse([]).peers, ["a"]);
  assert.deepEqual(parse(["--peers", "b", "--peers", "c"]).peers, ["b", "c"]);
  assert.deepEqual(parse([], { PEERS: "d,e" }).peers, ["d", "e"]);
  assert.deepEqual(parse([], { PEERS: "d,,e" }).peers, ["d", "", "e"]);
  const none = { peers: { ...table.peers, default: "" } };
  assert.deepEqual(parseOptions(text, none, [], () => undefined).peers, []);
});

Deno.test("parseOptions: a repeatable option may have the plural of its flag as key", () => {
  const plural = {
    balances: {
      flags: "--balance <text>",
      kind: { schema: z.array(z.string()) },
      description: "balances",
      default: "a",
      repeatable: true,
    },
  } satisfies OptionTable;
  const read = (argv: string[]) => parseOptions(text, plural, argv, () => undefined).balances;
  assert.deepEqual(read([]), ["a"]);
  assert.deepEqual(read(["--balance", "b", "--balance", "c"]), ["b", "c"]);
  const single = { balances: { ...plural.balances, repeatable: undefined } };
  assert.throws(() => parseOptions(text, single, [], () => undefined), /key balances/);
});

const wrong: readonly (readonly [string[], RegExp])[] = [
  [["--port", "65536"], /^Invalid --port: Expected a port from 0 to 65535: received "65536"$/],
  [["--port", "abc"], /^Invalid --port/],
  [["--port", "-1"], /./],
  [["--port"], /argument missing/],
  [
    ["--rpc-url", "localhost:8545"],
    /^Invalid --rpc-url: Expected a URL with http:\/\/ or https:\/\/$/,
  ],
  [["--rpc-url", "ftp://x"], /^Invalid --rpc-url/],
  [["--limit", "11"], /^Invalid --limit: Expected a whole number from 1 to 10/],
  [["--limit", "1.5"], /^Invalid --limit/],
  [["--trust-proxy=maybe"], /^Invalid --trust-proxy: Expected true or false/],
  [["--colour"], /^Unknown option '--colour'$/],
  [["--rpc", "http://x"], /^Unknown option '--rpc' \(did you mean --rpc-url\?\)$/],
  [["--dry-run=maybe"], /^Option '--dry-run' takes no value$/],
  [["-d=maybe"], /^A flag of one letter takes no value: leave out '=' and what follows it$/],
  [["-x=maybe"], /^Unknown option '-x'$/],
  [["x.json"], /^Unexpected argument 'x\.json'$/],
];

for (const [argv, reason] of wrong) {
  Deno.test(`parseOptions: ${argv.join(" ")} is one clear line`, () => {
    assert.throws(() => parse(argv), (thrown) => {
      assert(thrown instanceof UsageError);
      assert.match(thrown.message, reason);
      assert(!thrown.message.includes("\n"));
      return true;
    });
  });
}

Deno.test("parseOptions: a wrong value from the environment names the variable", () => {
  assert.throws(
    () => parse([], { SAMPLE_RPC_URL: "nonsense" }),
    /^UsageError: Invalid SAMPLE_RPC_URL: /,
  );
});

Deno.test("parseOptions: a private key shows in no error, wherever it was typed", () => {
  const key = DEV_ACCOUNTS.solver.privateKey;
  const slips: [string[], Record<string, string>][] = [
    [["-k", `${key}0`], {}],
    [["-k", key.slice(2)], {}],
    [["--private-kay", key], {}],
    [[`--private-kay=${key}`], {}],
    [["--rpc-url", key], {}],
    [["--port", key], {}],
    [[key], {}],
    [[], { SAMPLE_KEY: `${key}ff` }],
    [[], { SAMPLE_KEY: key.slice(2) }],
    [["-k", `0x${"00".repeat(32)}`], {}],
  ];
  for (const [argv, env] of slips) {
    assert.throws(() => parse(argv, env), (thrown) => {
      assert(thrown instanceof UsageError);
      assert(!thrown.message.includes(key.slice(2)), thrown.message);
      return true;
    });
  }
});

const passwordSlips: readonly (readonly [string[], Record<string, string>])[] = [
  [[], { SAMPLE_RPC_URL: "user:hunter2@rpc.example" }],
  [[], { SAMPLE_RPC_URL: "wss://eth.example/v2/hunter2hunter2hunter2hunter2hunt" }],
  [["-r", "ftp://user:hunter2@rpc.example"], {}],
  [["-r", "ftp://user:or/hunter2@rpc.example"], {}],
  [["-r", "user:hunter2@127.0.0.1:1"], {}],
  // URLs for the runtime, and not for what hides their passwords in logs and answers.
  [["-r", "http:user:hunter2@rpc.example"], {}],
  [["-r", "http:/user:hunter2@rpc.example"], {}],
  [["-r", "http:///user:hunter2@rpc.example"], {}],
  [["-r", String.raw`http:\\user:hunter2@rpc.example`], {}],
  [["-r", 'http://user:"hunter2@rpc.example'], {}],
  [["-r", "http://user:a hunter2@rpc.example"], {}],
  [["--store", "postgres://user:a<hunter2@db.example/x"], {}],
  [["--endpoint", "a=http://x", "--endpoint", "http://user:hunter2@x/y?token=hunter2"], {}],
  [[], { ENDPOINTS: "a=http://x,b=ftp://user:hunter2@x/y?token=hunter2" }],
  [["--store", "mysql://user:hunter2@db.example/x"], {}],
  [["--port", "http://user:hunter2@rpc.example"], {}],
  [["--rpc-ulr=http://user:or/hunter2@rpc.example"], {}],
  [["--rpc-ulr=hunter2"], {}],
];

for (const [argv, env] of passwordSlips) {
  const given = [...argv, ...Object.entries(env).map((pair) => pair.join("="))].join(" ");
  Deno.test(`parseOptions: a password shows in no error: ${given}`, () => {
    const endpoint = z.string().regex(/^a=http:/, "Expected a=url");
    const urls = {
      ...table,
      endpoints: {
        flags: "--endpoint <name=url>",
        kind: { schema: z.array(endpoint), secret: true },
        env: "ENDPOINTS",
        description: "endpoints",
        repeatable: true,
      },
      store: { flags: "--store", kind: kinds.database, description: "store" },
    } satisfies OptionTable;
    assert.throws(() => parseOptions(text, urls, argv, (name) => env[name]), (thrown) => {
      assert(thrown instanceof UsageError);
      assert.match(thrown.message, /^(Invalid [\w-]+: Expected |Unknown option '--rpc-ulr')/);
      assert(!thrown.message.includes("hunter2"), thrown.message);
      assert(!/: \d+: |::/.test(thrown.message), thrown.message);
      return true;
    });
  });
}

Deno.test("parseOptions: --help shows flags, defaults, variables and examples, and no secret", () => {
  assert.throws(
    () => parse(["--help"], { SAMPLE_KEY: DEV_ACCOUNTS.solver.privateKey }),
    (thrown) => {
      assert(thrown instanceof HelpRequest);
      for (const part of ["-r, --rpc-url <url>", "default: 3000", "env: SAMPLE_KEY", "Examples:"]) {
        assert(thrown.message.includes(part), part);
      }
      assert(!thrown.message.includes(DEV_ACCOUNTS.solver.privateKey));
      return true;
    },
  );
});

Deno.test("parseOptions: a missing required option is named with its variable", () => {
  const required = {
    key: { flags: "--key", kind: kinds.file, env: "KEY", description: "", required: true },
  } satisfies OptionTable;
  assert.throws(
    () => parseOptions(text, required, [], () => undefined),
    /^UsageError: Missing --key \(or KEY in the environment\)$/,
  );
});

Deno.test("parseOptions: value types follow from kinds, defaults and required", () => {
  // A wrong type here fails deno check.
  const values: OptionsOf<typeof table> = parse([]);
  const portNumber: number = values.port;
  const isTrusted: boolean = values.trustProxy;
  const peers: string[] = values.peers;
  // @ts-expect-error Without a default or required, the value may be undefined.
  const address: string = parse(["-k", DEV_ACCOUNTS.solver.privateKey]).privateKey.address;
  // @ts-expect-error A port is not text.
  const portText: string = values.port;
  assert.deepEqual([portNumber, isTrusted, peers, portText], [3000, true, ["a"], 3000]);
  assert.equal(address, DEV_ACCOUNTS.solver.address);
});

Deno.test("flagsOf: the placeholder comes from the kind unless the flags have one", () => {
  const of = (flags: string, kind: kinds.OptionKind) => flagsOf({ flags, kind, description: "" });
  assert.equal(of("-p, --port", kinds.port), "-p, --port <port>");
  assert.equal(of("--level <level>", kinds.choice(["low", "high"])), "--level <level>");
  assert.equal(of("--dry-run", kinds.flag), "--dry-run");
  assert.equal(of("--trust-proxy", kinds.toggle), "--trust-proxy [boolean]");
});

Deno.test("kinds.addresses: commas and spaces separate, an empty text is an empty list", () => {
  const { admin, relayer } = DEV_ACCOUNTS;
  assert.deepEqual(
    kinds.addresses.schema.parse(`${admin.address}, ${relayer.address.toLowerCase()}`),
    [admin.address, relayer.address],
  );
  assert.deepEqual(kinds.addresses.schema.parse(""), []);
  assert(!kinds.addresses.schema.safeParse("0x12").success);
});

Deno.test("kinds.amount: the error for an amount with a fraction names the unit, with an example", () => {
  for (const { schema } of [kinds.amount, kinds.positiveAmount]) {
    for (const text of ["5.5", "5,000", "-1", "1e6", ""]) {
      const advice =
        /^Expected USDC with 6 decimals as a whole number, such as 5000000 for 5 USDC$/;
      assert.match(schema.safeParse(text).error?.issues[0]?.message ?? "", advice);
    }
    assert.equal(schema.parse("5000000"), 5_000_000n);
  }
});

Deno.test("loggingOptions: warn is short for warning, in the variable too", () => {
  const read = (argv: string[], env: Record<string, string> = {}) =>
    parseOptions(text, loggingOptions, argv, (name) => env[name]).logLevel;
  assert.equal(read(["--log-level", "warn"]), "warning");
  assert.equal(read([], { RANGEMAKER_LOG_LEVEL: "warn" }), "warning");
  assert.equal(read(["--log-level", "debug"]), "debug");
  assert.throws(() => read(["--log-level", "warm"]), /Expected debug, info, warning or error/);
});
