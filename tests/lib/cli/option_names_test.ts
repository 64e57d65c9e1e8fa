/** Every option has a variable and a setting, named after its flag. */
import assert from "node:assert/strict";
import * as kinds from "../../../lib/cli/option_kinds.ts";
import { type OptionTable, parseOptions, UsageError } from "../../../lib/cli/options.ts";
import { chainIdOption, configOption, databaseOption } from "../../../lib/cli/shared_options.ts";
import {
  COMMAND_NAMES,
  optionsFor,
  requireKnownVariables,
  variablesOf,
} from "../../../lib/cli/option_names.ts";
import { commands } from "../../../main.ts";
import { runHere } from "../../support/command_context.ts";
import { withFile } from "../../support/files.ts";

const table = optionsFor("solver", {
  maxRisk: { flags: "--max-risk", kind: kinds.integer(1), description: "risk", default: "5" },
  wsUrl: { flags: "-w, --ws-url", kind: kinds.wsUrl, env: "KAIZEN_WS_URL", description: "node" },
  peers: {
    flags: "--peers <list>",
    kind: { schema: kinds.file.schema.array() },
    description: "peers",
    default: "",
    repeatable: true,
  },
  chainId: chainIdOption,
  database: databaseOption("data/solver.sqlite"),
  config: configOption,
});
const text = {
  name: "solver",
  description: "",
  examples: [],
  subcommands: { backtest: { summary: "" } },
};

const parse = (env: Record<string, string>, argv: string[] = []) =>
  parseOptions(text, table, argv, (name) => env[name]);

Deno.test("variablesOf: a command's own variable, then the shared or the specification's one", () => {
  assert.deepEqual(variablesOf(table.maxRisk), ["RANGEMAKER_SOLVER_MAX_RISK"]);
  assert.deepEqual(variablesOf(table.wsUrl), ["RANGEMAKER_SOLVER_WS_URL", "KAIZEN_WS_URL"]);
  assert.deepEqual(variablesOf(table.chainId), [
    "RANGEMAKER_SOLVER_CHAIN_ID",
    "RANGEMAKER_CHAIN_ID",
    "CHAIN_ID",
  ]);
});

Deno.test("optionsFor: options shared with the parent command keep their variable names", () => {
  const { maxRisk, own } = optionsFor("solver backtest", {
    maxRisk: table.maxRisk,
    own: { flags: "--fit-share", kind: kinds.file, description: "" },
  });
  assert.deepEqual(variablesOf(maxRisk), ["RANGEMAKER_SOLVER_MAX_RISK"]);
  assert.deepEqual(variablesOf(own), ["RANGEMAKER_SOLVER_BACKTEST_FIT_SHARE"]);
});

Deno.test("parseOptions: flag, own variable, shared variable, file and default override in this order", async () => {
  const file = "chain_id = 2\n[solver]\nchain_id = 3\nmax_risk = 4\npeers = ['a', 'b']\n";
  await withFile(file, (path) => {
    const shared = { RANGEMAKER_CONFIG: path, RANGEMAKER_CHAIN_ID: "5" };
    const own = { ...shared, RANGEMAKER_SOLVER_CHAIN_ID: "6" };
    assert.equal(parse({}).chainId, 1337);
    assert.equal(parse({ RANGEMAKER_CONFIG: path }).chainId, 3);
    assert.equal(parse(shared).chainId, 5);
    assert.equal(parse({ ...shared, RANGEMAKER_CHAIN_ID: "" }).chainId, 3, "an empty one is unset");
    assert.equal(parse(own).chainId, 6);
    assert.equal(parse(own, ["--chain-id", "7"]).chainId, 7);
    const { maxRisk, peers } = parse({ RANGEMAKER_CONFIG: path });
    assert.deepEqual([maxRisk, peers], [4, ["a", "b"]]);
  });
  const { chainId } = await withFile("chain_id = 2", (path) => parse({}, ["--config", path]));
  assert.equal(chainId, 2);
});

Deno.test("parseOptions: a secret is read from the file in its _FILE variable", async () => {
  await withFile("postgres://solver@db/solver\n", (path) => {
    const file = { RANGEMAKER_SOLVER_DATABASE_FILE: path };
    assert.equal(parse(file).database, "postgres://solver@db/solver");
    const both = { ...file, RANGEMAKER_SOLVER_DATABASE: "other.sqlite" };
    assert.throws(() => parse(both), /Two values: expected RANGEMAKER_SOLVER_DATABASE or /);
    assert.throws(
      () => parse({ RANGEMAKER_SOLVER_DATABASE_FILE: "/none" }),
      /^UsageError: Invalid RANGEMAKER_SOLVER_DATABASE_FILE: \/none: /,
    );
  });
  await withFile("hunter2\n", (path) => {
    const env = { RANGEMAKER_SOLVER_DATABASE: "postgres://solver@db/x", PGPASSWORD_FILE: path };
    assert.equal(parse(env).database, "postgres://solver:hunter2@db/x");
  });
  // A service whose secret was not written must not use its default.
  await withFile("\n", (path) => {
    assert.throws(
      () => parse({ RANGEMAKER_SOLVER_DATABASE_FILE: path }),
      /^UsageError: Invalid RANGEMAKER_SOLVER_DATABASE_FILE: .*: it is empty/,
    );
  });
});

const check = (...names: string[]) => () => requireKnownVariables(names, text, table);

Deno.test("requireKnownVariables: refuses unknown variables of this command, and of no known command", () => {
  for (const name of ["RANGEMAKER_SOLVER_MAX_RISKS", "RANGEMAKER_SOLVR_PORT", "RANGEMAKER_"]) {
    assert.throws(check("PATH", name), (thrown) => {
      assert(thrown instanceof UsageError);
      return thrown.message.includes(name);
    });
  }
});

Deno.test("requireKnownVariables: ignores variables of other commands and subcommands", () => {
  assert.doesNotThrow(check(
    ...["RANGEMAKER_SOLVER_MAX_RISK", "RANGEMAKER_SOLVER_DATABASE_FILE", "RANGEMAKER_LOG_LEVEL"],
    ...["RANGEMAKER_BRIDGE_NONSENSE", "RANGEMAKER_SOLVER_BACKTEST_NONSENSE", "OTHER"],
  ));
  const backtest = { ...text, name: "solver backtest", subcommands: {} };
  const names = ["RANGEMAKER_SOLVER_NONSENSE"];
  assert.doesNotThrow(() => requireKnownVariables(names, backtest, {} satisfies OptionTable));
  const own = ["RANGEMAKER_SOLVER_BACKTEST_NONSENSE"];
  assert.throws(() => requireKnownVariables(own, backtest, {}), UsageError);
});

Deno.test("requireKnownVariables: an unknown RANGEMAKER_ variable ends a command with exit code 2", async () => {
  const { code, stderr } = await runHere(["oracle"], { RANGEMAKER_ORACLE_MIN_SOURCE: "3" });
  assert.equal(code, 2);
  const hint =
    /^Unknown variable \S+_MIN_SOURCE \(did you mean RANGEMAKER_ORACLE_MIN_SOURCES\?\): oracle has no/;
  assert.match(stderr, hint);
});

Deno.test("COMMAND_NAMES: lists all commands", () => {
  assert.deepEqual(Object.keys(commands), [...COMMAND_NAMES]);
});
