/** Services that are started without options find each other. */
import assert from "node:assert/strict";
import { OPTION_TABLES } from "./option_tables.ts";

function defaultOf(service: string, option: string): string {
  const spec = OPTION_TABLES[service]?.[option] ?? assert.fail(`${service} has no ${option}`);
  return spec.default ?? spec.shownDefault ?? assert.fail(`${service} ${option} has no default`);
}

/** Which option of which service has the port that an option's URL names. */
const MEETINGS = [
  ["solver rpcUrl", "node port"],
  ["solver wsUrl", "proxy port"],
  ["bridge rpcUrl", "node port"],
  ["backfill rpcUrl", "node port"],
  ["proxy writeNodeUrl", "node port"],
  ["proxy readNodeUrl", "node readPort"],
  ["node oracleUrl", "oracle port"],
  ["console solverUrl", "solver port"],
  ["console proxyUrl", "proxy port"],
] as const;

for (const [caller, callee] of MEETINGS) {
  Deno.test(`Defaults: ${caller} leads to ${callee}`, () => {
    const [from, to] = [caller, callee].map((name) => {
      const [service = "", option = ""] = name.split(" ");
      return defaultOf(service, option);
    });
    assert.equal(/:(\d+)$/.exec(from ?? "")?.[1], to);
  });
}
