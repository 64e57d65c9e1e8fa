/** What follows from the kinds of a table's options, and the order of the checks. */
import assert from "node:assert/strict";
import * as kinds from "../../lib/cli/option_kinds.ts";
import type { OptionTable } from "../../lib/cli/options.ts";
import { type Check, passed, type ServiceChecks, warning } from "../../lib/cli/service_checks.ts";
import { listenOptions } from "../../lib/cli/shared_options.ts";
import { NodeUnreachableError } from "../../lib/net/core_reader.ts";
import { checkPermissions, checkService } from "../../services/stack/check_service.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { admin, deadUrl } from "./support.ts";

const row = (flags: string, kind: kinds.OptionKind) => ({ flags, kind, description: "" });

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
  [kinds.file, "keys/a.json", "--allow-read=keys/a.json"],
  [kinds.module, "mine/strategy.ts", "--allow-read=mine"],
  [kinds.outputFile, "a.svg", "--allow-write=a.svg"],
  [kinds.dataDirectory, "data/node", "--allow-read=data/node --allow-write=data/node"],
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

async function resultsOf(
  options: OptionTable,
  values: Record<string, unknown>,
  more: Partial<ServiceChecks>,
  length = 9,
) {
  const target = { service: "sample", options, ...more };
  const context = { clock: new FakeClock(), timeoutMs: 1_000 };
  const results = await Array.fromAsync(checkService(target, values, context));
  return results.map(({ subject, level, text }) =>
    [subject, level, text.slice(0, length)].join(" ")
  );
}

const check = (subject: string, run: Check["run"]) => ({ subject, remedy: "Fix it", run });

Deno.test("checkService: checks permissions and key first, then side by side; a failed check fails no other", async () => {
  const slow = Promise.withResolvers<void>();
  const results = await resultsOf(
    { bigHedgeUrl: row("--big-hedge-url", kinds.serviceUrl), tape: row("--tape", kinds.file) },
    { bigHedgeUrl: deadUrl() },
    {
      openSigner: () => Promise.resolve({ address: admin }),
      customChecks: (_, { address }) => [
        check("away", async () => {
          await slow.promise;
          throw new NodeUnreachableError("http://a", undefined);
        }),
        check("fine", () => {
          slow.resolve();
          return passed(`${address}`);
        }),
      ],
      start: () => Promise.reject(new TypeError("oops")),
    },
  );
  assert.deepEqual(results, [
    "permissions ok Granted: ",
    "key ok Signs as ",
    "bigHedge fail http://12",
    "away fail Core node",
    `fine ok ${admin.slice(0, 9)}`,
    "start fail oops",
  ]);
});

Deno.test("checkService: the check of a start does not repeat what earlier lines report; other checks may", async () => {
  const answers = () => passed("It answers");
  const lacks = (name: string) => () => warning(`${name}: No BTC; No SOL`, "Fix it");
  const results = await resultsOf({}, {}, {
    customChecks: () => [
      check("one", answers),
      check("two", answers),
      check("okx", lacks("okx")),
      check("kraken", lacks("kraken")),
    ],
    start: () => Promise.reject(new TypeError("No SOL")),
  }, 40);
  assert.deepEqual(results.slice(1), [
    "one ok It answers",
    "two ok It answers",
    "okx warn okx: No BTC; No SOL",
    "kraken warn kraken: No BTC; No SOL",
    "start fail For the reasons above",
  ]);
});

Deno.test("checkService: without the key nothing else is checked", async () => {
  const results = await resultsOf({}, {}, {
    openSigner: () => Promise.reject(new NodeUnreachableError("http://a", undefined)),
    customChecks: () => assert.fail("They need the key"),
  });
  assert.deepEqual(results, ["permissions ok Granted: ", "key fail Core node"]);
});

Deno.test({
  name: "checkService: without a permission nothing else is checked",
  permissions: { env: ["RANGEMAKER_*"] },
  async fn() {
    const results = await resultsOf({ tape: row("--tape", kinds.file) }, { tape: "a.csv" }, {
      openSigner: () => assert.fail("It may need the permission"),
    });
    assert.deepEqual(results, ["permissions fail This proc"]);
  },
});
