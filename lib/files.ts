/** Whether files and folders can be written, found out without leaving anything behind. */
import { dirname } from "node:path";
import { messageOf } from "./errors.ts";

/**
 * Why a folder takes no new file; undefined where it does or could be made, as far as this process
 * may find out: what it is not granted to look at is not known.
 */
export function whyFolderIsClosed(path: string): string | undefined {
  try {
    let folder = path;
    while (statOf(folder) === undefined) folder = dirname(folder);
    if (!statOf(folder)?.isDirectory) return `${folder} is no folder`;
    return whyNoFileIn(folder);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotCapable) return undefined;
    throw thrown;
  }
}

function whyNoFileIn(folder: string): string | undefined {
  try {
    // Made and removed again: the system's own word for whether it may be is not enough, as on a
    // file system that is mounted read-only or full.
    Deno.removeSync(Deno.makeTempFileSync({ dir: folder, prefix: ".rangemaker-doctor-" }));
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotCapable) throw thrown;
    return `${folder} takes no new file: ${messageOf(thrown)}`;
  }
}

/** Why a file cannot be written to; undefined where it can. Nothing is written. */
export function whyFileIsClosed(path: string): string | undefined {
  try {
    Deno.openSync(path, { write: true }).close();
    return undefined;
  } catch (thrown) {
    return `${path} cannot be written: ${messageOf(thrown)}`;
  }
}

/** What is at a path; undefined where there is nothing. */
export function statOf(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch (thrown) {
    // Below what is no folder there is nothing either.
    const isNothing = thrown instanceof Deno.errors.NotFound ||
      thrown instanceof Deno.errors.NotADirectory;
    if (isNothing) return undefined;
    throw thrown;
  }
}
