/**
 * Each task grants what its service needs and nothing more. A task whose options name files grants
 * the file system; its command keeps the files that the options name (`lib/cli/permissions.ts`).
 */
import assert from "node:assert/strict";
import { variablesOf } from "../../lib/cli/option_names.ts";
import { EXCHANGE_HISTORY_URL } from "../../lib/net/exchange_history.ts";
import type { OptionSpec, OptionTable } from "../../lib/cli/options.ts";
import config from "../../deno.json" with { type: "json" };
import { run as doctor } from "../../services/stack/doctor.ts";
import { PROVIDERS } from "../../services/oracle/providers/mod.ts";
import { OPTION_TABLES } from "./option_tables.ts";

const tasks: Record<string, string> = config.tasks;

/** Variables that every task may read: computed names, and the user's folder, where paths start. */
const COMMON_VARIABLES = ["RANGEMAKER_*", "INIT_CWD"];

for (const [name, table] of Object.entries(OPTION_TABLES)) {
  Deno.test(`Task ${name}: may read the variables of its options and no others`, () => {
    const variables = Object.values(table).flatMap((spec) =>
      variablesOf(spec).flatMap((name) => spec.kind.secret ? [name, `${name}_FILE`] : [name])
    );
    // The PostgreSQL driver reads missing parts of a URL from PGPASSWORD and similar variables.
    if ("database" in table) variables.push("PGPASSWORD");
    const granted = grantsOf(name, "env") ?? [];
    const matches = (grant: string, variable: string) =>
      grant.endsWith("*") ? variable.startsWith(grant.slice(0, -1)) : variable === grant;
    for (const variable of variables) {
      assert(granted.some((grant) => matches(grant, variable)), `${variable} is not granted`);
    }
    for (const grant of granted.filter((grant) => !COMMON_VARIABLES.includes(grant))) {
      assert(variables.some((variable) => matches(grant, variable)), `${grant} is not needed`);
    }
    assert.deepEqual(granted.slice(0, 2), COMMON_VARIABLES);
  });

  Deno.test(`Task ${name}: may not run programs or load libraries, and may use files only if its options need that`, () => {
    const task = tasks[name] ?? "";
    assert(!/--allow-(run|ffi|all|sys|import)|-A\b/.test(task), task);
    assert(task.includes("--no-prompt"), task);
    // Options name the hosts, except for those that a simulation listens on.
    assert.equal(/--allow-net(\S*)/.exec(task)?.[1] === "", name !== "exchanges", task);
    for (const permission of ["read", "write"] as const) {
      const granted = new RegExp(`--allow-${permission}(\\S*)`).exec(task)?.[1];
      // Every command may read a settings file and secrets in files.
      const needsFiles = permission === "read" || usesFiles(table, permission);
      assert.equal(granted, needsFiles ? "=/" : undefined, permission);
    }
  });
}

/** Whether options name files that the service reads or writes. */
function usesFiles(table: OptionTable, permission: "read" | "write"): boolean {
  const kinds = [
    permission,
    "readWrite",
    "database",
    ...(permission === "read" ? ["modules"] : []),
  ];
  return Object.values(table).some(({ kind }: OptionSpec) => kinds.includes(kind.access ?? ""));
}

/** The names that a task grants of a kind; undefined for none or all. */
function grantsOf(task: string, kind: string): string[] | undefined {
  return new RegExp(`--allow-${kind}=(\\S+)`).exec(tasks[task] ?? "")?.[1]?.split(",");
}

Deno.test("Task doctor: may read the variables of every service that it checks, and no others", () => {
  const needed = Object.keys(doctor.subcommands).flatMap((service) =>
    grantsOf(service, "env") ?? []
  );
  assert.deepEqual(grantsOf("doctor", "env")?.toSorted(), [...new Set(needed)].toSorted());
});

Deno.test("Task doctor: may not run programs or load libraries, and may use any file", () => {
  assert(!/--allow-(run|ffi|all|sys|import)|-A\b/.test(tasks.doctor ?? ""), tasks.doctor);
  assert.deepEqual(grantsOf("doctor", "read"), ["/"]);
  assert.deepEqual(grantsOf("doctor", "write"), ["/"]);
});

Deno.test("Tasks key, backtest and completion: may use files only, and only key may write them", () => {
  for (const task of ["key", "backtest", "completion"] as const) {
    const files = ["--allow-read=/", ...task === "key" ? ["--allow-write=/"] : []];
    const granted = tasks[task]?.match(/--allow-\S+/g);
    assert.deepEqual(granted, ["--allow-env=RANGEMAKER_*,INIT_CWD", ...files], task);
  }
});

Deno.test("Tasks demo, stack and exchanges: may connect to this machine only, the stack also to the exchanges", () => {
  const here = ["127.0.0.1", "0.0.0.0", "localhost", "[::1]", "[::]"];
  const urls = Object.values(PROVIDERS).map(({ url }) => url);
  const exchanges = [...urls, EXCHANGE_HISTORY_URL].map((url) => {
    const { hostname, port } = new URL(url);
    return `${hostname}:${port || 443}`;
  });
  for (const [task, others] of [["demo", []], ["stack", exchanges], ["exchanges", []]] as const) {
    const hosts = grantsOf(task, "net") ?? assert.fail(`${task} may connect anywhere`);
    const beyond = hosts.filter((host) => !here.includes(host));
    assert.deepEqual(beyond.toSorted(), [...others].toSorted(), task);
  }
});

Deno.test("Task test: has the same permissions as deno test -P", () => {
  const granted = tasks.test?.match(/(?<=--allow-)\S+/g) ?? [];
  assert.deepEqual(new Set(granted), new Set(Object.keys(config.test.permissions)));
});
