/** Each task grants what its service needs and nothing more. */
import assert from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };
import { loggingOptions } from "../../lib/service/logging.ts";
import type { OptionTable } from "../../lib/service/options.ts";
import { options as bridge } from "../../services/bridge/mod.ts";
import { options as exchanges } from "../../services/exchanges/mod.ts";
import { options as backfill } from "../../services/node/backfill.ts";
import { options as node } from "../../services/node/mod.ts";
import { options as oracle } from "../../services/oracle/mod.ts";
import { options as proxy } from "../../services/proxy/mod.ts";
import { options as solver } from "../../services/solver/mod.ts";

const tables: Record<string, OptionTable> = {
  solver,
  bridge,
  proxy,
  oracle,
  node,
  backfill,
  exchanges,
};
const tasks: Record<string, string> = config.tasks;

for (const [name, table] of Object.entries(tables)) {
  Deno.test(`Task ${name}: may read the variables of its option table, and no others`, () => {
    const needed = Object.values({ ...table, ...loggingOptions })
      .flatMap((spec) => "env" in spec && spec.env !== undefined ? [spec.env] : []);
    // The PostgreSQL driver takes what a URL leaves out from PGPASSWORD and its kin.
    if ("database" in table) needed.push("PG*");
    const granted = /--allow-env=(\S+)/.exec(tasks[name] ?? "")?.[1]?.split(",") ?? [];
    assert.deepEqual(granted.toSorted(), needed.toSorted());
  });

  Deno.test(`Task ${name}: may not run programs, load libraries or write outside data`, () => {
    const task = tasks[name] ?? "";
    assert(!/--allow-(run|ffi|all|sys|import)|-A\b/.test(task), task);
    assert(!/--allow-write(?!=data\b)/.test(task), task);
    assert(task.includes("--no-prompt"), task);
  });
}
