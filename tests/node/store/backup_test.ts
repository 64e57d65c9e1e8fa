/** Backups of a chain, with its node running or stopped. */
import assert from "node:assert/strict";
import { run } from "../../../services/node/backup_command.ts";
import { inspectDataDir } from "../../../services/node/store/data_dir.ts";
import { Database, StorageError } from "../../../services/node/store/database.ts";
import { LockFile } from "../../../services/node/store/lock_file.ts";
import config from "../../../deno.json" with { type: "json" };
import { runHere } from "../../support/command_context.ts";
import { bundledProgram, Program } from "../../support/process.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withFolder } from "../../support/files.ts";
import { actors, CHAIN_ID, hashOf } from "../support/actors.ts";
import { addHistory, DiskChain, GENESIS, withDiskChain } from "../support/chains.ts";
import { logOf } from "../../support/recorded_logs.ts";

const { relayer, user } = actors;
const [, flags = ""] = /^deno run (.*) main\.ts node$/.exec(config.tasks.node) ?? [];
const bundled = await bundledProgram();
/** What `deno task compile` puts into an executable, with its permissions. */
const compiled = {
  ...bundled,
  args: bundled.args.flatMap((arg) => arg === "--allow-all" ? flags.split(" ") : arg),
};

/** `rangemaker node backup` in a process of its own. @returns Its exit code and what it printed. */
async function backUp(dir: string, to: string) {
  const args = ["node", "backup", "--data-dir", dir, "--to", to];
  const program = new Program(args, {}, compiled);
  const { code } = await program.finished();
  return { code, output: program.stdout + program.stderr };
}

/** The chain continues until the promise is settled. */
async function whileRunning<T>(disk: DiskChain, promise: Promise<T>): Promise<T> {
  let isOver = false;
  const result = promise.finally(() => isOver = true);
  while (!isOver) {
    disk.run(10);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return await result;
}

Deno.test("node backup: copies a running chain to a private, checked file that can be continued", () =>
  withDiskChain(async (disk, folder) => {
    const to = `${folder}/backup.sqlite`;
    const txs = addHistory(disk);
    disk.storage.records.commits.commit();
    const before = disk.view(txs);
    const { code, output } = await whileRunning(disk, backUp(disk.path, to));
    assert.equal(code, 0, output);
    assert.match(output, /^Backup of .*: \d+ bytes, checked/);
    assert.equal((Deno.statSync(to).mode ?? 0) & 0o777, 0o600);
    const again = await whileRunning(disk, backUp(disk.path, to));
    assert.match(again.output, /exists already: name a new file/);
    disk.deposit(50);
    disk.run(30);
    const { number } = disk.chain.head;
    disk.kill(`${folder}/restored`); // with a log that is newer than the backup
    await disk.close();

    Deno.copyFileSync(to, `${folder}/restored/chain.sqlite`);
    const logged = await logOf(async () => {
      await using restored = new DiskChain(`${folder}/restored`, disk.clock);
      assert.deepEqual(restored.view(txs), before);
      assert.ok(restored.chain.head.number > number, "above all that were announced since");
      restored.run(1);
      restored.deposit(50);
    });
    assert.match(logged.join("\n"), /is a restored backup/);
    await using goesOn = new DiskChain(`${folder}/restored`, disk.clock);
    assert.equal(goesOn.view([]).issued, before.issued + 5_000_000n);
  }));

Deno.test("node backup: the copy is synced before it gets its name, and the folder after that", () =>
  withFolder(async (folder) => {
    await new DiskChain(`${folder}/node`, new FakeClock()).close();
    const steps: string[] = [];
    const { renameSync, FsFile: { prototype } } = Deno;
    const { syncSync } = prototype;
    prototype.syncSync = function () {
      steps.push("sync");
      syncSync.call(this);
    };
    Deno.renameSync = (...paths) => {
      steps.push("rename");
      renameSync(...paths);
    };
    try {
      const to = `${folder}/backup.sqlite`;
      await runHere(["node", "backup", "--data-dir", `${folder}/node`, "--to", to]);
    } finally {
      Object.assign(prototype, { syncSync });
      Object.assign(Deno, { renameSync });
    }
    assert.deepEqual(steps, ["sync", "rename", "sync"]);
  }));

Deno.test("node backup: a refused backup of another chain leaves the log, which its database needs", () =>
  withDiskChain(async (disk, folder) => {
    const [copy, killed] = [`${folder}/backup.sqlite`, `${folder}/killed`];
    addHistory(disk);
    disk.storage.records.commits.commit();
    disk.run(1);
    const txs = [disk.deposit(50)];
    const before = disk.view(txs);
    disk.kill(killed);
    await disk.close();
    const other = new DiskChain(`${folder}/other`, disk.clock, { chainId: 7 });
    await other.close();
    await runHere(["node", "backup", "--data-dir", `${folder}/other`, "--to", copy]);

    Deno.renameSync(`${killed}/chain.sqlite`, `${folder}/chain.sqlite`);
    Deno.copyFileSync(copy, `${killed}/chain.sqlite`);
    assert.throws(() => new DiskChain(killed, disk.clock), /another genesis or chain id/);
    Deno.renameSync(`${folder}/chain.sqlite`, `${killed}/chain.sqlite`);
    await using again = new DiskChain(killed, disk.clock);
    assert.deepEqual(again.view(txs), before);
  }));

Deno.test("node backup: a second restore does not overwrite the log that the first one replaced", () =>
  withDiskChain(async (disk, folder) => {
    const to = `${folder}/backup.sqlite`;
    addHistory(disk);
    await disk.close();
    await runHere(["node", "backup", "--data-dir", disk.path, "--to", to]);
    const log = `${disk.path}/chain.sqlite-wal`;
    for (const content of ["first", "second"]) {
      Deno.copyFileSync(to, `${disk.path}/chain.sqlite`);
      Deno.writeTextFileSync(log, content);
      await new DiskChain(disk.path, disk.clock).close();
    }
    const logs = [`${log}.replaced`, `${log}.replaced-2`];
    assert.deepEqual(logs.map((path) => Deno.readTextFileSync(path)), ["first", "second"]);
  }));

Deno.test("node backup: copies a restored backup before its first start, without the log of what it replaced", () =>
  withDiskChain(async (disk, folder) => {
    const [killed, to, copy] = [`${folder}/killed`, `${folder}/backup.sqlite`, `${folder}/copy`];
    const txs = addHistory(disk);
    const before = disk.view(txs);
    disk.kill(`${folder}/earlier`);
    await runHere(["node", "backup", "--data-dir", `${folder}/earlier`, "--to", to]);
    disk.run(20);
    for (let number = 50; number < 60; number++) disk.deposit(number);
    disk.kill(killed); // with a log
    await disk.close();

    const stopped = `${folder}/stopped`; // without a log
    Deno.mkdirSync(stopped);
    Deno.copyFileSync(to, `${stopped}/chain.sqlite`);
    Deno.copyFileSync(`${killed}/lock`, `${stopped}/lock`);
    const identity = { chainId: CHAIN_ID, balances: GENESIS.balances };
    assert.equal(inspectDataDir(stopped, identity)?.isLocked, false, "the doctor accepts it");

    Deno.copyFileSync(to, `${killed}/chain.sqlite`);
    const { code, stderr } = await runHere(["node", "backup", "--data-dir", killed, "--to", copy]);
    assert.equal(code, 0, stderr);
    const restored = new DiskChain(killed, disk.clock);
    assert.deepEqual(restored.view(txs), before);
    await restored.close();
    assert.ok(Deno.statSync(`${killed}/chain.sqlite-wal.replaced`).size > 0, "its log is kept");
    Deno.mkdirSync(`${folder}/other`);
    Deno.copyFileSync(copy, `${folder}/other/chain.sqlite`);
    await using copied = new DiskChain(`${folder}/other`, disk.clock);
    assert.deepEqual(copied.view(txs), before);
  }));

Deno.test("node backup: refuses a restored backup while the node still runs on what it replaced", () =>
  withDiskChain(async (disk, folder) => {
    const to = `${folder}/backup.sqlite`;
    const txs = addHistory(disk);
    const before = disk.view(txs);
    const { code, output } = await whileRunning(disk, backUp(disk.path, to));
    assert.equal(code, 0, output);
    for (let number = 50; number < 60; number++) disk.deposit(number);
    disk.storage.records.commits.commit();

    Deno.copyFileSync(to, `${folder}/restored.sqlite`);
    Deno.renameSync(`${folder}/restored.sqlite`, `${disk.path}/chain.sqlite`);
    const refused = await backUp(disk.path, `${folder}/copy`);
    assert.match(refused.output, /A node still runs .*: stop it first/);
    assert.equal(refused.code, 1);
    await assert.rejects(disk.close(), /restart the node/);
    await using restored = new DiskChain(disk.path, disk.clock);
    assert.deepEqual(restored.view(txs), before);
  }));

Deno.test("node backup: works while the node is stopped, and refuses a directory without a chain", () =>
  withDiskChain(async (disk, folder) => {
    const txs = addHistory(disk);
    const before = disk.view(txs);
    await disk.close();
    const backUpHere = (dir: string, to: string) =>
      runHere(["node", "backup", "--data-dir", dir, "--to", `${folder}/${to}`]);
    const { code, stderr } = await backUpHere(disk.path, "backup.sqlite");
    assert.equal(code, 0, stderr);
    Deno.mkdirSync(`${folder}/other`);
    Deno.copyFileSync(`${folder}/backup.sqlite`, `${folder}/other/chain.sqlite`);
    assert.equal((await backUpHere(`${folder}/other`, "second.sqlite")).code, 0);
    const left = [...Deno.readDirSync(`${folder}/other`)].map(({ name }) => name);
    assert.deepEqual(left, ["chain.sqlite"], "a lock of root would be closed to the node");
    const restored = new DiskChain(`${folder}/other`, disk.clock);
    assert.deepEqual(restored.view(txs), before);
    await restored.close();
    const misplaced = await backUpHere(disk.path, "none/b");
    assert.match(misplaced.stderr, /none\/b cannot be written: No such file or directory/);
    assert.match((await backUpHere(`${folder}/none`, "b")).stderr, /does not exist/);
    const long = "x".repeat(300); // not even root can ask for it, as others for a closed folder
    for (const [dir, to] of [["none", long], [long, "b"]] as const) {
      const { stderr } = await backUpHere(`${folder}/${dir}`, to);
      assert.match(stderr, /x cannot be used: File name too long/);
    }
    Deno.mkdirSync(`${folder}/empty`);
    assert.match((await backUpHere(`${folder}/empty`, "b")).stderr, /contains no chain yet/);
    assert.deepEqual([...Deno.readDirSync(`${folder}/empty`)], [], "nothing is left behind");
    Deno.mkdirSync(`${folder}/empty/chain.sqlite`);
    assert.match(
      (await backUpHere(`${folder}/empty`, "b")).stderr,
      /empty cannot be used: /,
    );
    assert.equal(run.definition.name, "node backup");
  }));

Deno.test("node backup: of a damaged chain fails, names the row, and leaves no file", () =>
  withDiskChain(async (disk, folder) => {
    addHistory(disk);
    await disk.close();
    const database = new Database(`${folder}/node/chain.sqlite`);
    database.exec("UPDATE theses SET value = '{}' WHERE key = 2");
    database.close();
    const args = ["--data-dir", disk.path, "--to", `${folder}/backup.sqlite`];
    const { code, stderr } = await runHere(["node", "backup", ...args]);
    assert.equal(code, 1);
    assert.match(stderr, /damaged \(row 2 of the table theses\): restore a backup/);
    assert.deepEqual(Array.from(Deno.readDirSync(folder), ({ name }) => name), ["node"]);
  }));

Deno.test("Database: a copy that cannot be written is a StorageError", () =>
  withFolder(async (folder) => {
    const database = new Database();
    await assert.rejects(database.copyTo(`${folder}/none/copy`), StorageError);
    database.close();
  }));

Deno.test("Node: a chain of over 50,000 rows is checked while the node runs", () =>
  withFolder(async (dir) => {
    const disk = new DiskChain(dir, new FakeClock(Date.now()));
    const { chain, storage, clock } = disk;
    const timestamp = clock.now();
    const deposit = { type: "Deposit", from: relayer.address, user: user.address } as const;
    storage.records.commits.change(() => {
      for (let number = 1; number <= 26_000; number++) {
        const tx = { ...deposit, timestamp, amount: 1n, externalTxHash: hashOf(number) };
        const receipt = { txHash: hashOf(number), status: "committed" as const, blockNumber: 1 };
        chain.state.applyTransaction({ tx: { ...tx, signature: "0x" }, receipt }, timestamp);
      }
    });
    await disk.close();
    const [[funded, balance] = []] = GENESIS.balances;
    const args = ["--relayers", relayer.address, "--balances", `${funded}=${balance}`];
    const program = new Program(
      ["node", "--data-dir", dir, "--port", "0", "--read-port", "0", ...args],
      {},
      compiled,
    );
    await program.until(({ stderr }) => /No damage was found in the chain/.test(stderr));
    program.kill("SIGTERM");
    assert.equal((await program.finished()).code, 0);
  }));

Deno.test("node backup: inspects the files when no node can start any more", () =>
  withFolder(async (folder) => {
    const [dir, to] = [`${folder}/node`, `${folder}/backup.sqlite`];
    await new DiskChain(dir, new FakeClock()).close();
    const { lock } = LockFile;
    LockFile.lock = (path) => {
      Deno.renameSync(`${dir}/chain.sqlite`, `${folder}/moved.sqlite`);
      return lock.call(LockFile, path);
    };
    try {
      const { stderr } = await runHere(["node", "backup", "--data-dir", dir, "--to", to]);
      assert.match(stderr, /chain\.sqlite is missing or empty, but .* had a chain/);
    } finally {
      LockFile.lock = lock;
    }
  }));
