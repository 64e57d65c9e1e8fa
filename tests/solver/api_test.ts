import assert from "node:assert/strict";
import { withLogs } from "../support/recorded_logs.ts";
import { withSolver } from "./support.ts";

async function get(url: string): Promise<unknown> {
  const response = await fetch(url);
  assert.equal(response.status, 200);
  return await response.json();
}

Deno.test("Solver: a flood of /info asks the node once a second", () =>
  withSolver(async ({ url }, node) => {
    const startMs = Date.now();
    await Promise.all(Array.from({ length: 100 }, () => get(`${url}/info`)));
    const calls = node.calls.get("core_getAccount") ?? 0;
    assert(calls >= 1 && calls <= 1 + Math.floor((Date.now() - startMs) / 1_000), `${calls} calls`);
  }));

Deno.test("Solver: a start with mock pricing logs a warning, except for a dry run", () =>
  withLogs("warning", async (records) => {
    const warnings = () =>
      records.map(({ message }) => message.join("")).filter((text) => text.includes("mock"));
    await withSolver(() => Promise.resolve(), { pricing: "barrier" });
    await withSolver(() => Promise.resolve(), { dryRun: true });
    assert.deepEqual(warnings(), []);
    await withSolver(() => Promise.resolve());
    const [warning = "", ...others] = warnings();
    assert.match(warning, /^--pricing mock pays 5 to 10 % for any range/);
    assert.deepEqual(others, []);
  }));
