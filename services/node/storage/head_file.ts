import { z } from "zod";
import { hash32Schema, timestampSchema } from "../../../lib/protocol/scalars.ts";
import type { Block } from "../chain/block.ts";
import { decodeLine, encodeLine } from "./checked_line.ts";
import { writeAt } from "./price_file.ts";

/** Longer than any head is: what is written over it covers all of the one before. */
const LINE_CHARS = 256;

const headSchema = z.object({
  number: z.number().int().nonnegative(),
  hash: hash32Schema,
  parentHash: hash32Schema,
  timestampMs: timestampSchema,
});

/** The newest block, written over the one before. */
export class HeadFile {
  readonly #file: Deno.FsFile;

  /** Opens the file, making it where there is none. */
  constructor(path: string) {
    this.#file = Deno.openSync(path, { read: true, write: true, create: true });
  }

  /** The block written last; undefined where there is none or it was torn. */
  read(): Block | undefined {
    const line = new Uint8Array(LINE_CHARS);
    this.#file.seekSync(0, Deno.SeekMode.Start);
    const length = this.#file.readSync(line) ?? 0;
    const text = decodeLine(line.subarray(0, Math.max(0, length - 1)));
    if (text === undefined) return undefined;
    return { ...headSchema.parse(JSON.parse(text)), transactions: [] };
  }

  /** Writes the newest block down. @throws {Error} If the disk does not take it. */
  write({ number, hash, parentHash, timestampMs }: Block): void {
    const text = JSON.stringify({ number, hash, parentHash, timestampMs });
    const line = encodeLine(text.padEnd(LINE_CHARS - encodeLine("").length));
    writeAt(this.#file, 0, new TextEncoder().encode(line));
  }

  /** Ends. */
  close(): void {
    this.#file.close();
  }
}
