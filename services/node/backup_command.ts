/** `rangemaker node backup`: copies the chain, whether a node runs or not. */
import { dirname } from "node:path";
import { createCommand, ExitCode } from "../../lib/cli/command.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import { optionTable } from "../../lib/cli/options.ts";
import { messageOf, RangemakerError } from "../../lib/errors.ts";
import { readStat } from "../../lib/files.ts";
import { options as nodeOptions } from "./options.ts";
import {
  BACKUP_RUN,
  databasePath,
  inspectFiles,
  renameReplacedLog,
  requireUndamaged,
  syncFolder,
} from "./store/data_dir.ts";
import { Database, DataDirError, PRIVATE_FILE, withFileErrors } from "./store/database.ts";
import { LockFile } from "./store/lock_file.ts";

export const options = optionTable({
  dataDir: { ...nodeOptions.dataDir, description: "directory of the chain" },
  to: {
    kind: { ...kinds.outputFile, access: "database" }, // SQLite also writes files next to it
    description: "new file for the backup",
    required: true,
  },
});

export const run = createCommand({
  name: "node backup",
  description:
    "Copies the chain to a file, checks every row of the copy, and syncs it. The node may " +
    "run meanwhile. To restore it, stop the node and put the file in place of chain.sqlite.",
  options,
  examples: [["rangemaker node backup --to chain-backup.sqlite", "of data/node"]],
  async run({ dataDir, to }, context) {
    await backUp(dataDir, to);
    context.print(`Backup of ${dataDir} in ${to}: ${Deno.statSync(to).size} bytes, checked`);
    return ExitCode.ok;
  },
});

/**
 * @throws {DataDirError} If there is no chain, or it cannot be copied.
 * @throws {StorageError} If it is damaged.
 */
async function backUp(dir: string, to: string): Promise<void> {
  const draft = `${to}.draft`;
  for (const path of [to, draft]) {
    if (withFileErrors(path, () => readStat(path)) !== undefined) {
      throw new DataDirError(`${path} exists already: name a new file`);
    }
  }
  if (withFileErrors(dir, () => readStat(dir)) === undefined) {
    throw new DataDirError(`${dir} does not exist`);
  }
  const isRunning = withFileErrors(dir, () => LockFile.isLocked(dir));
  // If no node runs, none may start meanwhile: the copy reads the files that a stopped or killed
  // node left.
  const hadLock = readStat(`${dir}/lock`) !== undefined;
  const lock = isRunning ? undefined : LockFile.lock(dir);
  let restoreLog = () => {};
  try {
    const found = withFileErrors(dir, () => inspectFiles(dir, LockFile.read(dir)));
    if (found === "nothing") throw new DataDirError(`${dir} contains no chain yet`);
    if (isRunning && found === "backup") {
      throw new DataDirError(
        `A node still runs on the chain that the backup in ${dir} has replaced: stop it first`,
      );
    }
    // A restored backup must not be opened with the log of the chain that it has replaced.
    if (found === "backup") restoreLog = renameReplacedLog(dir);
    await writeBackup(databasePath(dir), draft);
    Deno.renameSync(draft, to);
    syncFolder(dirname(to));
  } catch (cause) {
    if (cause instanceof RangemakerError || cause instanceof Deno.errors.NotCapable) throw cause;
    throw new DataDirError(`${to} cannot be written: ${messageOf(cause)}`, cause);
  } finally {
    restoreLog();
    // One that root has made, after a restore, would keep the node's own user from starting it.
    if (!hadLock) Deno.removeSync(`${dir}/lock`);
    lock?.close();
  }
}

/** Writes a checked copy of a database and syncs it; leaves nothing behind if that fails. */
async function writeBackup(path: string, copyTo: string): Promise<void> {
  // Created here, because SQLite accepts an empty file, and only the owner can read this one.
  Deno.writeFileSync(copyTo, new Uint8Array(), { createNew: true, mode: PRIVATE_FILE });
  try {
    const source = new Database(path);
    await source.copyTo(copyTo).finally(() => source.close());
    const copy = new Database(copyTo);
    try {
      copy.exec(`PRAGMA user_version = ${BACKUP_RUN}`);
      requireUndamaged(copy);
    } finally {
      copy.close();
    }
    using file = Deno.openSync(copyTo, { write: true });
    file.syncSync();
  } catch (thrown) {
    Deno.removeSync(copyTo);
    throw thrown;
  }
}
