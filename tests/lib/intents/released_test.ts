/** Databases that a released version wrote (`released/make.ts` says how): this one goes on with them. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import postgres from "postgres";
import type { RunningService } from "../../../lib/http/service.ts";
import { MIGRATIONS } from "../../../lib/intents/migrations.ts";
import { CoreClient } from "../../../lib/net/core_client.ts";
import { startTestBridge, user } from "../../bridge/support.ts";
import { SOLVER_BALANCE, startTestSolver } from "../../solver/support.ts";
import { solver } from "../../solver/support.ts";
import { post } from "../../support/envelope.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeNode } from "../../support/fake_node.ts";
import { NEEDS_POSTGRES, POSTGRES_URL, withSchema } from "../../support/postgres.ts";
import { withFolder } from "../../support/with_folder.ts";

/** Version of the tables in the files. */
const RELEASED = 4;

const sqlOf = (name: string) =>
  Deno.readTextFileSync(new URL(`released/${name}.sql`, import.meta.url));

const databases = {
  SQLite: (name: string, test: (database: string) => Promise<void>) =>
    withFolder((folder) => {
      const db = new DatabaseSync(`${folder}/${name}.sqlite`);
      db.exec(sqlOf(name));
      db.close();
      return test(`${folder}/${name}.sqlite`);
    }),
  PostgreSQL: (name: string, test: (database: string) => Promise<void>) =>
    withSchema(async (url) => {
      const sql = postgres(url, { max: 1 });
      const rows = sqlOf(name).split("\n").filter((line) => line.startsWith("INSERT"));
      const steps = [
        "CREATE TABLE migrations (number INTEGER PRIMARY KEY)",
        `INSERT INTO migrations SELECT generate_series(1, ${RELEASED})`,
        ...MIGRATIONS.slice(0, RELEASED).map((step) => step.postgres),
        ...rows.map((row) =>
          row.replace("intents VALUES", "intents OVERRIDING SYSTEM VALUE VALUES")
        ),
        `SELECT setval(pg_get_serial_sequence('intents', 'sequence'), ${rows.length})`,
      ];
      for (const step of steps) await sql.unsafe(step);
      await sql.end();
      await test(url);
    }),
};

/** The payload and the transaction of each intent in a file, in order. */
function intentsIn(name: string) {
  const db = new DatabaseSync(":memory:");
  db.exec(sqlOf(name));
  const rows = db.prepare("SELECT payload, state, transaction_text FROM intents ORDER BY sequence");
  const intents = rows.all().map(Object).map((row) => ({
    request: JSON.parse(String(row.payload)),
    state: String(row.state),
    transaction: String(row.transaction_text),
  }));
  db.close();
  return intents;
}

/** The node that the released version worked with: it has what was committed. */
async function nodeOf(name: string): Promise<FakeNode> {
  const node = FakeNode.start();
  for (const { address } of [solver, user]) node.credited.set(address, SOLVER_BALANCE);
  node.timestampToleranceMs = Number.MAX_SAFE_INTEGER;
  node.methods.set("core_getTheses", () => ({ theses: [], nextCursor: null }));
  node.methods.set("core_getThesis", () => null);
  for (const { state, transaction } of intentsIn(name)) {
    if (state !== "committed") continue;
    await new CoreClient({ url: node.url }).sendTransactionText(transaction);
  }
  return node;
}

async function goesOn(
  name: "bridge" | "solver",
  start: (node: FakeNode) => Promise<RunningService>,
  send: (url: string, request: Record<string, unknown>) => Promise<unknown>,
  expected: readonly unknown[],
): Promise<void> {
  const node = await nodeOf(name);
  try {
    for (let run = 1; run <= 2; run += 1) {
      const service = await start(node);
      await eventually(
        "what was pending is submitted",
        () => node.committed.length === 3 || undefined,
      );
      const { status } = await (await fetch(`${service.url}/health`)).json();
      assert.match(status, /^(ok|healthy)$/);
      for (const [index, { request }] of intentsIn(name).entries()) {
        assert.deepEqual(await send(service.url, request), expected[index]);
      }
      const metrics = await (await fetch(`${service.url}/metrics`)).text();
      assert.ok(metrics.includes(`\n${name}_store_damaged_rows 0\n`));
      await service.stop();
    }
    assert.equal(node.committed.length, 3);
  } finally {
    await node.stop();
  }
}

for (const [name, withReleased] of Object.entries(databases)) {
  const ignore = name === "PostgreSQL" && POSTGRES_URL === undefined;
  const title = name === "PostgreSQL" ? `${name}${NEEDS_POSTGRES}` : name;

  Deno.test({
    name:
      `Released database of a bridge: used nonces stay used, what was pending ends, on ${title}`,
    ignore,
    fn: () =>
      withReleased(
        "bridge",
        (database) =>
          goesOn("bridge", (node) =>
            startTestBridge(node.url, { database }), async (url, request) => {
            const { status, body } = await post(`${url}/deposit`, request);
            return [status, /deposit is \w+/.exec(String(body.error))?.[0]];
          }, [
            [409, "deposit is committed"],
            [409, "deposit is committed"],
            [409, "deposit is failed"],
            [409, "deposit is committed"],
          ]),
      ),
  });

  Deno.test({
    name:
      `Released database of a solver: executed quotes keep their result, what was pending ends, ` +
      `on ${title}`,
    ignore,
    fn: () =>
      withReleased(
        "solver",
        (database) =>
          goesOn("solver", (node) => startTestSolver(node, { database }), async (url, request) => {
            const { quote, userSignature } = request;
            const { status, body } = await post(`${url}/execute`, { quote, userSignature });
            return [status, Object(body.result).status];
          }, [[200, "committed"], [200, "committed"], [200, "failed"], [200, "committed"]]),
      ),
  });
}
