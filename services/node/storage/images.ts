import { crc32 } from "node:zlib";
import { z } from "zod";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { PriceRing, SLOT_BYTES } from "../../../lib/prices/price_ring.ts";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import { hash32Schema, timestampSchema } from "../../../lib/protocol/scalars.ts";
import type { Block } from "../chain/block.ts";
import {
  decodeLine,
  encodeLine,
  type OpenFile,
  openOnDisk,
  readAt,
  type StorageFile,
  writeAt,
} from "./files.ts";

/** The data directory cannot be used. */
export class DataDirError extends RangemakerError {
  constructor(message: string, cause?: unknown) {
    super("DATA_DIR", message, { cause });
  }
}

/** Bytes per slot: its bytes in the ring, then their CRC-32. */
const RECORD_BYTES = SLOT_BYTES + 4;

/**
 * The image of one price ring on the disk. It never grows and needs no replay. Every slot has a
 * checksum of its own, which covers the market, too: a damaged slot has no price.
 */
export class PriceFile {
  readonly ring: PriceRing;
  /** Slots of the image that are damaged or cut off: all of them if there was no image. */
  readonly damagedSlots: number;
  readonly #file: StorageFile;
  readonly #seed: number;
  #flushedSlot: number;

  private constructor(file: StorageFile, seed: number, ring: PriceRing, damagedSlots: number) {
    this.#file = file;
    this.#seed = seed;
    this.ring = ring;
    this.damagedSlots = damagedSlots;
    this.#flushedSlot = newestSlot(ring);
  }

  /**
   * Opens the image, or creates one of an empty ring.
   *
   * @throws {DataDirError} If its ring has another size, or it cannot be read or written.
   */
  static open(
    path: string,
    market: Market,
    slots: number,
    openFile: OpenFile = openOnDisk,
  ): PriceFile {
    let file: StorageFile | undefined;
    try {
      file = openFile(path);
      const seed = crc32(market.symbol);
      const { size } = file.statSync();
      const ownSlots = size / RECORD_BYTES;
      if (size > 0 && ownSlots !== slots && Number.isInteger(Math.log2(ownSlots))) {
        throw new DataDirError(
          `Price history ${path} has ${ownSlots} slots: set ring_buffer_size to that instead of ${slots}`,
        );
      }
      const fullSize = slots * RECORD_BYTES;
      const image = readAt(file, 0, Math.min(size, fullSize));
      const { bytes, damaged } = readSlots(image, slots, seed);
      // All of its space is allocated now, so that prices still fit if the disk fills up later.
      if (size < fullSize) writeAt(file, size, new Uint8Array(fullSize - size));
      const cut = slots - Math.floor(image.length / RECORD_BYTES);
      return new PriceFile(file, seed, PriceRing.fromBytes(bytes), damaged + cut);
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
    const records = new Uint8Array(count * RECORD_BYTES);
    const view = new DataView(records.buffer);
    for (let index = 0; index < count; index++) {
      const slot = this.ring.bytes.subarray((first + index) * SLOT_BYTES).subarray(0, SLOT_BYTES);
      records.set(slot, index * RECORD_BYTES);
      view.setUint32(index * RECORD_BYTES + SLOT_BYTES, crc32(slot, this.#seed));
    }
    writeAt(this.#file, first * RECORD_BYTES, records);
  }
}

function newestSlot(ring: PriceRing): number {
  return ring.newest === undefined ? -1 : ring.newest / SLOT_MS;
}

/** The bytes of a ring from its image. Zeros were never written; other slots need a valid checksum. */
function readSlots(image: Uint8Array, slots: number, seed: number) {
  const bytes = new Uint8Array(slots * SLOT_BYTES);
  const view = new DataView(image.buffer, image.byteOffset);
  let damaged = 0;
  for (let index = 0; (index + 1) * RECORD_BYTES <= image.length; index++) {
    const at = index * RECORD_BYTES;
    const slot = image.subarray(at, at + SLOT_BYTES);
    const checksum = view.getUint32(at + SLOT_BYTES);
    if (checksum === 0 && slot.every((byte) => byte === 0)) continue;
    // A time of -1: the ring never had a price there.
    const time = view.getFloat64(at, true);
    const isInPlace = time === -1 || (time / SLOT_MS) % slots === index;
    if (isInPlace && checksum === crc32(slot, seed)) bytes.set(slot, index * SLOT_BYTES);
    else damaged += 1;
  }
  return { bytes, damaged };
}

/** Every head is padded to this length, so that it overwrites the one before. */
const LINE_BYTES = 512;

const headSchema = z.object({
  number: z.number().int().nonnegative(),
  hash: hash32Schema,
  parentHash: hash32Schema,
  timestampMs: timestampSchema,
  journal: z.object({
    /** Number of rewrites of the journal so far. */
    rewrites: z.number().int().nonnegative(),
    /** Its minimum length on the disk. */
    bytes: z.number().int().nonnegative(),
  }),
});

/** The newest block, and the length of the journal that was on the disk then. */
export type SavedHead = z.output<typeof headSchema>;

/** A file with the newest block only. */
export class HeadFile {
  readonly #file: StorageFile;

  /** Opens the file, and creates it if it does not exist. @throws {DataDirError} */
  constructor(path: string, openFile: OpenFile = openOnDisk) {
    try {
      this.#file = openFile(path);
    } catch (cause) {
      throw new DataDirError(`File ${path} cannot be opened: ${messageOf(cause)}`, cause);
    }
  }

  /** The last block written; undefined if there is none. "damaged" if it cannot be read. */
  read(): SavedHead | "damaged" | undefined {
    const line = readAt(this.#file, 0, LINE_BYTES);
    if (line.length === 0) return undefined;
    const text = decodeLine(line.subarray(0, -1))?.text;
    return text === undefined ? "damaged" : headSchema.parse(JSON.parse(text));
  }

  /** Writes the newest block. @throws {Error} If the write fails. */
  write(
    { number, hash, parentHash, timestampMs }: Block,
    journal: { rewrites: number; bytes: number },
  ): void {
    const text = JSON.stringify({ number, hash, parentHash, timestampMs, journal });
    const padding = LINE_BYTES - encodeLine(text).bytes.length;
    writeAt(this.#file, 0, encodeLine(text + " ".repeat(padding)).bytes);
  }

  /** Makes the last block survive a power loss. @throws {Error} If that fails. */
  sync(): void {
    this.#file.syncDataSync();
  }

  /** Closes the file. */
  close(): void {
    this.#file.close();
  }
}
