import assert from "node:assert/strict";
import postgres from "postgres";
import { StoreConnectionLostError } from "../../../lib/intents/errors.ts";
import { openIntentStore } from "../../../lib/intents/open_store.ts";
import { ReservationTable } from "../../../lib/intents/reservation_table.ts";
import { eventually } from "../../support/eventually.ts";
import {
  NEEDS_PGBOUNCER,
  NEEDS_POSTGRES_PROGRAMS,
  withPair,
  withPgbouncer,
} from "../../support/postgres_cluster.ts";
import { COMMITTED, newIntent } from "../../support/intents.ts";

Deno.test({
  name:
    `PostgresDriver: a commit whose wait for the standby is cancelled fails, and none for a warning at the connection${NEEDS_POSTGRES_PROGRAMS}`,
  ignore: NEEDS_POSTGRES_PROGRAMS !== "",
  fn: () =>
    withPair(["store"], async (pair) => {
      await pair.primary.sql(
        "ALTER DATABASE store SET client_min_messages = error",
        // Like an update of the system's library.
        "UPDATE pg_database SET datcollversion = '1' WHERE datname = 'store'",
      );
      const store = await openIntentStore(pair.url("store"), "test");
      const admin = postgres(pair.primary.url("store"), { max: 1, onnotice() {} });
      try {
        assert.equal((await store.insert(newIntent("before"))).inserted, true);
        await pair.standby.end("SIGKILL");
        const insert = assert.rejects(store.insert(newIntent("after")), StoreConnectionLostError);
        // Cancels it, and then the lookup whether it is recorded.
        for (let cancelled = 0; cancelled < 2;) {
          const rows = await admin`
            SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
          cancelled += rows.length;
        }
        await insert;
        assert.equal((await admin`SELECT FROM intents WHERE key = 'after'`).length, 1);
      } finally {
        await admin.end();
        await store.close();
      }
    }),
});

Deno.test({
  name: `PostgresDriver: works through pgbouncer in transaction mode, and refuses it if commits ` +
    `would not be flushed${NEEDS_PGBOUNCER}`,
  ignore: NEEDS_PGBOUNCER !== "",
  fn: () =>
    withPgbouncer(async (url, server) => {
      const stores = await Promise.all([
        openIntentStore(url, "test"),
        openIntentStore(`${url}?prepare=false`, "test"),
      ]);
      try {
        const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`);
        const before = { keys: new Set<string>(), newestSequence: 0 };
        const book = {
          reservedKeys: [],
          isReserved: () => false,
          addReservation() {},
          release() {},
        };
        const admission = { inFlightBefore: before, decide() {} };
        const tables = stores.map((store) => new ReservationTable(store, book));
        const inserted = await Promise.all(
          keys.flatMap((key) => tables.map((table) => table.insert(newIntent(key), admission))),
        );
        assert.equal(
          inserted.filter((one) => one.inserted).length,
          keys.length,
        );
        await Promise.all(
          inserted.map(({ intent }) => stores[0].finish(intent, COMMITTED, 3)),
        );
        await eventually(
          "every intent is finished",
          async () => await stores[1].countUnfinished() === 0,
        );
      } finally {
        await Promise.all(stores.map((store) => store.close()));
      }
      await server.sql("ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()");
      await eventually("the sessions have the new setting", async () => {
        const [opened] = await Promise.allSettled([openIntentStore(url, "test")]);
        if (opened.status === "fulfilled") return await opened.value.close();
        assert.match(String(opened.reason), /synchronous_commit is off on 127\.0\.0\.1/);
        return true;
      });
    }),
});

Deno.test({
  name: `PostgresDriver: prepare=false works through pgbouncer that ignores session parameters` +
    NEEDS_PGBOUNCER,
  ignore: NEEDS_PGBOUNCER !== "",
  fn: () =>
    withPgbouncer(async (url) => {
      await using store = await openIntentStore(`${url}?prepare=false`, "test");
      const keys = Array.from({ length: 200 }, (_, index) => `key ${index}`);
      const inserted = await Promise.all(keys.map((key) => store.insert(newIntent(key))));
      assert.ok(inserted.every((one) => one.inserted));
      const found = await Promise.all(keys.map((key) => store.find(key)));
      assert.deepEqual(found.map((intent) => intent?.key), keys);
    }, "ignore_startup_parameters = options,statement_timeout,idle_in_transaction_session_timeout"),
});
