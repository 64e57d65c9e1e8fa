import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../../lib/intents/errors.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { COMMITTED, newIntent } from "../../support/intents.ts";
import { withFolder } from "../../support/files.ts";

const HASH: Hex = `0x${"01".repeat(32)}`;

/** Declares a test with the path of a database that does not exist yet, in a folder of its own. */
const test = (name: string, run: (path: string) => void | Promise<void>) =>
  Deno.test(
    `SqliteDriver: ${name}`,
    () => withFolder(async (folder) => await run(`${folder}/intents.sqlite`)),
  );

/** A copy with another bit at a place; unchanged if there is no such place. */
function withBitFlipped(bytes: Uint8Array, at: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(bytes, (byte, index) => index === at ? byte ^ 1 : byte);
}

test("on a full disk a write fails without an effect", async (path) => {
  const driver = SqliteDriver.open(path);
  await driver.read("PRAGMA max_page_count = 12", []);
  await using store = new IntentStore(driver, "test");
  const big = "x".repeat(64 * 1024);
  await assert.rejects(() => store.insert(newIntent("big", { payload: big })), {
    name: "StoreError",
    message: "Database failed: database or disk is full",
  });
  assert.equal(await store.find("big"), undefined);
  assert.equal((await store.insert(newIntent("small"))).inserted, true);
});

test("a write fails while the file is locked and works afterwards", async (path) => {
  await using store = new IntentStore(SqliteDriver.open(path), "test");
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  await assert.rejects(store.insert(newIntent("a")), /Database failed: database is locked/);
  await assert.rejects(store.requireWritable(), StoreError);
  assert.equal(await store.find("a"), undefined, "reading needs no lock");
  other.exec("ROLLBACK");
  other.close();
  assert.equal((await store.insert(newIntent("a"))).inserted, true);
});

for (const file of ["", "-wal"]) {
  test(`a write fails once intents.sqlite${file} is moved away, as no start would find it`, async (path) => {
    await using store = new IntentStore(SqliteDriver.open(path), "test");
    await store.insert(newIntent("a"));
    await Deno.rename(`${path}${file}`, `${path}.moved`);
    await assert.rejects(store.insert(newIntent("b")), {
      name: "StoreError",
      message: /was removed, moved or replaced/,
    });
  });
}

test("the error for a file that cannot be opened names it", async (path) => {
  const message = new RegExp(`^Database ${path} cannot be opened: `);
  await Deno.writeTextFile(path, "this is no database, whatever its name says".repeat(100));
  assert.throws(() => SqliteDriver.open(path), { name: "StoreError", message });
  await Deno.remove(path);
  await Deno.mkdir(path);
  assert.throws(() => SqliteDriver.open(path), { name: "StoreError", message });
  await Deno.remove(path);
  assert((await new Deno.Command("mkfifo", { args: [path] }).output()).success);
  assert.throws(() => SqliteDriver.open(path), { name: "StoreError", message });
});

test("a link to a file is refused: the log is beside the file, where it would not be checked", async (path) => {
  await SqliteDriver.open(path).close();
  await Deno.symlink(path, `${path}.link`);
  for (const open of [SqliteDriver.open, SqliteDriver.openToInspect]) {
    assert.throws(() => open(`${path}.link`), /symbolic link.*name the file/);
  }
});

test("a log that is damaged before its last transaction is refused, one that is damaged in it is torn", async (path) => {
  await SqliteDriver.open(path).close();
  const database = Deno.readFileSync(path);
  await using store = new IntentStore(SqliteDriver.open(path), "test");
  const logs = [];
  for (const key of ["a", "b"]) {
    await store.insert(newIntent(key));
    logs.push(Deno.readFileSync(`${path}-wal`));
  }
  const [one = assert.fail(), two = assert.fail()] = logs; // with so many transactions
  const frameBytes = 24 + 4_096;
  /** Opens a copy of the file with a log in which one bit is different. */
  const open = (log: Uint8Array, at: number) => {
    const copy = `${path}.copy`;
    Deno.writeFileSync(copy, database);
    Deno.writeFileSync(`${copy}-wal`, withBitFlipped(log, at));
    return SqliteDriver.open(copy);
  };
  const lastFrame = two.length - frameBytes;
  // A frame of an earlier round has other salts.
  const stale = withBitFlipped(withBitFlipped(two.slice(lastFrame), 8), 12);
  const cases: [log: Uint8Array, at: number, isTorn: boolean][] = [
    [two, -1, false],
    [new Uint8Array([...two, ...stale]), -1, false],
    [two, lastFrame + 99, true],
    [two, lastFrame + 8, true],
  ];
  for (const [log, at, isTorn] of cases) {
    const driver = open(log, at);
    assert.equal(driver.hadTornLog, isTorn);
    await driver.close();
  }
  const headless = one.slice().fill(0xff, 0, 32);
  for (const [log, at] of [[two, 99], [one, 24], [headless, -1]] as const) {
    assert.throws(() => open(log, at), { code: "STORE_DAMAGED", message: /-wal is damaged/ });
  }
});

test("a log without its database is refused, and kept", async (path) => {
  await using store = new IntentStore(SqliteDriver.open(path), "test");
  await store.insert(newIntent("a"));
  const other = path.replace("intents", "other");
  Deno.copyFileSync(`${path}-wal`, `${other}-wal`);
  for (let start = 0; start < 2; start++) {
    assert.throws(() => SqliteDriver.open(other), /other.sqlite is missing or empty, but .*-wal/);
  }
  Deno.copyFileSync(path, other);
  await using again = new IntentStore(SqliteDriver.open(other), "test");
  assert.equal(await again.countUnfinished(), 1);
});

test("a file whose index does not fit its table is refused", async (path) => {
  const store = new IntentStore(SqliteDriver.open(path), "test");
  await store.insert(newIntent("the only key"));
  await store.close();
  const bytes = Deno.readFileSync(path);
  const at = new TextDecoder("latin1").decode(bytes).lastIndexOf("the only key");
  Deno.writeFileSync(path, withBitFlipped(bytes, at));
  assert.throws(() => SqliteDriver.open(path), { code: "STORE_DAMAGED", message: /index/ });
});

test("no error shows a key or a password", async (path) => {
  await Deno.writeTextFile(path, "a file is no folder");
  for (const secret of ["ab".repeat(32), "mysql://user:hunter2@db.example"]) {
    assert.throws(() => SqliteDriver.open(`${path}/${secret}/x`), ({ name, message }: Error) => {
      assert.equal(name, "StoreError");
      const shown = message.replaceAll(path, "PATH"); // a random folder may look like the key
      assert.match(shown, /^(?!.*(abab|hunter2))Database PATH.* cannot be opened: /);
      return true;
    });
  }
});

/** Calls a function before each statement without values that a connection runs. */
async function watchingStatements(
  before: (db: DatabaseSync, sql: string) => void,
  run: () => void | Promise<void>,
): Promise<void> {
  const { prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function (sql) {
    const statement = prepare.call(this, sql);
    const { run } = statement;
    statement.run = (...values) => {
      if (values.length === 0) before(this, sql);
      return Reflect.apply(run, statement, values);
    };
    return statement;
  };
  try {
    await run();
  } finally {
    DatabaseSync.prototype.prepare = prepare;
  }
}

test("while one process migrates a file, another process waits", async (path) => {
  const other = new DatabaseSync(path);
  other.exec("PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 0");
  let attempts = 0;
  await watchingStatements((db, sql) => {
    if (db === other || !sql.includes("CREATE TABLE")) return;
    attempts += 1;
    assert.throws(() => other.exec("BEGIN IMMEDIATE"), /database is locked/);
  }, () => SqliteDriver.open(path).close());
  other.close();
  assert.ok(attempts > 0);
});

test("every commit flushes the write-ahead log", async (path) => {
  // Settings of the very connection that commits, read at each commit.
  const seen: string[] = [];
  await watchingStatements((db, sql) => {
    if (sql !== "COMMIT") return;
    const pragmas = ["journal_mode", "synchronous", "busy_timeout"];
    const rows = pragmas.map((pragma) => db.prepare(`PRAGMA ${pragma}`).get());
    seen.push(rows.map((row) => Object.values(row ?? {})).join(" "));
  }, async () => {
    await using store = new IntentStore(SqliteDriver.open(path), "test");
    const { intent } = await store.insert(newIntent("a"));
    const submitted = await store.setTransaction(intent, { txHash: HASH, text: "{}" }, 2);
    await store.recordAttempt("a", 3);
    await store.finish(submitted, COMMITTED, 4);
    assert.ok((await Deno.stat(`${path}-wal`)).size > 0);
  });
  // The migrations and four writes. Synchronous 2 is FULL.
  assert.deepEqual(seen, Array.from({ length: 5 }, () => "wal 2 250"));
});

test("close commits queued writes", async (path) => {
  const store = new IntentStore(SqliteDriver.open(path), "test");
  const inserts = Promise.all(["a", "b"].map((key) => store.insert(newIntent(key))));
  const [results] = await Promise.all([inserts, store.close()]);
  assert.deepEqual(results.map(({ inserted }) => inserted), [true, true]);
  await using again = new IntentStore(SqliteDriver.open(path), "test");
  assert.equal(await again.countUnfinished(), 2);
});

test("the error of a damaged row names the column", async (path) => {
  await using store = new IntentStore(SqliteDriver.open(path), "test");
  await store.insert(newIntent("a"));
  await store.db.write("UPDATE intents SET tx_hash = 'damaged'", []);
  await assert.rejects(store.find("a"), {
    name: "StoreDamagedError",
    message: /^Row a of the database is damaged: tx_hash: /,
  });
});

test("a damaged saved value counts as missing, whatever its columns contain", async (path) => {
  await using store = new IntentStore(SqliteDriver.open(path), "test");
  for (const damage of ["value = 'changed'", "value = x'00'", "saved_at_ms = 'never'"]) {
    await store.records.saveValue("state", "{}", 1_700_000_000_000);
    await store.db.write(`UPDATE saved_values SET ${damage}`, []);
    assert.equal(await store.records.findValue("state"), undefined, damage);
  }
});

test("only the owner can read a new file, its log and its folder", async (path) => {
  const folder = path.replace("intents.sqlite", "data");
  await using store = new IntentStore(SqliteDriver.open(`${folder}/intents.sqlite`), "test");
  await store.insert(newIntent("a"));
  const modeOf = (name: string) => (Deno.statSync(name).mode ?? 0) & 0o777;
  assert.equal(modeOf(folder), 0o700);
  const files = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  assert.deepEqual(files, ["intents.sqlite", "intents.sqlite-shm", "intents.sqlite-wal"]);
  for (const name of files) assert.equal(modeOf(`${folder}/${name}`), 0o600, name);
});
