import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import * as kinds from "../../../lib/cli/option_kinds.ts";
import { type OptionTable, parseOptions } from "../../../lib/cli/options.ts";
import { withFile } from "../../support/files.ts";

const lib = new URL("../../../lib/cli/", import.meta.url);

/** A program that keeps access for some options, and then prints its permissions. */
const PROGRAM = `
import { restrictFileAccess } from ${JSON.stringify(new URL("permissions.ts", lib).href)};
import * as kinds from ${JSON.stringify(new URL("option_kinds.ts", lib).href)};
const row = (flags, kind) => ({ flags, kind, description: "" });
const table = {
  tape: row("--tape", kinds.file),
  svg: row("--svg", kinds.outputFile),
  database: row("--database", kinds.database),
};
restrictFileAccess("sample", table, JSON.parse(Deno.args[0]));
const may = (name, path) => Deno.permissions.querySync({ name, path }).state === "granted";
console.log(JSON.stringify(
  ["/t/tape.csv", "/t", "/p/x.svg", "/db/other", "/etc"]
    .map((path) => [path, may("read", path), may("write", path)]),
));
`;

function accessLeft(flags: readonly string[], values: Record<string, string>) {
  return withFile(PROGRAM, async (program) => {
    const config = fileURLToPath(new URL("../../deno.json", lib));
    const run = ["run", "--no-prompt", "--no-check", "--config", config, ...flags];
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...run, program, JSON.stringify(values)],
    }).output();
    const decoder = new TextDecoder();
    return JSON.parse(decoder.decode(stdout) || "null") ?? decoder.decode(stderr);
  }, ".ts");
}

const files = { tape: "/t/tape.csv", svg: "/p/x.svg", database: "/db/bridge.sqlite" };

Deno.test("restrictFileAccess: with access to all files, a command keeps only the paths of its options", async () => {
  assert.deepEqual(await accessLeft(["--allow-read=/", "--allow-write=/"], files), [
    ["/t/tape.csv", true, false],
    ["/t", false, false],
    ["/p/x.svg", false, true],
    ["/db/other", true, true],
    ["/etc", false, false],
  ]);
  const none = await accessLeft(["--allow-read=/", "--allow-write=/"], {});
  for (const [, ...may] of none) assert.deepEqual(may, [false, false]);
});

Deno.test("restrictFileAccess: access stays unrestricted for a database in the root folder, and with --allow-all", async () => {
  const rooted = await accessLeft(["--allow-read=/", "--allow-write=/"], { database: "/x.sqlite" });
  assert.deepEqual(rooted.at(-1), ["/etc", true, true]);
  assert.deepEqual((await accessLeft(["--allow-all"], files)).at(-1), ["/etc", true, true]);
});

Deno.test("parseOptions: a relative path is relative to the user's folder", () => {
  const table = {
    tape: { flags: "--tape", kind: kinds.file, description: "", env: "TAPE" },
    svg: { flags: "--svg", kind: kinds.outputFile, description: "" },
    dataDir: {
      flags: "--data-dir",
      kind: kinds.dataDirectory,
      description: "",
      default: "data/node",
    },
    database: { flags: "--database", kind: kinds.database, description: "" },
    pricing: {
      flags: "--pricing",
      kind: { ...kinds.module, completes: ["mock"] },
      description: "",
      default: "mock",
    },
  } satisfies OptionTable;
  const text = { name: "sample", description: "", examples: [] };
  const env: Record<string, string> = { INIT_CWD: "/home/user", TAPE: "../tape.csv" };
  const parse = (...argv: string[]) => parseOptions(text, table, argv, (name) => env[name]);
  const given = parse("--svg", "/tmp/x.svg", "--data-dir", "node", "--database", "b.sqlite");
  assert.deepEqual(given, {
    tape: "/home/tape.csv",
    svg: "/tmp/x.svg",
    dataDir: "/home/user/node",
    database: "/home/user/b.sqlite",
    pricing: "mock",
  });
  assert.equal(parse("--pricing", "./mine.ts").pricing, "/home/user/mine.ts");
  assert.equal(parse().dataDir, "/home/user/data/node");
  assert.equal(parse("--database", ":memory:").database, ":memory:");
  assert.equal(parse("--database", "postgres://db/x").database, "postgres://db/x");
  delete env.INIT_CWD;
  assert.equal(parse("--database", "b.sqlite").database, "b.sqlite");
});
