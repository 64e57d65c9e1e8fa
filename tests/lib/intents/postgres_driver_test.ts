import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import postgres from "postgres";
import {
  type NewIntent,
  StoreConnectionLostError,
  StoreError,
} from "../../../lib/intents/intent.ts";
import { LATEST_VERSION } from "../../../lib/intents/migrations.ts";
import { openIntentStore } from "../../../lib/intents/open.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { PostgresDriver } from "../../../lib/intents/postgres_driver.ts";
import { addMigration, NEEDS_POSTGRES, POSTGRES_URL, withSchema } from "../../support/postgres.ts";

const HASH: Hex = `0x${"01".repeat(32)}`;

const intent: NewIntent = {
  key: "a",
  subject: "alice",
  payload: "{}",
  transaction: null,
  expiresAtMs: 2,
  createdAtMs: 1,
};

Deno.test("PostgresDriver: the error for a server that is away shows no password", async () => {
  const url = "postgres://user:secret@127.0.0.1:9/none";
  await assert.rejects(() => openIntentStore(url, "test"), (thrown) => {
    assert.ok(thrown instanceof StoreError);
    assert.match(thrown.message, /^Database failed: .*ECONNREFUSED/);
    assert.ok(!thrown.message.includes("secret"));
    return true;
  });
});

Deno.test({
  name:
    `PostgresDriver: a call fails when its connection is lost, and the next one reconnects${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const store = await openIntentStore(url, "test");
      const admin = postgres(url, { max: 2 });
      try {
        // The lock keeps the insert under way while its connection is cut.
        await admin.begin(async (tx) => {
          await tx`LOCK TABLE intents IN ACCESS EXCLUSIVE MODE`;
          const cut = store.insert(intent);
          const refused = assert.rejects(() => cut, StoreError);
          // Within its transaction the lock's connection would see the same activity for ever.
          for (let found = 0; found === 0;) {
            const rows = await admin`
              SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO intents%'`;
            found = rows.length;
          }
          await refused;
        });
        assert.equal((await store.insert(intent)).inserted, true);
      } finally {
        await admin.end();
        await store.close();
      }
    }),
});

Deno.test({
  name: `PostgresDriver: a statement that takes too long fails${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const driver = await PostgresDriver.open(url);
      const store = new IntentStore(driver, "test");
      // For the insert alone, on the one connection there is: on a busy machine anything else could
      // take that long.
      await driver.read("SELECT set_config('statement_timeout', '100', false)", []);
      const admin = postgres(url, { max: 2 });
      try {
        await admin.begin(async (tx) => {
          await tx`LOCK TABLE intents IN ACCESS EXCLUSIVE MODE`;
          await assert.rejects(() => store.insert(intent), (thrown) => {
            assert.ok(
              thrown instanceof StoreError && !(thrown instanceof StoreConnectionLostError),
            );
            assert.match(thrown.message, /statement timeout/);
            return true;
          });
        });
        assert.equal((await admin`SELECT FROM intents`).length, 0);
      } finally {
        await admin.end();
        await store.close();
      }
    }),
});

Deno.test({
  name: `PostgresDriver: a database of a newer program is refused${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      await (await openIntentStore(url, "test")).close();
      await addMigration(url);
      await assert.rejects(
        () => openIntentStore(url, "test"),
        new RegExp(`version ${LATEST_VERSION + 1}, made by a newer program`),
      );
    }),
});

Deno.test("PostgresDriver: calls to a server that is away fail without a backoff", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const driver = new PostgresDriver(`postgres://user@127.0.0.1:${port}/none`);
  const startedAtMs = performance.now();
  // Uses each connection of the pool twice: with the library's own backoff this takes over 10 s.
  for (let call = 0; call < 20; call += 1) {
    await assert.rejects(() => driver.read("SELECT 1", []), /ECONNREFUSED/);
  }
  assert.ok(performance.now() - startedAtMs < 8_000);
  await driver.close();
});

Deno.test({
  name: `PostgresDriver: a read-only server is refused at start${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const readOnly = `${url}&default_transaction_read_only=on`;
      await assert.rejects(
        () => openIntentStore(readOnly, "test"),
        /read-only transaction/,
      );
    }),
});

Deno.test({
  name: `PostgresDriver: every commit waits for its flush even if the server's default does not` +
    NEEDS_POSTGRES,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      // Acts like a default of the server or of the user.
      const asynchronous = `${url}&options=${encodeURIComponent("-c synchronous_commit=off")}`;
      const store = await openIntentStore(asynchronous, "test");
      const admin = postgres(url, { max: 1 });
      try {
        // Runs in the session that commits, at its commit.
        await admin.unsafe(`
          CREATE TABLE seen (settings TEXT);
          CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO seen VALUES (current_setting('synchronous_commit') || ' ' ||
              current_setting('statement_timeout'));
            RETURN NULL;
          END $$;
          CREATE CONSTRAINT TRIGGER note AFTER INSERT OR UPDATE ON intents
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()`);
        const recorded = await store.insert(intent);
        await store.setTransaction(recorded.intent, { txHash: HASH, text: "{}" }, 2);
        const noted = await store.recordAttempt("a", 3);
        await store.finish(noted, { state: "committed", receipt: null, failure: null }, 4);
        const seen = await admin`SELECT settings FROM seen`;
        assert.deepEqual(seen.map(({ settings }) => settings), Array(4).fill("on 3s"));
      } finally {
        await admin.end();
        await store.close();
      }
    }),
});

Deno.test({
  name: `PostgresDriver: the check fails on a server that has become read-only${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const store = await openIntentStore(url, "test");
      const admin = postgres(url, { max: 1 });
      try {
        await store.check();
        // Makes the session of the insert read-only from then on, like a demoted primary.
        await admin.unsafe(`
          CREATE FUNCTION forbid_writes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM set_config('default_transaction_read_only', 'on', false);
            RETURN NULL;
          END $$;
          CREATE TRIGGER forbid_writes AFTER INSERT ON intents EXECUTE FUNCTION forbid_writes()`);
        await store.insert(intent);
        await assert.rejects(() => store.check(), /read-only transaction$/);
      } finally {
        await admin.end();
        await store.close();
      }
    }),
});

Deno.test({
  name: `PostgresDriver: a close waits for the running statements${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const store = await openIntentStore(url, "test");
      const admin = postgres(url, { max: 1 });
      try {
        await admin.unsafe(`
          CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_sleep(0.1);
            RETURN NULL;
          END $$;
          CREATE TRIGGER be_slow AFTER INSERT ON intents EXECUTE FUNCTION be_slow()`);
        const insert = store.insert(intent);
        // By the next turn the statement is sent.
        await setImmediate();
        const [{ inserted }] = await Promise.all([insert, store.close()]);
        assert.equal(inserted, true);
        assert.equal((await admin`SELECT FROM intents`).length, 1);
      } finally {
        await admin.end();
        await store.close();
      }
    }),
});

/** A TCP relay to the server, whose connections the test can cut. */
function relayTo(url: URL): { port: number; cut(): void; stop(): void } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const serve = async () => {
    for await (const near of listener) {
      const far = await Deno.connect({ hostname: url.hostname, port: Number(url.port || 5432) });
      for (const [from, to] of [[near, far], [far, near]] as const) {
        open.add(from);
        // A cut ends both directions with an error, as it should.
        from.readable.pipeTo(to.writable).catch(() => {});
      }
    }
  };
  const cut = () => {
    for (const connection of open) {
      try {
        connection.close();
      } catch (thrown) {
        if (!(thrown instanceof Deno.errors.BadResource)) throw thrown;
      }
    }
    open.clear();
  };
  const served = serve();
  served.catch(() => {});
  return { port: listener.addr.port, cut, stop: () => listener.close() };
}

Deno.test({
  name: `PostgresDriver: an insert whose connection is cut has an unknown outcome${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const relay = relayTo(new URL(url));
      const relayed = new URL(url);
      relayed.port = String(relay.port);
      const store = await openIntentStore(relayed.href, "test");
      const admin = postgres(url, { max: 2 });
      try {
        await admin.begin(async (tx) => {
          await tx`LOCK TABLE intents IN ACCESS EXCLUSIVE MODE`;
          const inserted = store.insert(intent);
          const refused = assert.rejects(() => inserted, StoreConnectionLostError);
          for (let waiting = 0; waiting === 0;) {
            const rows = await admin`
              SELECT pid FROM pg_stat_activity
              WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO intents%'`;
            waiting = rows.length;
          }
          relay.cut();
          await refused;
        });
        assert.equal((await store.insert({ ...intent, key: "b" })).inserted, true);
      } finally {
        await admin.end();
        await store.close();
        relay.cut();
        relay.stop();
      }
    }),
});

Deno.test({
  name: `PostgresDriver: of several servers the one that accepts writes is used${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const { host } = new URL(url);
      const several = url.replace(host, `127.0.0.1:9,${host}`) + "&target_session_attrs=primary";
      const store = await openIntentStore(several, "test");
      assert.equal((await store.insert(intent)).inserted, true);
      await store.close();
    }),
});

Deno.test({
  name: `PostgresDriver: a server that says nothing is left for another, and a call without an ` +
    `answer has an unknown outcome${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const { host } = new URL(url);
      const several = url.replace(host, `127.0.0.1:${silent.addr.port},${host}`);
      // A commit that waits for a standby is not ended by the server's timeout either.
      const store = await openIntentStore(`${several}&statement_timeout=60000`, "test");
      const admin = postgres(url, { max: 1 });
      await admin.unsafe(`
        CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          PERFORM pg_advisory_xact_lock(hashtext(current_schema()));
          RETURN NULL;
        END $$;
        CREATE TRIGGER hang AFTER INSERT ON intents EXECUTE FUNCTION hang()`);
      try {
        await admin.unsafe("SELECT pg_advisory_lock(hashtext(current_schema()))");
        const startedAtMs = performance.now();
        await assert.rejects(() => store.insert(intent), StoreConnectionLostError);
        assert.ok(performance.now() - startedAtMs < 10_000);
      } finally {
        await admin.end();
        await store.close();
        silent.close();
      }
    }),
});
