/**
 * Damages the databases of bridge and solver while work is pending, and starts the service against
 * a live node: nothing wrong is sent, nothing is lost silently, and damage is named. Single bits of
 * the files of SQLite, and single values in the rows of PostgreSQL:
 * `FLIPS=600 CHANGES=600 deno task test tests/e2e/damage_test.ts` damages more.
 */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import postgres from "postgres";
import type { RandomSource } from "../../lib/random.ts";
import type { RunningService } from "../../lib/http/service.ts";
import type { SqlValue } from "../../lib/intents/database.ts";
import { StoreError } from "../../lib/intents/errors.ts";
import { IntentStore } from "../../lib/intents/store.ts";
import { signedRequest, startTestBridge } from "../bridge/support.ts";
import { execution, startFundedNode, startTestSolver } from "../solver/support.ts";
import type { FakeNode } from "../support/fake_node.ts";
import { eventually } from "../support/eventually.ts";
import { post } from "../support/http_answers.ts";
import { NEEDS_POSTGRES, POSTGRES_URL, withSchema } from "../support/postgres.ts";
import { withSeed } from "../support/random.ts";
import { withFolder } from "../support/files.ts";
import { withLogs } from "../support/recorded_logs.ts";

/** Intents that are finished, and such that the node has not answered yet. */
const FINISHED = 8;
const PENDING = 4;

/** How long a service may take to finish pending work, or to report the damage. */
const SETTLED_MS = 10_000;

/** Events that name damage, and of a store that cannot be used. */
const NAMED = new Set([
  "store_damaged",
  "store_failed",
  "submitting_failed",
  "store_log_torn",
  "store_upkeep_failed",
]);

/** The columns of a row that an attempt does not change. */
const COLUMNS =
  'service, key, "user", payload, state, receipt, expires_at_ms, created_at_ms, reserved';

/** Rows as {@link COLUMNS}, by their key. */
type Rows = Map<string, string>;

/** One service, and how it gets its work. */
interface Scene {
  name: string;
  start(node: FakeNode, database: string): Promise<RunningService>;
  /** Submits one intent; the node may leave it without an answer. */
  submit(url: string, index: number): Promise<unknown>;
}

const SCENES: readonly Scene[] = [
  {
    name: "bridge",
    start: (node, database) => startTestBridge(node.url, { database }),
    submit: (url, index) => {
      const deadline = Date.now() + 3_600_000;
      return post(`${url}/deposit`, signedRequest({ nonce: BigInt(index), deadline }));
    },
  },
  {
    name: "solver",
    start: (node, database) => startTestSolver(node, { database }),
    async submit(url, index) {
      const deadline = Date.now() + 300_000;
      const terms = { betAmount: `${10_000_000 + index}`, deadline };
      return await post(`${url}/execute`, await execution(url, terms));
    },
  },
];

/** What a transaction does, without when it was signed. */
function termsOf(text: string): string {
  const { timestamp: _, signature: __, ...terms } = JSON.parse(text);
  return JSON.stringify(terms);
}

function startNode(): FakeNode {
  const node = startFundedNode();
  node.methods.set("core_getThesis", () => null);
  return node;
}

/** Gives a service work that the node leaves without an answer. */
async function leavePending(scene: Scene, node: FakeNode, url: string): Promise<void> {
  node.loseTransactions();
  for (let index = 0; index < PENDING; index += 1) await scene.submit(url, 200 + index);
}

/** Rows from a driver, as {@link Rows}. */
function rowsByKey(rows: readonly unknown[]): Rows {
  return new Map(
    rows.map((row) => [String(Object(row).key), JSON.stringify(Object.values(Object(row)), text)]),
  );
}

/** One database returns some integers as text. */
function text(_key: string, value: unknown): unknown {
  return typeof value === "number" ? String(value) : value;
}

/** Starts a service on a damaged database. @returns How the damage was reported, or `none`. */
async function startDamaged(
  scene: Scene,
  node: FakeNode,
  database: string,
  what: string,
): Promise<string> {
  node.received.length = 0;
  node.behaviour = (apply) => apply();
  let outcome = "refused";
  let isVerified = false;
  const { readPage } = IntentStore.prototype;
  IntentStore.prototype.readPage = function (...page) {
    return readPage.apply(this, page).finally(() => isVerified = true);
  };
  await withLogs("info", async (records) => {
    const named = () => records.find(({ properties: { event } }) => NAMED.has(String(event)));
    try {
      const service = await scene.start(node, database);
      await eventually(`an end after ${what}`, () => {
        const done = records.filter(({ properties: { event } }) =>
          /^(deposit|execution)_(committed|failed)$/.test(String(event))
        );
        return done.length >= PENDING || named() !== undefined;
      }, SETTLED_MS);
      await eventually("the first look at all rows", () => isVerified);
      outcome = String(named()?.properties.event ?? "none");
      await service.stop();
    } catch (thrown) {
      if (!(thrown instanceof StoreError)) throw thrown;
    } finally {
      IntentStore.prototype.readPage = readPage;
    }
  });
  return outcome;
}

/** Unreported damage is harmless: finished rows are unchanged, the others are committed. */
function requireUnharmed(before: Rows, after: Rows, what: string): void {
  for (const [key, was] of before) {
    const is = after.get(key);
    const isDone = /"(committed|failed)"/.test(was);
    assert(isDone ? is === was : is?.includes('"committed"'), `${what}: silently ${was} → ${is}`);
  }
}

const FLIPS = Number(Deno.env.get("FLIPS") ?? 12);

function rowsOf(database: string): Rows {
  const db = new DatabaseSync(database);
  const rows: unknown[] = db.prepare(`SELECT ${COLUMNS} FROM intents`).all();
  db.close();
  return rowsByKey(rows);
}

/** Opening a file writes its log into it. */
async function copyOf(database: string): Promise<string> {
  const copy = `${database}-copy`;
  for (const end of ["", "-wal"]) await Deno.copyFile(database + end, copy + end);
  return copy;
}

async function flip(path: string, random: RandomSource): Promise<string> {
  const bytes = await Deno.readFile(path);
  const at = Math.floor(random() * bytes.length);
  const bit = Math.floor(random() * 8);
  bytes[at] = bytes[at]! ^ 1 << bit; // inside the file
  await Deno.writeFile(path, bytes);
  return `bit ${bit} of byte ${at} of ${path.replace(/.*\//, "")}`;
}

/** Makes files as a killed service leaves them. @returns The node, the terms of all transactions. */
async function prepare(scene: Scene, database: string, image: string) {
  const node = startNode();
  const service = await scene.start(node, database);
  for (let index = 0; index < FINISHED; index += 1) await scene.submit(service.url, index);
  // The first rows are in the file, the others in the log.
  const other = new DatabaseSync(database);
  other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  other.close();
  for (let index = 0; index < FINISHED; index += 1) await scene.submit(service.url, 100 + index);
  await leavePending(scene, node, service.url);
  for (const end of ["", "-wal"]) await Deno.copyFile(database + end, image + end);
  const terms = new Set(node.received.map(termsOf));
  assert.equal(terms.size, 2 * FINISHED + PENDING);
  await service.stop();
  return { node, terms };
}

async function flipAll(scene: Scene, random: RandomSource): Promise<void> {
  await withFolder(async (folder) => {
    const image = `${folder}/image.sqlite`;
    const { node, terms } = await prepare(scene, `${folder}/first.sqlite`, image);
    const outcomes: Record<string, number> = {};
    try {
      for (let index = 0; index < FLIPS; index += 1) {
        const database = `${folder}/${index}.sqlite`;
        for (const end of ["", "-wal"]) await Deno.copyFile(image + end, database + end);
        const what = await flip(database + (random() < 0.5 ? "" : "-wal"), random);
        const outcome = await startDamaged(scene, node, database, what);
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        if (outcome === "none") {
          requireUnharmed(rowsOf(await copyOf(image)), rowsOf(database), what);
        }
        for (const text of node.received) assert(terms.has(termsOf(text)), `${what}: sent ${text}`);
      }
      console.log(`${FLIPS} flips, ${scene.name}: ${JSON.stringify(outcomes)}`);
    } finally {
      await node.stop();
    }
  });
}

for (const scene of SCENES) {
  Deno.test(`Damage: with flipped bits ${scene.name} sends nothing wrong, and reports every loss`, () =>
    withSeed((random) => flipAll(scene, random)));
}

/** SQLSTATE of a key that another row has. */
const UNIQUE_VIOLATION = "23505";

const CHANGES = Number(Deno.env.get("CHANGES") ?? 12);

/** What a service reads of its tables, and could believe. */
const VALUES = [
  ...["service", "key", "user", "payload", "state", "tx_hash", "transaction_text", "receipt"],
  ...["failure_code", "expires_at_ms", "created_at_ms", "updated_at_ms", "reserved", "checksum"],
].map((column) => ({ table: "intents", column })).concat(
  ["genesis", "signer", "highest_block", "checksum"].map((column) => ({
    table: "services",
    column,
  })),
);

const STATES = ["accepted", "submitted", "committed", "failed"];

/** A value as another one of the same type; null becomes a text or a number. */
function changed(value: SqlValue, column: string, random: RandomSource): SqlValue {
  const pick = <T>(of: readonly T[]) => of[Math.floor(random() * of.length)]!; // below the length
  if (column === "state") return pick(STATES.filter((state) => state !== value));
  if (column === "reserved") return 1 - Number(value);
  if (/_ms$|block|checksum/.test(column)) {
    return Number(value ?? 0) + pick([-1, 1]) * 2 ** Math.floor(random() * 20);
  }
  if (value === null) return "TEST";
  const text = String(value);
  if (random() < 0.1 && !["service", "key", "user", "payload"].includes(column)) return null;
  const at = Math.floor(random() * text.length);
  const other = pick([..."0123456789abcdef"].filter((letter) => letter !== text[at]));
  return text.slice(0, at) + other + text.slice(at + 1);
}

async function changeOne(sql: postgres.Sql, scene: Scene, random: RandomSource): Promise<string> {
  const { table, column } = VALUES[Math.floor(random() * VALUES.length)]!; // below the length
  const rows = await sql`SELECT ctid, ${sql(column)} AS value FROM ${sql(table)}
    WHERE service = ${scene.name} ORDER BY ctid`;
  const { ctid, value } = rows[Math.floor(random() * rows.length)] ?? assert.fail("No row");
  const next = changed(value, column, random);
  await sql.unsafe(`UPDATE ${table} SET "${column}" = $1 WHERE ctid = $2::tid`, [
    next,
    ctid,
  ]);
  return `${table}.${column} ${value} → ${next}`;
}

async function changeAll(scene: Scene, url: string, random: RandomSource): Promise<void> {
  const node = startNode();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const rowsNow = async () => rowsByKey(await sql.unsafe(`SELECT ${COLUMNS} FROM intents`));
  const outcomes: Record<string, number> = {};
  try {
    const service = await scene.start(node, url);
    for (let index = 0; index < FINISHED; index += 1) await scene.submit(service.url, index);
    await leavePending(scene, node, service.url);
    await service.stop();
    const terms = new Set(node.received.map(termsOf));
    assert.equal(terms.size, FINISHED + PENDING);
    const before = await rowsNow();
    await sql`CREATE TABLE image AS SELECT * FROM intents`;
    await sql`CREATE TABLE services_image AS SELECT * FROM services`;
    for (let index = 0; index < CHANGES; index += 1) {
      await sql`TRUNCATE intents, services`;
      await sql`INSERT INTO intents OVERRIDING SYSTEM VALUE SELECT * FROM image`;
      await sql`INSERT INTO services SELECT * FROM services_image`;
      const what = await changeOne(sql, scene, random).catch((thrown: unknown) => {
        // The key of another row: the database refuses that itself.
        if (Object(thrown).code === UNIQUE_VIOLATION) return undefined;
        throw thrown;
      });
      if (what === undefined) continue;
      const outcome = await startDamaged(scene, node, url, what);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (outcome === "none") requireUnharmed(before, await rowsNow(), what);
      for (const text of node.received) assert(terms.has(termsOf(text)), `${what}: sent ${text}`);
    }
    console.log(`${CHANGES} changes, ${scene.name}: ${JSON.stringify(outcomes)}`);
  } finally {
    await sql.end();
    await node.stop();
  }
}

for (const scene of SCENES) {
  Deno.test({
    name:
      `Damage: with changed rows in PostgreSQL ${scene.name} sends nothing wrong, and reports ` +
      `every loss${NEEDS_POSTGRES}`,
    ignore: POSTGRES_URL === undefined,
    timeout: 3_600_000,
    fn: () => withSeed((random) => withSchema((url) => changeAll(scene, url, random))),
  });
}
