/**
 * Each task grants what its service needs and nothing more. A task whose options name files grants the
 * file system; its command keeps the files that the options name (`lib/cli/file_access.ts`).
 */
import assert from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };
import { loggingOptions } from "../../lib/cli/shared_options.ts";
import { run as doctor } from "../../services/stack/doctor.ts";
import { EXCHANGE_HISTORY_URL } from "../../lib/net/exchange_history.ts";
import { PROXY_VARIABLES } from "../../services/oracle/exchange_socket.ts";
import { PROVIDERS } from "../../services/oracle/providers.ts";
import type { OptionSpec, OptionTable } from "../../lib/cli/options.ts";
import { OPTION_TABLES } from "./option_tables.ts";

const tasks: Record<string, string> = config.tasks;

for (const [name, table] of Object.entries(OPTION_TABLES)) {
  Deno.test(`Task ${name}: may read the variables of its option table, and no others`, () => {
    const needed = Object.values({ ...table, ...loggingOptions })
      .flatMap((spec) => "env" in spec && spec.env !== undefined ? [spec.env] : []);
    // The PostgreSQL driver takes what a URL leaves out from PGPASSWORD and its kin.
    if ("database" in table) needed.push("PG*");
    // Paths start where the user is, and messages name commands as tasks.
    needed.push("INIT_CWD");
    // Exchanges are reached through the HTTP proxy that these name.
    if (name === "oracle" || name === "stack") needed.push(...PROXY_VARIABLES);
    const granted = /--allow-env=(\S+)/.exec(tasks[name] ?? "")?.[1]?.split(",") ?? [];
    assert.deepEqual(granted.toSorted(), needed.toSorted());
  });

  Deno.test(`Task ${name}: may not run programs or load libraries, uses files if its options name some`, () => {
    const task = tasks[name] ?? "";
    assert(!/--allow-(run|ffi|all|sys|import)|-A\b/.test(task), task);
    assert(task.includes("--no-prompt"), task);
    for (const permission of ["read", "write"] as const) {
      const granted = new RegExp(`--allow-${permission}(\\S*)`).exec(task)?.[1];
      const needsFiles = usesFiles(table, permission) || OWN_FILES[name] === permission;
      assert.equal(granted, needsFiles ? "=/" : undefined, permission);
    }
  });
}

/** What a command does with files of the program itself before it gives up access to files. */
const OWN_FILES: Partial<Record<string, string>> = { console: "read" };

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

/** What a task grants of a kind: names, or undefined where it is nothing or everything. */
function grantsOf(task: string, kind: string): string[] | undefined {
  return new RegExp(`--allow-${kind}=(\\S+)`).exec(tasks[task] ?? "")?.[1]?.split(",");
}

Deno.test("Task doctor: may read the variables of every service it looks at, and no others", () => {
  const needed = Object.keys(doctor.subcommands).flatMap((service) =>
    grantsOf(service, "env") ?? []
  );
  assert.deepEqual(grantsOf("doctor", "env")?.toSorted(), [...new Set(needed)].toSorted());
});

Deno.test("Task doctor: may not run programs or load libraries, and uses the files of all services", () => {
  assert(!/--allow-(run|ffi|all|sys|import)|-A\b/.test(tasks.doctor ?? ""), tasks.doctor);
  assert.deepEqual(grantsOf("doctor", "read"), ["/"]);
  assert.deepEqual(grantsOf("doctor", "write"), ["/"]);
});

Deno.test("Tasks key and backtest: may use files, and neither network nor programs", () => {
  for (const task of ["key", "backtest"] as const) {
    const granted = tasks[task]?.match(/--allow-\S+/g);
    const files = ["--allow-read=/", "--allow-write=/"];
    assert.deepEqual(granted, ["--allow-env=JSON_LOGS,LOG_LEVEL,INIT_CWD", ...files], task);
  }
});

Deno.test("Task completion: may do nothing but read how it is to log, and that it is a task", () => {
  const granted = tasks.completion?.match(/--allow-\S+/g);
  assert.deepEqual(granted, ["--allow-env=JSON_LOGS,LOG_LEVEL,INIT_CWD"]);
});

Deno.test("Tasks demo, stack and exchanges: reach this machine, the stack the exchanges too", () => {
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

Deno.test("Task test: grants what deno test -P does", () => {
  const granted = tasks.test?.match(/(?<=--allow-)\S+/g) ?? [];
  assert.deepEqual(new Set(granted), new Set(Object.keys(config.test.permissions)));
});
