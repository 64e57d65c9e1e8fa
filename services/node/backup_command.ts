/** `rangemaker node backup`: copies the chain while its node runs, or while none does. */
import { command, ExitCode } from "../../lib/cli/command.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import type { OptionTable } from "../../lib/cli/options.ts";
import { statOf } from "../../lib/files.ts";
import { options as nodeOptions } from "./options.ts";
import { backupFiles, writeBackup } from "./store/background.ts";
import { databasePath, DataDirError, examine, LockFile, PRIVATE_FILE } from "./store/data_dir.ts";

/** How often the command looks whether the node has finished, and for how long it may not begin. */
const POLL_MS = 100;
const START_MAX_MS = 30_000;

export const options = {
  dataDir: { ...nodeOptions.dataDir, description: "directory of the chain" },
  to: {
    flags: "--to",
    kind: kinds.outputFile,
    description: "new file for the backup",
    required: true,
  },
} satisfies OptionTable;

/** The `node backup` subcommand. */
export const run = command({
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

/** @throws {DataDirError} If there is no chain, or no copy. @throws {StorageError} If it is damaged. */
export async function backUp(dir: string, to: string): Promise<void> {
  if (statOf(to) !== undefined) throw new DataDirError(`${to} exists already: name a new file`);
  if (LockFile.isHeld(dir)) return await moveTo(await requestBackup(dir), to);
  if (statOf(dir) === undefined) throw new DataDirError(`${dir} does not exist`);
  const lock = LockFile.lock(dir);
  try {
    const found = examine(dir, LockFile.read(dir));
    if (found === "nothing") throw new DataDirError(`${dir} contains no chain yet`);
    const { draft } = backupFiles(dir);
    await writeBackup(databasePath(dir), draft);
    await moveTo(draft, to);
  } finally {
    lock.close();
  }
}

/** Has the node that runs make a backup. @returns Its path. */
async function requestBackup(dir: string): Promise<string> {
  const { request, done, failed } = backupFiles(dir);
  try {
    Deno.writeTextFileSync(request, "", { createNew: true, mode: PRIVATE_FILE });
  } catch (thrown) {
    if (!(thrown instanceof Deno.errors.AlreadyExists)) throw thrown;
    throw new DataDirError(`Another backup of ${dir} is being made: try again later`);
  }
  for (let waitedMs = 0; statOf(done) === undefined; waitedMs += POLL_MS) {
    if (statOf(failed) !== undefined) {
      const reason = Deno.readTextFileSync(failed);
      Deno.removeSync(failed);
      throw new DataDirError(`The node made no backup: ${reason}`);
    }
    const isIgnored = waitedMs > START_MAX_MS && statOf(request) !== undefined;
    if (isIgnored || !LockFile.isHeld(dir)) {
      if (statOf(request) !== undefined) Deno.removeSync(request);
      throw new DataDirError(`The node of ${dir} does not answer or has stopped: try again`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return done;
}

/** Moves a file to another file system, too. */
async function moveTo(from: string, to: string): Promise<void> {
  try {
    using file = await Deno.open(to, { write: true, createNew: true, mode: PRIVATE_FILE });
    using source = await Deno.open(from);
    for await (const bytes of source.readable) await writeAll(file, bytes);
    await file.sync();
  } finally {
    Deno.removeSync(from);
  }
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await file.write(bytes.subarray(written));
  }
}
