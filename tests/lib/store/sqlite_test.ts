import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { type NewIntent, StoreError } from "../../../lib/store/intent.ts";
import { SqliteIntentStore } from "../../../lib/store/sqlite.ts";

function newIntent(key: string, payload = "{}"): NewIntent {
  return {
    key,
    subject: "alice",
    payload,
    transaction: null,
    expiresAtMs: 2,
    createdAtMs: 1,
  };
}

async function withFile(test: (path: string) => void | Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await test(`${directory}/intents.sqlite`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("SqliteIntentStore: a full disk refuses with an error and leaves nothing half done", () =>
  withFile(async (path) => {
    const store = SqliteIntentStore.open(path, "test", 12);
    try {
      const big = "x".repeat(64 * 1024);
      await assert.rejects(() => store.insert(newIntent("big", big)), (thrown) => {
        assert.ok(thrown instanceof StoreError);
        assert.match(thrown.message, /^Database failed: database or disk is full$/);
        return true;
      });
      assert.equal(await store.find("big"), undefined);
      assert.equal((await store.insert(newIntent("small"))).inserted, true);
    } finally {
      await store.close();
    }
  }));

Deno.test("SqliteIntentStore: a locked file refuses with an error and works when it is free", () =>
  withFile(async (path) => {
    const store = SqliteIntentStore.open(path, "test");
    const other = new DatabaseSync(path);
    try {
      other.exec("BEGIN IMMEDIATE");
      await assert.rejects(
        () => store.insert(newIntent("a")),
        /Database failed: database is locked/,
      );
      await assert.rejects(() => store.check(), StoreError);
      assert.equal(await store.find("a"), undefined, "reading needs no lock");
      other.exec("ROLLBACK");
      assert.equal((await store.insert(newIntent("a"))).inserted, true);
    } finally {
      other.close();
      await store.close();
    }
  }));

Deno.test("SqliteIntentStore: what cannot be opened is an error that names the file", () =>
  withFile(async (path) => {
    const named = {
      name: "StoreError",
      message: new RegExp(`^Database ${path} cannot be opened: `),
    };
    await Deno.writeTextFile(path, "this is no database, whatever its name says".repeat(100));
    assert.throws(() => SqliteIntentStore.open(path, "test"), named);
    await Deno.remove(path);
    await Deno.mkdir(path);
    assert.throws(() => SqliteIntentStore.open(path, "test"), named);
  }));

Deno.test("SqliteIntentStore: no error shows what may be a key or a password", () =>
  withFile(async (path) => {
    await Deno.writeTextFile(path, "a file is no folder");
    for (const secret of ["ab".repeat(32), "mysql://user:hunter2@db.example"]) {
      assert.throws(() => SqliteIntentStore.open(`${path}/${secret}/x`, "test"), (thrown) => {
        assert.ok(thrown instanceof StoreError);
        assert.match(thrown.message, /^Database .*intents\.sqlite.* cannot be opened: /);
        assert.ok(!/abab|hunter2/.test(thrown.message), thrown.message);
        return true;
      });
    }
  }));

Deno.test("SqliteIntentStore: a database of a newer program is refused", () =>
  withFile((path) => {
    const db = new DatabaseSync(path);
    db.exec("PRAGMA user_version = 99");
    db.close();
    assert.throws(
      () => SqliteIntentStore.open(path, "test"),
      /version 99, made by a newer program/,
    );
  }));

Deno.test("SqliteIntentStore: commits are flushed to a write-ahead log", () =>
  withFile(async (path) => {
    const store = SqliteIntentStore.open(path, "test");
    try {
      await store.insert(newIntent("a"));
      assert.ok((await Deno.stat(`${path}-wal`)).size > 0);
    } finally {
      await store.close();
    }
  }));
