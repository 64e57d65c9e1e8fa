import assert from "node:assert/strict";
import { isDamage, isDiskFull, SqliteDatabase } from "../../../lib/database/sqlite.ts";
import { withFolder } from "../../support/files.ts";

/** What SQLite throws, unchanged. */
const errorOf = (cause: unknown) => cause as Error; // it throws errors only

function kindOf(call: () => unknown): string | undefined {
  try {
    call();
  } catch (thrown) {
    if (isDamage(thrown)) return "damage";
    return isDiskFull(thrown) ? "disk full" : "other";
  }
}

Deno.test("SqliteDatabase: every kind of call says by SQLite's code whether the file is damaged or the disk full", () =>
  withFolder(async (folder) => {
    const path = `${folder}/a.sqlite`;
    await Deno.writeTextFile(path, "not a database ".repeat(1_000));
    const other = new SqliteDatabase(path, { errorOf });
    assert.equal(kindOf(() => other.exec("BEGIN IMMEDIATE")), "damage");
    assert.equal(kindOf(() => other.all("SELECT * FROM rows")), "damage");
    other.close();

    await Deno.remove(path);
    const db = new SqliteDatabase(path, { errorOf });
    db.exec("CREATE TABLE rows (value); PRAGMA max_page_count = 3");
    assert.equal(kindOf(() => db.exec("INSERT INTO rows VALUES (zeroblob(100000))")), "disk full");
    assert.equal(kindOf(() => db.run("INSERT INTO rows VALUES (zeroblob(?))", 1e5)), "disk full");
    assert.equal(kindOf(() => db.exec("CREATE TABLE rows (value)")), "other");
    db.exec("INSERT INTO rows VALUES (1)");
    db.close();

    const bytes = await Deno.readFile(path);
    await Deno.writeFile(path, bytes.fill(0x55, bytes.length / 2));
    const damaged = new SqliteDatabase(path, { errorOf });
    assert.equal(kindOf(() => damaged.exec("UPDATE rows SET value = 2")), "damage");
    assert.equal(kindOf(() => damaged.get("SELECT value FROM rows")), "damage");
    damaged.close();
  }));

Deno.test("SqliteDatabase.rollBack: does nothing without a transaction, as after a full disk", () => {
  const db = new SqliteDatabase(":memory:", { errorOf });
  db.exec("CREATE TABLE rows (value); PRAGMA max_page_count = 3; BEGIN");
  assert.equal(kindOf(() => db.exec("INSERT INTO rows VALUES (zeroblob(100000))")), "disk full");
  db.rollBack();
  db.rollBack();
  db.exec("BEGIN; INSERT INTO rows VALUES (1)");
  db.rollBack();
  assert.deepEqual(db.all("SELECT * FROM rows"), []);
  db.close();
});

Deno.test("SqliteDatabase: a path that begins with file: is taken for a path, not for a URI of SQLite", () =>
  withFolder(async (folder) => {
    assert.throws(() => new SqliteDatabase(`file:${folder}/a.sqlite`, { errorOf }));
    assert.deepEqual(await Array.fromAsync(Deno.readDir(folder)), []);
  }));
