/** `docs/deployment/backup`, `restore` and `rotate`, with programs that stand in for those of the machine. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/files.ts";
import { filePath, hasProgram, readText, run } from "./support.ts";

async function writeScript(folder: string, name: "backup" | "restore" | "rotate"): Promise<string> {
  const script = `${folder}/${name}.sh`;
  const paths = {
    "/opt/rangemaker/": filePath("."),
    "/var/backups/rangemaker": `${folder}/backups`,
    "/etc/rangemaker": `${folder}/etc`,
    "/var/lib": `${folder}/lib`,
  };
  const moved = Object.entries(paths).reduce(
    (text, [path, here]) => text.replaceAll(path, here),
    readText(`docs/deployment/${name}`),
  );
  await Deno.writeTextFile(script, moved);
  return script;
}

/** Runs a script to its end, with the programs of its folder before those of the machine. */
async function runIn(
  folder: string,
  name: "backup" | "restore" | "rotate",
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  const PATH = `${folder}:${Deno.env.get("PATH")}`;
  const script = await writeScript(folder, name);
  const { code, text } = await run("sh", [script, ...args], { env: { PATH, ...env } });
  assert.equal(code, 0, text);
  return text;
}

/** Writes programs for sh that a script finds before those of the machine. */
async function standIn(folder: string, programs: Record<string, string>): Promise<void> {
  for (const [name, body] of Object.entries(programs)) {
    await Deno.writeTextFile(`${folder}/${name}`, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  }
}

/** Runs the script at given times, one after the other. @returns The folder of the copies. */
async function backUpAt(folder: string, times: readonly string[]): Promise<string> {
  const to = `${folder}/backups`;
  await standIn(folder, {
    date: 'echo "$NOW"',
    rangemaker: 'for last; do :; done; echo "$NOW" > "$last"',
  });
  for (const NOW of times) {
    await runIn(folder, "backup", ["node"], { NOW });
    assert.equal(await Deno.readTextFile(`${to}/latest/chain.sqlite`), `${NOW}\n`);
  }
  return to;
}

const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

const DAYS = [25, 26, 27, 28].map((day) => `2026-11-${day}T03-00-00.000`);

const cases = [
  ["those of three days", [...DAYS, "2026-11-28T04-00-00.000"], [
    ...DAYS.slice(1),
    "2026-11-28T04-00-00.000",
  ]],
  ["the newest ones after the clock was set back", [...DAYS, "2020-01-01T00-00-09.000"], [
    "2020-01-01T00-00-09.000",
    ...DAYS.slice(1),
  ]],
] as const;
for (const [what, times, kept] of cases) {
  Deno.test(`Backup: keeps the copies that latest leads to, and ${what}`, () =>
    withFolder(async (folder) => {
      assert.deepEqual(names(await backUpAt(folder, times)), [...kept, "latest", "lock"]);
    }));
}

Deno.test({
  name: "Backup: a run waits for one that began earlier, and both copies are complete",
  ignore: !hasProgram("sqlite3", "--version"),
  fn: () =>
    withFolder(async (folder) => {
      await Deno.mkdir(`${folder}/etc`);
      const database = `${folder}/solver.sqlite`;
      const db = new DatabaseSync(database);
      db.exec("CREATE TABLE t (x)");
      db.close();
      await Deno.writeTextFile(`${folder}/etc/solver.database`, `${database}\n`);
      const script = await writeScript(folder, "backup");
      // The copy is there, not yet checked, when the second run begins.
      const second = `sh ${script} node > ${folder}/second 2>&1`;
      await standIn(folder, {
        rangemaker: 'for last; do :; done; echo chain > "$last"',
        sqlite3: `/usr/bin/sqlite3 "$@"
case "$*" in *.backup*) (${second}; echo $? > ${folder}/ended) 9>&- & sleep 1 ;; esac`,
      });
      await runIn(folder, "backup", ["node", "solver"]);
      await eventually("the second run ends", () => names(folder).includes("ended"));
      assert.equal(await Deno.readTextFile(`${folder}/ended`), "0\n");
      const [first = ""] = names(`${folder}/backups`);
      assert.deepEqual(names(`${folder}/backups/${first}`), ["chain.sqlite", "solver.sqlite"]);
      assert((await Deno.stat(`${folder}/backups/${first}/solver.sqlite`)).size > 0);
      assert.deepEqual(names(`${folder}/backups/latest`), ["chain.sqlite"]);
    }),
});

Deno.test("Backup and restore: a password with escapes is decoded, and passed in the environment instead of an argument", () =>
  withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/etc`);
    const url = String.raw`postgres://bridge:p%40s%2Fs%25%C3%A9\n@db.example/bridge`;
    await Deno.writeTextFile(`${folder}/etc/bridge.database`, `${url}\n`);
    for (const name of ["pg_dump", "pg_restore", "psql"]) {
      await standIn(folder, {
        [name]: `printf '%s\\n' "$PGPASSWORD ${name} $*" >> ${folder}/calls`,
      });
    }
    await Deno.writeTextFile(`${folder}/copy`, "");
    await runIn(folder, "backup", ["bridge"]);
    await runIn(folder, "restore", ["bridge", `${folder}/copy`]);
    const calls = (await Deno.readTextFile(`${folder}/calls`)).split("\n")
      .filter((line) => line.includes(" -d "));
    assert(calls.length >= 4, calls.join("\n"));
    for (const call of calls) {
      assert(call.includes("postgres://bridge@db.example/bridge"), call);
      assert(call.startsWith(String.raw`p@s/s%é\n p`), call);
    }
  }));

Deno.test({
  name:
    "Backup and restore: leave a damaged log as it is, since its service refuses to start without it",
  ignore: !hasProgram("sqlite3", "--version"),
  fn: () =>
    withFolder(async (folder) => {
      const database = `${folder}/lib/rangemaker/bridge/data/bridge.sqlite`;
      const paths = [`${folder}/etc`, `${folder}/lib/rangemaker/bridge/data`, `${folder}/old`];
      for (const path of paths) {
        await Deno.mkdir(path, { recursive: true });
      }
      const db = new DatabaseSync(`${folder}/open.sqlite`);
      db.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
      for (const to of [database, `${folder}/old/bridge.sqlite`]) {
        for (const end of ["", "-wal"]) {
          await Deno.copyFile(`${folder}/open.sqlite${end}`, to + end);
        }
        const log = await Deno.readFile(`${to}-wal`);
        await Deno.writeFile(`${to}-wal`, log.fill(1, log.length - 100));
      }
      db.close();
      await Deno.writeTextFile(`${folder}/etc/bridge.database`, `${database}\n`);
      const before = await Deno.readFile(`${database}-wal`);
      await runIn(folder, "backup", ["bridge"]);
      assert.deepEqual(await Deno.readFile(`${database}-wal`), before);
      await runIn(folder, "restore", ["bridge", `${folder}/old`]);
      assert.deepEqual(await Deno.readFile(`${folder}/old/bridge.sqlite-wal`), before);
    }),
});

Deno.test("Restore: after a run that died, the next one finds the data before together, and a node refuses to start in between", () =>
  withFolder(async (folder) => {
    const data = `${folder}/lib/rangemaker/node/data/node`;
    await Deno.mkdir(data, { recursive: true });
    const before = ["chain.sqlite", "chain.sqlite-shm", "chain.sqlite-wal"];
    for (const name of [...before, "lock"]) await Deno.writeTextFile(`${data}/${name}`, name);
    await assert.rejects(runIn(folder, "restore", ["node", folder]), /no copy .*\/chain\.sqlite/);
    await Deno.writeTextFile(`${folder}/chain.sqlite`, "copy");
    await standIn(folder, {
      sqlite3: 'case $3 in .backup*) cp "$2" "${3#.backup }" ;; *) echo ok ;; esac',
      mv: '/bin/mv "$@"; kill -9 $PPID',
    });
    await assert.rejects(runIn(folder, "restore", ["node", folder]));
    const [replaced = ""] = names(data).filter((name) => name.startsWith("replaced-"));
    assert.deepEqual(names(data), ["lock", replaced]);
    assert.deepEqual(names(`${data}/${replaced}`), [...before, "restored"]);
    await Deno.remove(`${folder}/mv`);
    await runIn(folder, "restore", ["node", folder]);
    assert.equal(await Deno.readTextFile(`${data}/chain.sqlite`), "copy");
    assert.deepEqual(names(`${data}/${replaced}`), [...before, "restored"]);
    assert(!names(data).includes("lock"));
  }));

Deno.test({
  name:
    "Restore: moves nothing if the file with the database's name is empty, as a full disk leaves it",
  ignore: !hasProgram("sqlite3", "--version"),
  fn: () =>
    withFolder(async (folder) => {
      const etc = `${folder}/etc`;
      await Deno.mkdir(etc);
      await Deno.writeTextFile(`${etc}/bridge.json`, "the key");
      await Deno.writeTextFile(`${etc}/bridge.database`, "\n");
      const copy = new DatabaseSync(`${folder}/bridge.sqlite`);
      copy.exec("CREATE TABLE t (x)");
      copy.close();
      const script = await writeScript(folder, "restore");
      const { code, text } = await run("sh", [script, "bridge", folder], { cwd: etc });
      assert.equal(code, 1);
      assert.match(text, /bridge\.database is empty/);
      assert.deepEqual(names(etc), ["bridge.database", "bridge.json"]);
    }),
});

Deno.test("Rotate: a second run, after one that died, names only the files that it has moved itself", () =>
  withFolder(async (folder) => {
    const etc = `${folder}/etc`;
    await Deno.mkdir(etc);
    for (const name of ["solver.json", "solver-new.json"]) {
      await Deno.writeTextFile(`${etc}/${name}`, name);
    }
    await Deno.writeTextFile(`${etc}/solver.database`, `${folder}/solver.sqlite\n`);
    for (const end of ["", "-wal"]) await Deno.writeTextFile(`${folder}/solver.sqlite${end}`, "");
    await standIn(folder, { mv: '/bin/mv "$@"\ncase $* in *.json) kill -9 $PPID ;; esac' });
    await assert.rejects(runIn(folder, "rotate", ["solver"]), /The database of the old key: /);
    await Deno.remove(`${folder}/mv`);
    assert.equal(await runIn(folder, "rotate", ["solver"]), "");
    assert.equal(await Deno.readTextFile(`${etc}/solver.json`), "solver-new.json");
    const [old = ""] = names(folder).filter((name) => name.startsWith("old-key-"));
    assert.deepEqual(names(`${folder}/${old}`), ["solver.sqlite", "solver.sqlite-wal"]);
  }));
