/**
 * Changes single values in the PostgreSQL rows of bridge and solver while work is pending, and
 * starts the service against a live node: nothing wrong is sent, nothing is lost silently, damage
 * is named. `CHANGES=600 deno task test tests/e2e/changed_rows_test.ts` changes more values.
 */
import assert from "node:assert/strict";
import postgres from "postgres";
import type { RandomSource } from "../../lib/random.ts";
import type { SqlValue } from "../../lib/intents/database.ts";
import {
  COLUMNS,
  FINISHED,
  leavePending,
  PENDING,
  requireUnharmed,
  rowsByKey,
  type Scene,
  SCENES,
  startDamaged,
  startNode,
  termsOf,
} from "../support/damage.ts";
import { NEEDS_POSTGRES, POSTGRES_URL, withSchema } from "../support/postgres.ts";
import { withSeed } from "../support/random.ts";

/** SQLSTATE of a key that another row has. */
const UNIQUE_VIOLATION = "23505";

/** Values to change in the rows of each service. */
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
