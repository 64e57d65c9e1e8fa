import type { OpenFile, StorageFile } from "../../../services/node/storage/files.ts";

/** Files that fail when a test says so, and work like those of `openFile` otherwise. */
export function failingFiles(openFile: OpenFile) {
  let fault: { name: string; message: string; after: number | "open" } | undefined;
  const faultOf = (path: string) =>
    fault !== undefined && path.endsWith(fault.name) ? fault : undefined;

  return {
    /**
     * Writes to the file with this name fail from now on.
     *
     * @param after Bytes of each write that succeed, or "open" if it cannot even be opened.
     */
    fail(name: string, message: string, after: number | "open" = 0): void {
      fault = { name, message, after };
    },
    heal(): void {
      fault = undefined;
    },
    open(path: string): StorageFile {
      const now = faultOf(path);
      if (now?.after === "open") throw new Error(now.message);
      const file = openFile(path);
      let room = 0;
      return {
        readSync: (into) => file.readSync(into),
        seekSync: (offset, whence) => {
          room = Number(faultOf(path)?.after ?? Infinity);
          return file.seekSync(offset, whence);
        },
        writeSync(bytes) {
          const found = faultOf(path);
          if (found === undefined) return file.writeSync(bytes);
          if (room === 0) throw new Error(found.message);
          const taken = file.writeSync(bytes.subarray(0, room));
          room -= taken;
          return taken;
        },
        truncateSync: (length) => file.truncateSync(length),
        statSync: () => file.statSync(),
        syncData: () => file.syncData(),
        syncDataSync: () => file.syncDataSync(),
        close: () => file.close(),
      };
    },
  };
}
