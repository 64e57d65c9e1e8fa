import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { POSTGRES_URL } from "../../../lib/database/database_url.ts";
import { LATEST_VERSION } from "../../../lib/intents/database.ts";
import { inspectStore, openIntentStore } from "../../../lib/intents/open_store.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../../lib/protocol/signature.ts";
import { DATABASE_KINDS, runSql, testOnPostgres } from "../../support/postgres.ts";
import { withFolder } from "../../support/files.ts";
import { freePort } from "../../support/ports.ts";
import { COMMITTED, newIntent } from "../../support/intents.ts";

const STUCK_BEFORE_MS = 1_000;

function intent(key: string, createdAtMs: number) {
  return newIntent(key, { expiresAtMs: createdAtMs + 60_000, createdAtMs });
}

/** Creates the store of a bridge with one finished and two unfinished intents, one of them old. */
async function useStore(database: string): Promise<void> {
  const store = await openIntentStore(database, "bridge");
  await store.records.update({ signer: owner });
  for (const [key, atMs] of [["done", 1], ["old", 2], ["new", 2_000]] as const) {
    const recorded = await store.insert(intent(key, atMs));
    if (key !== "done") continue;
    await store.finish(recorded.intent, COMMITTED, 3);
  }
  await store.close();
  await using other = await openIntentStore(database, "solver");
  await other.insert(intent("of another service", 2));
}

const owner = new LocalSigner(DEV_ACCOUNTS.relayer.privateKey).address;

const found = {
  owner,
  version: LATEST_VERSION,
  latestVersion: LATEST_VERSION,
  unfinished: 2,
  stuck: 1,
  hasCommitted: true,
};

/** Names and contents of a folder. */
function imageOf(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name, isFile }) => {
    const bytes = isFile ? Deno.readFileSync(`${folder}/${name}`) : new Uint8Array();
    return `${name} ${createHash("sha256").update(bytes).digest("hex")}`;
  }).sort();
}

const look = (database: string) => inspectStore(database, "bridge", STUCK_BEFORE_MS);

Deno.test("inspectStore: counts the unfinished intents of the service and does not change the file", () =>
  withFolder(async (folder) => {
    const database = `${folder}/store.sqlite`;
    await useStore(database);
    const before = imageOf(folder);
    assert.deepEqual(await look(database), found);
    const others = await inspectStore(database, "solver", STUCK_BEFORE_MS);
    const { owner, hasCommitted } = Object(others);
    assert.deepEqual([owner, hasCommitted], [null, false], "of the service alone");
    assert.deepEqual(imageOf(folder), before);
  }));

Deno.test("inspectStore: works while a service has the store open", () =>
  withFolder(async (folder) => {
    const database = `${folder}/store.sqlite`;
    await useStore(database);
    const store = await openIntentStore(database, "bridge");
    await store.insert(intent("newest", 2_000));
    assert.deepEqual(await look(database), { ...found, unfinished: 3 });
    await store.insert(intent("after that", 2_000));
    await store.close();
    assert.deepEqual(await look(database), { ...found, unfinished: 4 });
  }));

Deno.test("inspectStore: reads the write-ahead log of a killed process, and keeps it", () =>
  withFolder(async (folder) => {
    const database = `${folder}/store.sqlite`;
    const store = await openIntentStore(database, "bridge");
    await store.insert(intent("before the end", 2));
    await Deno.mkdir(`${folder}/died`);
    for (const end of ["", "-wal"]) {
      await Deno.copyFile(database + end, `${folder}/died/store.sqlite${end}`);
    }
    await store.close();
    const copy = `${folder}/died/store.sqlite`;
    const before = await Deno.readFile(copy);
    assert.deepEqual(await look(copy), {
      ...found,
      owner: null,
      unfinished: 1,
      hasCommitted: false,
    });
    assert.deepEqual(await Deno.readFile(copy), before);
    assert(Deno.statSync(`${copy}-wal`).size > 0);
    Deno.removeSync(copy);
    await assert.rejects(look(copy), /store.sqlite is missing or empty, but its write-ahead log/);
  }));

Deno.test("inspectStore: a missing file is new, and is not created", () =>
  withFolder(async (folder) => {
    assert.equal(await look(`${folder}/store.sqlite`), "new");
    assert.equal(await look(`${folder}/deep/er/store.sqlite`), "new");
    assert.equal(await look(":memory:"), "memory");
    assert.deepEqual(imageOf(folder), []);
    const long = `${folder}/${"x".repeat(300)}/store.sqlite`; // to root, as a closed folder to others
    await assert.rejects(look(long), /^StoreError: .*x cannot be written: File name too long/);
  }));

function withFile(path: string, use: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(path);
  use(db);
  db.close();
}

const damages: [name: string, damage: (path: string) => void, reason: RegExp][] = [
  ["no database", (path) => Deno.writeTextFileSync(path, "hello ".repeat(1_000)), /not a database/],
  ["a folder", (path) => Deno.mkdirSync(path), /cannot be written: Is a directory/],
  ["of another program", (path) => {
    withFile(path, (db) => db.exec("CREATE TABLE songs (name TEXT)"));
  }, /tables of another program: name another file with --database$/],
];

for (const [name, damage, reason] of damages) {
  Deno.test(`inspectStore: a file that is ${name} cannot be used`, () =>
    withFolder(async (folder) => {
      damage(`${folder}/store.sqlite`);
      const refused = { name: "StoreError", message: reason };
      await assert.rejects(look(`${folder}/store.sqlite`), refused);
    }));
}

const foreign = [
  [0, /tables of another program/],
  [99, /version 99, made by a newer program/],
] as const;
for (const [version, reason] of foreign) {
  Deno.test(`openIntentStore: a file of another program, version ${version}, stays as it is`, () =>
    withFolder(async (folder) => {
      const path = `${folder}/store.sqlite`;
      const tables = `CREATE TABLE songs (name TEXT); PRAGMA user_version = ${version}`;
      withFile(path, (db) => db.exec(tables));
      const before = await Deno.readFile(path);
      await assert.rejects(openIntentStore(path, "bridge"), reason);
      assert.deepEqual(await Deno.readFile(path), before);
    }));
}

Deno.test("inspectStore: a path inside a file is refused", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    await assert.rejects(look(`${folder}/file/store.sqlite`), /file is not a folder$/);
  }));

for (const { name, ignore, withDatabase } of DATABASE_KINDS) {
  Deno.test({
    name: `A database by a newer program is refused with what to do: ${name}`,
    ignore,
    fn: () =>
      withDatabase(async (database) => {
        await useStore(database);
        const newer = LATEST_VERSION + 1;
        if (POSTGRES_URL.test(database)) {
          await runSql(database, `INSERT INTO migrations VALUES (${newer})`);
        } else withFile(database, (db) => db.exec(`PRAGMA user_version = ${newer}`));
        const message =
          /^Database has version 2, made by a newer program, .* name another database with --database$/;
        for (const use of [look, (name: string) => openIntentStore(name, "bridge")]) {
          await assert.rejects(use(database), { name: "StoreError", message });
        }
      }),
  });
}

testOnPostgres("inspectStore: PostgreSQL, empty and in use", async (url) => {
  assert.equal(await look(url), "new");
  await useStore(url);
  assert.deepEqual(await look(url), found);
});

testOnPostgres("inspectStore: PostgreSQL with tables of another program", async (url) => {
  await runSql(url, "CREATE TABLE orders (id INTEGER)");
  assert.equal(await look(url), "new", "others may be beside them");
  await runSql(url, "CREATE TABLE services (id INTEGER)");
  await assert.rejects(openIntentStore(url, "bridge"), /"services" already exists/);
  await assert.rejects(look(url), /contains tables of another program.*search_path=$/);
});

testOnPostgres("inspectStore: PostgreSQL, another program in a later schema", async (url) => {
  await runSql(url, "CREATE TABLE services (id INTEGER); CREATE TABLE migrations (id INTEGER)");
  const later = new URL(url).searchParams.get("search_path");
  const first = new URL(url);
  first.searchParams.set("search_path", `${later}_first,${later}`);
  await runSql(url, `CREATE SCHEMA ${later}_first`);
  try {
    assert.equal(await look(first.href), "new");
    await useStore(first.href);
    assert.deepEqual(await look(first.href), found);
  } finally {
    await runSql(url, `DROP SCHEMA ${later}_first CASCADE`);
  }
});

const MAY_NOT_CREATE = /its user may not create tables: grant it CREATE on the schema$/;

testOnPostgres("inspectStore: PostgreSQL where no table can be created is refused", async (url) => {
  const noSchema = new URL(url);
  noSchema.searchParams.set("search_path", "missing");
  await assert.rejects(look(noSchema.href), MAY_NOT_CREATE);
});

testOnPostgres("A used database is refused to a user who may not create tables", async (url) => {
  await useStore(url);
  const reader = new URL(url);
  reader.searchParams.set("role", "pg_read_all_data");
  await assert.rejects(openIntentStore(reader.href, "bridge"), /permission denied for schema/);
  await assert.rejects(look(reader.href), MAY_NOT_CREATE);
});

testOnPostgres("inspectStore: read-only PostgreSQL cannot be used", async (url) => {
  const readOnly = new URL(url);
  readOnly.searchParams.set("default_transaction_read_only", "on");
  await assert.rejects(look(readOnly.href), /may run read-only transactions only$/);
  const several = readOnly.href.replace(readOnly.host, `127.0.0.1:9,${readOnly.host}`);
  await assert.rejects(look(several), /ECONNREFUSED.*; .* is a standby/, "each server is named");
});

Deno.test("inspectStore: PostgreSQL that is away cannot be used, and the error shows no password", async () => {
  await assert.rejects(
    look(`postgres://bridge:geheim@127.0.0.1:${freePort()}/bridge`),
    /^StoreError: (?!.*geheim)Database failed: .*ECONNREFUSED/,
  );
});
