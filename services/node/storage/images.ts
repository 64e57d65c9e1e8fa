import { z } from "zod";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { PriceRing, SLOT_BYTES } from "../../../lib/prices/price_ring.ts";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { hash32Schema, timestampSchema } from "../../../lib/protocol/scalars.ts";
import type { Block } from "../chain/block.ts";
import { decodeLine, encodeLine, PRIVATE_FILE } from "./file_journal.ts";

/** The data directory cannot be used. */
export class DataDirError extends RangemakerError {
  constructor(message: string, cause?: unknown) {
    super("DATA_DIR", message, { cause });
  }
}

/** The image of one price ring on the disk, byte for byte. It never grows and needs no replay. */
export class PriceFile {
  readonly ring: PriceRing;
  readonly #file: Deno.FsFile;
  #flushedSlot: number;

  private constructor(file: Deno.FsFile, ring: PriceRing) {
    this.#file = file;
    this.ring = ring;
    this.#flushedSlot = newestSlot(ring);
  }

  /**
   * Opens the image, or creates one of an empty ring.
   *
   * @throws {DataDirError} If its ring has another size, or it cannot be read.
   */
  static open(path: string, slots: number): PriceFile {
    let file: Deno.FsFile | undefined;
    try {
      file = Deno.openSync(path, { read: true, write: true, create: true, mode: PRIVATE_FILE });
      const size = file.statSync().size;
      if (size === 0) {
        const ring = new PriceRing(slots);
        writeAt(file, 0, ring.bytes);
        return new PriceFile(file, ring);
      }
      if (size !== slots * SLOT_BYTES) {
        throw new DataDirError(
          `Price history ${path} has ${
            size / SLOT_BYTES
          } slots: set ring_buffer_size to that instead of ${slots}`,
        );
      }
      return new PriceFile(file, PriceRing.fromBytes(readAll(file, size)));
    } catch (thrown) {
      file?.close();
      if (thrown instanceof DataDirError) throw thrown;
      throw new DataDirError(
        `Price history ${path} cannot be opened: ${messageOf(thrown)}`,
        thrown,
      );
    }
  }

  /** Writes the slots since the last flush. @throws {Error} If the write fails. */
  flush(): void {
    const { ring } = this;
    const newest = newestSlot(ring);
    const count = Math.min(newest - this.#flushedSlot, ring.slots);
    if (count <= 0) return;
    const first = (newest - count + 1) % ring.slots;
    const beforeWrap = Math.min(count, ring.slots - first);
    this.#write(first, beforeWrap);
    this.#write(0, count - beforeWrap);
    this.#flushedSlot = newest;
  }

  /** Closes the file. Unflushed slots are lost. */
  close(): void {
    this.#file.close();
  }

  #write(first: number, count: number): void {
    if (count === 0) return;
    const bytes = this.ring.bytes.subarray(first * SLOT_BYTES, (first + count) * SLOT_BYTES);
    writeAt(this.#file, first * SLOT_BYTES, bytes);
  }
}

function newestSlot(ring: PriceRing): number {
  return ring.newest === undefined ? -1 : ring.newest / SLOT_MS;
}

/** Every head is padded to this length, so that it overwrites the one before. */
const LINE_CHARS = 256;

const headSchema = z.object({
  number: z.number().int().nonnegative(),
  hash: hash32Schema,
  parentHash: hash32Schema,
  timestampMs: timestampSchema,
});

/** A file with the newest block only. */
export class HeadFile {
  readonly #file: Deno.FsFile;

  /** Opens the file, and creates it if it does not exist. */
  constructor(path: string) {
    this.#file = Deno.openSync(path, { read: true, write: true, create: true, mode: PRIVATE_FILE });
  }

  /** The last block written; undefined if there is none or it is incomplete. */
  read(): Block | undefined {
    const line = new Uint8Array(LINE_CHARS);
    this.#file.seekSync(0, Deno.SeekMode.Start);
    const length = this.#file.readSync(line) ?? 0;
    const text = decodeLine(line.subarray(0, Math.max(0, length - 1)));
    if (text === undefined) return undefined;
    return { ...headSchema.parse(JSON.parse(text)), transactions: [] };
  }

  /** Writes the newest block. @throws {Error} If the write fails. */
  write({ number, hash, parentHash, timestampMs }: Block): void {
    const text = JSON.stringify({ number, hash, parentHash, timestampMs });
    const line = encodeLine(text.padEnd(LINE_CHARS - encodeLine("").length));
    writeAt(this.#file, 0, new TextEncoder().encode(line));
  }

  /** Closes the file. */
  close(): void {
    this.#file.close();
  }
}

/** Writes all bytes at an offset of a file. */
function writeAt(file: Deno.FsFile, offset: number, bytes: Uint8Array): void {
  file.seekSync(offset, Deno.SeekMode.Start);
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
}

function readAll(file: Deno.FsFile, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let done = 0; done < size;) {
    const read = file.readSync(bytes.subarray(done));
    if (read === null) throw new Error(`ended after ${done} of ${size} bytes`);
    done += read;
  }
  return bytes;
}
