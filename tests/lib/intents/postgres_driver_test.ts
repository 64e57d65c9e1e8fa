import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import postgres from "postgres";
import { ITEMS_WAITING_MAX } from "../../../lib/intents/batches.ts";
import { StoreConnectionLostError } from "../../../lib/intents/errors.ts";
import type { SqlSteps } from "../../../lib/intents/database.ts";
import { openIntentStore } from "../../../lib/intents/open_store.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { PostgresDriver } from "../../../lib/intents/postgres_driver.ts";
import { eventually } from "../../support/eventually.ts";
import { freePort } from "../../support/ports.ts";
import { runSql, testOnPostgres } from "../../support/postgres.ts";
import { COMMITTED, newIntent } from "../../support/intents.ts";

const intent = newIntent("a");

/** Declares a test on an empty schema of its own, with a client of the server beside it. */
function test(
  name: string,
  run: (server: { url: string; admin: postgres.Sql }) => Promise<void>,
): void {
  testOnPostgres(`PostgresDriver: ${name}`, async (url) => {
    const admin = postgres(url, { max: 2 });
    try {
      await run({ url, admin });
    } finally {
      await admin.end();
    }
  });
}

/** A driver that is closed at the end of its test. */
function closing(driver: PostgresDriver) {
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() });
}

/** Runs SQL in each session that inserts an intent, after the insertion. */
async function onInsert(admin: postgres.Sql, body: string): Promise<void> {
  await admin.unsafe(`
    CREATE FUNCTION on_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      ${body};
      RETURN NULL;
    END $$;
    CREATE TRIGGER on_insert AFTER INSERT ON intents EXECUTE FUNCTION on_insert()`);
}

test("a call fails if its connection is lost, and the next call reconnects", async ({ url, admin }) => {
  await using store = await openIntentStore(url, "test");
  let ended: Promise<unknown> | undefined;
  await admin.begin(async (tx) => {
    await tx`LOCK TABLE intents IN ACCESS EXCLUSIVE MODE`;
    ended = store.insert(intent).catch((thrown: unknown) => thrown);
    // Within its transaction the lock's connection would see the same activity for ever.
    let waiting: postgres.Row | undefined;
    while (waiting === undefined) {
      [waiting] = await admin`SELECT pid FROM pg_locks
          WHERE NOT granted AND relation = 'intents'::regclass`;
    }
    await admin`SELECT pg_terminate_backend(${waiting.pid}, 5000)`;
  });
  // Its look whether the row is there waited for the lock.
  assert.ok(await ended instanceof StoreConnectionLostError);
  assert.equal((await store.insert(intent)).inserted, true);
});

/** Sessions of two statements at a time. */
async function sessionsOf(driver: PostgresDriver): Promise<Set<number>> {
  const sql = "SELECT pg_backend_pid() AS pid, pg_sleep(0.4)";
  const rows = await Promise.all([driver.read(sql, []), driver.read(sql, [])]);
  return new Set(rows.flat().map((row) => Object(row).pid));
}

test("after a loss no open connection is used, and the server that worked is asked first", async ({ url }) => {
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const first = silent.accept();
  const { host } = new URL(url);
  const several = url.replace(host, `127.0.0.1:${silent.addr.port},${host}`);
  await using driver = closing(new PostgresDriver(several, { connectMs: 1_500, answerMs: 4_000 }));
  await driver.read("SELECT 1", []);
  (await first).close();
  let wasAskedAgain = false;
  silent.accept().then((connection) => {
    wasAskedAgain = true;
    connection.close();
  }, () => {});
  const before = await sessionsOf(driver);
  assert.equal(before.size, 2);
  const loseConnection = () =>
    assert.rejects(
      driver.read("SELECT pg_terminate_backend(pg_backend_pid())", []),
      StoreConnectionLostError,
    );
  await loseConnection();
  assert.ok(before.isDisjointFrom(await sessionsOf(driver)));
  const during = sessionsOf(driver);
  await loseConnection();
  assert.ok((await during).isDisjointFrom(await sessionsOf(driver)));
  assert.ok(!wasAskedAgain);
});

test("once a server stops, starts or is read-only, no open connection to it is used", async ({ url }) => {
  await using driver = closing(await PostgresDriver.open(url));
  for (const code of ["57P03", "25006"]) {
    const before = await sessionsOf(driver);
    assert.equal(before.size, 2);
    await assert.rejects(driver.read(`DO $$ BEGIN RAISE SQLSTATE '${code}'; END $$`, []));
    assert.ok(before.isDisjointFrom(await sessionsOf(driver)), code);
  }
});

test("a transaction whose connection is lost before its commit has recorded nothing", async ({ url }) => {
  await using driver = closing(await PostgresDriver.open(url));
  const lost = driver.transaction(function* (): SqlSteps<void> {
    yield [{ sql: "SELECT pg_terminate_backend(pg_backend_pid())", values: [] }];
  });
  await assert.rejects(lost, { code: "STORE_UNAVAILABLE", message: /nothing was recorded/ });
});

test("a connection that was lost while idle fails no call, and no earlier one is used", async ({ url, admin }) => {
  await using driver = closing(await PostgresDriver.open(url));
  const before = await sessionsOf(driver);
  assert.equal(before.size, 2);
  const [row] = await driver.read("SELECT pg_backend_pid() AS pid", []);
  // Waits for its end. By the next answer, this process knows of it too.
  await admin`SELECT pg_terminate_backend(${Object(row).pid}, 5000)`;
  await admin`SELECT 1`;
  assert.ok(before.isDisjointFrom(await sessionsOf(driver)));
  await eventually("the earlier ones are closed", async () => {
    const rows = await admin`SELECT FROM pg_stat_activity WHERE pid = ANY(${[...before]})`;
    return rows.length === 0;
  });
});

test("a statement that takes too long fails", async ({ url, admin }) => {
  const driver = await PostgresDriver.open(url);
  await using store = new IntentStore(driver, "test");
  // For the insert alone, on the one connection there is: on a busy machine anything else could
  // take that long.
  await driver.read("SELECT set_config('statement_timeout', '100', false)", []);
  await admin.begin(async (tx) => {
    await tx`LOCK TABLE intents IN ACCESS EXCLUSIVE MODE`;
    const timedOut = { name: "StoreError", message: /statement timeout/ };
    await assert.rejects(() => store.insert(intent), timedOut);
  });
  assert.equal((await admin`SELECT FROM intents`).length, 0);
});

Deno.test("PostgresDriver: calls to a server that refuses fail at once, and ask it four times a second at most", async () => {
  using refusing = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let asked = 0;
  const refuseAll = async () => {
    for await (const connection of refusing) {
      asked += 1;
      connection.close();
    }
  };
  const refused = refuseAll();
  const driver = new PostgresDriver(`postgres://user@127.0.0.1:${refusing.addr.port}/none`);
  const startedAtMs = performance.now();
  for (let call = 0; call < 20; call += 1) {
    await assert.rejects(() => driver.read("SELECT 1", []), /^StoreError: Database failed: /);
  }
  const elapsedMs = performance.now() - startedAtMs;
  assert.ok(asked <= 1 + elapsedMs / 250, `${asked} times in ${elapsedMs} ms`);
  await driver.close();
  refusing.close();
  await refused;
});

Deno.test("PostgresDriver: only so many transactions wait for the one that runs", async () => {
  const driver = new PostgresDriver(`postgres://user@127.0.0.1:${freePort()}/none`);
  const add = () => driver.transaction(function* (): SqlSteps<void> {});
  const results = await Promise.allSettled(Array.from({ length: ITEMS_WAITING_MAX + 2 }, add));
  const reasons = results.map((result) => String(Object(result).reason));
  assert.equal(reasons.findIndex((reason) => reason.includes("is busy")), ITEMS_WAITING_MAX + 1);
  await driver.close();
});

test("a read-only server is refused at start and later, and its connection closed", async ({ url, admin }) => {
  const readOnly = `${url}&default_transaction_read_only=on&application_name=refused`;
  await assert.rejects(() => openIntentStore(readOnly, "test"), /read-only transaction/);
  await using driver = closing(new PostgresDriver(readOnly));
  await assert.rejects(driver.read("SELECT 1", []), /read-only transaction/);
  await eventually("no connection is left", async () => {
    const rows = await admin`SELECT FROM pg_stat_activity WHERE application_name = 'refused'`;
    return rows.length === 0;
  });
});

test("every commit waits for its flush, whatever the server's default is", async ({ url, admin }) => {
  // Acts like a default of the server or of the user.
  const options = encodeURIComponent("-c synchronous_commit=off");
  await using store = await openIntentStore(`${url}&options=${options}`, "test");
  // Runs in the session that commits, at its commit.
  await admin.unsafe(`
      CREATE TABLE seen (settings TEXT);
      CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO seen VALUES (current_setting('synchronous_commit') || ' ' ||
          current_setting('statement_timeout') || ' ' ||
          current_setting('idle_in_transaction_session_timeout'));
        RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER note AFTER INSERT OR UPDATE ON intents
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()`);
  const recorded = await store.insert(intent);
  await store.setTransaction(recorded.intent, { txHash: `0x${"01".repeat(32)}`, text: "{}" }, 2);
  const noted = await store.recordAttempt("a", 3);
  await store.finish(noted, COMMITTED, 4);
  const seen = await admin`SELECT settings FROM seen`;
  assert.deepEqual(seen.map(({ settings }) => settings), Array(4).fill("on 3s 3s"));
});

test("a database that cannot record every text is refused", async ({ url }) => {
  const name = new URL(url).searchParams.get("search_path") ?? assert.fail();
  await runSql(url, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'`);
  try {
    const latin = new URL(url);
    latin.pathname = name;
    await assert.rejects(openIntentStore(latin.href, "test"), /is LATIN1.*: expected UTF8$/);
  } finally {
    await runSql(url, `DROP DATABASE ${name}`);
  }
});

test("requireWritable fails on a server that has become read-only", async ({ url, admin }) => {
  await using store = await openIntentStore(url, "test");
  await store.requireWritable();
  // Makes the session of the insert read-only from then on, like a demoted primary.
  await onInsert(admin, "PERFORM set_config('default_transaction_read_only', 'on', false)");
  await store.insert(intent);
  await assert.rejects(() => store.requireWritable(), /read-only transaction$/);
  // On another connection: the one before might lead to a standby.
  await store.requireWritable();
});

test("a close waits for the running statements", async ({ url, admin }) => {
  await using store = await openIntentStore(url, "test");
  await onInsert(admin, "PERFORM pg_sleep(0.1)");
  const insert = store.insert(intent);
  // By the next turn the statement is sent.
  await setImmediate();
  const [{ inserted }] = await Promise.all([insert, store.close()]);
  assert.equal(inserted, true);
  assert.equal((await admin`SELECT FROM intents`).length, 1);
});

test("a close cuts statements that run for over a second", async ({ url, admin }) => {
  await using store = await openIntentStore(url, "test");
  await onInsert(admin, "PERFORM pg_sleep(2.5)");
  const insert = assert.rejects(store.insert(intent), StoreConnectionLostError);
  await setImmediate();
  await store.close();
  await insert;
});

test("of several servers, the writable one is used, with its parameters", async ({ url }) => {
  const several = `${url.replace("@", "@127.0.0.1:9,")},%20public`; // the path of schemas goes on
  await using store = await openIntentStore(`${several}&target_session_attrs=primary`, "test");
  assert.equal((await store.insert(intent)).inserted, true);
});

test("skips a silent server, and a call without an answer throws StoreConnectionLostError", async ({ url, admin }) => {
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { host } = new URL(url);
  const several = url.replace(host, `127.0.0.1:${silent.addr.port},${host}`);
  await (await openIntentStore(url, "test")).close();
  // A commit that waits for a standby is not ended by the server's timeout either.
  const timeouts = { connectMs: 2_000, answerMs: 1_000 };
  const driver = new PostgresDriver(`${several}&statement_timeout=60000`, timeouts);
  await using store = new IntentStore(driver, "test");
  await onInsert(admin, "PERFORM pg_advisory_xact_lock(hashtext(current_schema()))");
  await admin.unsafe("SELECT pg_advisory_lock(hashtext(current_schema()))");
  await assert.rejects(() => store.insert(intent), StoreConnectionLostError);
  await admin.end();
});
