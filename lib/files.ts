/** Checks whether files and folders can be written, without leaving anything behind. */
import { dirname } from "node:path";
import { messageOf } from "./errors.ts";

/**
 * Why no file can be created in a folder; undefined if one can, if the folder could be created, or
 * if this process lacks the permission to find out.
 */
export function findFolderProblem(path: string): string | undefined {
  let folder = path;
  try {
    while (readStat(folder) === undefined) folder = dirname(folder);
    if (!readStat(folder)?.isDirectory) return `${folder} is not a folder`;
    // Mode bits are not enough: the file system may be full or mounted read-only.
    Deno.removeSync(Deno.makeTempFileSync({ dir: folder, prefix: ".rangemaker-doctor-" }));
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotCapable) return undefined;
    return `${folder} cannot be written: ${messageOf(thrown)}`;
  }
}

/** Why a file cannot be written; undefined if it can. Nothing is written. */
export function findFileProblem(path: string): string | undefined {
  try {
    Deno.openSync(path, { write: true }).close();
    return undefined;
  } catch (thrown) {
    return `${path} cannot be written: ${messageOf(thrown)}`;
  }
}

/** File info of a path, or undefined if it does not exist. */
export function readStat(path: string, stat = Deno.statSync): Deno.FileInfo | undefined {
  try {
    return stat(path);
  } catch (thrown) {
    // A path below a file does not exist either.
    const isNothing = thrown instanceof Deno.errors.NotFound ||
      thrown instanceof Deno.errors.NotADirectory;
    if (isNothing) return undefined;
    throw thrown;
  }
}
