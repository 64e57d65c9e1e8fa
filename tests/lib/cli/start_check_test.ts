/** What `--check` and the doctor start, and how they ask it. */
import assert from "node:assert/strict";
import { Hono } from "hono";
import { Registry } from "prom-client";
import * as kinds from "../../../lib/cli/option_kinds.ts";
import { optionTable } from "../../../lib/cli/options.ts";
import { checkStart } from "../../../lib/cli/start_check.ts";
import { systemClock } from "../../../lib/clock.ts";
import { startService } from "../../../lib/http/service.ts";

const row = (kind: kinds.OptionKind) => ({ kind, description: "" });
const table = optionTable({
  host: row(kinds.host),
  port: row(kinds.port),
  wsPort: row(kinds.port),
  database: row(kinds.database),
  dataDir: row(kinds.dataDirectory),
  output: row(kinds.outputFile),
});
const options = {
  host: "0.0.0.0",
  port: 3000,
  wsPort: undefined,
  database: "postgres://bridge@db/bridge",
  dataDir: "data/node",
  output: "a.svg",
};

/** Starts a service that gives these answers, the last one again and again. */
async function checked(answers: readonly Response[], path = "/ready", timeoutMs = 3_000) {
  let [asked, stops] = [0, 0];
  let given: typeof options | undefined;
  const problems = await checkStart({
    table,
    options,
    clock: systemClock,
    timeoutMs,
    start(harmless) {
      given = harmless;
      const app = new Hono();
      const answer = () => (answers[asked++] ?? answers.at(-1) ?? assert.fail()).clone();
      if (path !== "/health") app.get(path, answer);
      const { host, port } = harmless;
      const definition = { name: "sample", host, port, app, registry: new Registry() };
      const close = () => void (stops += 1);
      return Promise.resolve(startService({ ...definition, health: answer, close }));
    },
  });
  assert.equal(stops, 1);
  return { problems, asked, given };
}

const unready = (...problems: string[]) => Response.json({ problems }, { status: 503 });
const ready = Response.json({ problems: [], node: true });

Deno.test("checkStart: starts on free ports of this machine only, and without a store", async () => {
  const { given } = await checked([unready("no node")], "/ready", 1);
  const harmless = { host: "127.0.0.1", port: 0, database: ":memory:", dataDir: ":memory:" };
  assert.deepEqual(given, { ...options, ...harmless });
});

Deno.test("checkStart: a service that is ready twice has no problem, even if it was not ready at first", async () => {
  const priceless = Response.json({ problems: ["no price"], prices: false }, { status: 503 });
  const { problems, asked } = await checked([priceless, ready]);
  assert.deepEqual([problems, asked], [[], 3]);
});

Deno.test("checkStart: a problem that waiting does not solve is reported once it shows twice", async () => {
  const { problems, asked } = await checked([unready("no permission")]);
  assert.deepEqual([problems, asked], [["no permission"], 2]);
  const body = { problems: ["no node", "no price"], node: false, feed: false, prices: false };
  assert.equal((await checked([Response.json(body, { status: 503 })])).asked, 2);
  assert.deepEqual((await checked([unready("a late answer"), ready])).problems, []);
});

Deno.test("checkStart: a problem that shows only after a second is found", async () => {
  const { problems } = await checked([ready, unready("clock", "chain")], "/ready", 1_000);
  assert.deepEqual(problems, ["clock", "chain"]);
});

Deno.test("checkStart: a reason in plain text is a problem", async () => {
  const { problems } = await checked([new Response("no read node", { status: 503 })], "/ready", 1);
  assert.deepEqual(problems, ["no read node"]);
});

Deno.test("checkStart: a service without /ready is asked for its health", async () => {
  const { problems, asked } = await checked([new Response("OK")], "/health");
  assert.deepEqual([problems, asked], [[], 1], "it asks no node, whose clock could differ");
});
