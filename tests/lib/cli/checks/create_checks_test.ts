/** What follows from the kinds of a table's options: permissions and checks. */
import assert from "node:assert/strict";
import type { ServiceChecks } from "../../../../lib/cli/checks/check.ts";
import { checkPermissions, createChecks } from "../../../../lib/cli/checks/create_checks.ts";
import * as kinds from "../../../../lib/cli/option_kinds.ts";
import { type OptionTable, parseAllOptions } from "../../../../lib/cli/options.ts";
import { listenOptions } from "../../../../lib/cli/shared_options.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

const row = (flags: string, kind: kinds.OptionKind, text?: string) => ({
  flags,
  kind,
  description: "",
  ...(text !== undefined && { default: text }),
});

/** Values that need no permission of their own, so that each kind is seen alone. */
const required: readonly (readonly [kinds.OptionKind, value: unknown, flags: string])[] = [
  [kinds.port, 3000, "--allow-net=127.0.0.1:3000"],
  [kinds.httpUrl, "https://api.example/x", "--allow-net=api.example:443"],
  [
    kinds.httpUrls,
    "http://a.example:8545,http://b.example",
    "--allow-net=a.example:8545,b.example:80",
  ],
  [kinds.wsUrl, "ws://node.example", "--allow-net=node.example:80"],
  [{ ...kinds.httpUrl }, "oracle.example:8550", "--allow-net=oracle.example:8550"],
  [kinds.file, "keys/a.json", "--allow-read=keys/a.json"],
  [kinds.module, "mine/strategy.ts", "--allow-read=mine"],
  [kinds.outputFile, "a.svg", "--allow-write=a.svg"],
  [kinds.directory, "data/node", "--allow-read=data/node --allow-write=data/node"],
  [kinds.database, "data/a.sqlite", "--allow-read=data --allow-write=data"],
  [kinds.database, ":memory:", ""],
  [
    kinds.database,
    "postgres://user@db.example/x",
    "--allow-net=db.example:5432 --allow-env=PGPASSWORD",
  ],
  [kinds.logLevel, "anything", ""],
  [kinds.file, undefined, ""],
];

for (const [kind, value, flags] of required) {
  Deno.test({
    name: `checkPermissions: ${kind.placeholder} ${value} requires ${flags || "nothing"}`,
    permissions: { env: ["RANGEMAKER_*"] },
    fn() {
      const table = { ...listenOptions, value: row("--value", kind) };
      const { level, remedy } = checkPermissions(table, { host: "127.0.0.1", value });
      assert.equal(level, flags === "" ? "ok" : "fail");
      assert.equal(remedy ?? "Start it with ", `Start it with ${flags}`);
    },
  });
}

function subjectsOf(options: OptionTable, more: Partial<ServiceChecks> = {}): string[] {
  return checks(options, more).map(({ subject }) => subject);
}

function checks(options: OptionTable, more: Partial<ServiceChecks>) {
  const text = { name: "sample", description: "", examples: [] };
  const parsed = parseAllOptions(text, options, [], () => undefined);
  const target = { service: "sample", options, ...more };
  return createChecks(target, parsed, { clock: new FakeClock(), timeoutMs: 1_000, mustRun: false });
}

const start = () => Promise.reject(new Error("Nothing starts it"));

Deno.test("createChecks: each option gets the check of its kind, named after the option if there are several", () => {
  const url = "http://127.0.0.1:1";
  const options = {
    wsPort: row("--ws-port", kinds.port, "1"),
    ...listenOptions,
    database: row("--database", kinds.database, "a.sqlite"),
    writeNodeUrl: row("--write-node-url", kinds.httpUrl, url),
    bigHedgeUrl: row("--big-hedge-url", kinds.serviceUrl, url),
    privateKey: row("--private-key", kinds.key),
    tape: row("--tape", kinds.file),
  };
  const subjects = ["permissions", "key", "big hedge", "store", "ws port"];
  const checkStore = () => Promise.reject(new Error("Nothing checks it"));
  assert.deepEqual(subjectsOf(options, { checkStore }), subjects);
  assert.deepEqual(subjectsOf(options, { checkStore, start }), [...subjects, "start"]);
});

Deno.test("createChecks: an invalid option is reported; the checks that need it, and a start, are left out", () => {
  const options = {
    ...listenOptions,
    readPort: row("--read-port", kinds.port),
    hedgeUrl: row("--hedge-url", kinds.serviceUrl, "nonsense"),
    limit: row("--limit", kinds.integer(1), "0"),
  };
  const customChecks = () => assert.fail("They need the options");
  const subjects = subjectsOf(options, { start, customChecks });
  assert.deepEqual(subjects, ["option", "option", "permissions"]);
});

Deno.test("createChecks: a key is opened once for all checks that need it", async () => {
  let opened = 0;
  const address = "0x0000000000000000000000000000000000000001";
  const found = checks({ privateKey: row("--private-key", kinds.key) }, {
    openSigner: () => Promise.resolve({ address: (opened += 1, address) }),
    customChecks: (_, { signer }) => [{
      subject: "special",
      run: async () => ({ level: "ok", text: (await signer()).address }),
    }],
  });
  for (const { subject, run } of found) if (subject !== "permissions") await run();
  assert.equal(opened, 1);
});
