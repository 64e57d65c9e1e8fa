/** Looks for damage in a SQLite write-ahead log, which SQLite itself would drop silently. */
import { statOf } from "./files.ts";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

const HEADER_SUMMED_BYTES = 24;

/** The part of a frame's header that the frame's checksum covers. */
const FRAME_SUMMED_BYTES = 8;

const MAGIC = 0x377f0682;
const DEFAULT_PAGE_BYTES = 4_096;

/** Time between two looks at a log: if it changes, it is in use and not damaged. */
const LOOK_AGAIN_MS = 100;

/**
 * The part of a log that SQLite would drop. `torn`: only the last transaction, cut by a power
 * failure before it was acknowledged. `damaged`: also acknowledged transactions.
 */
type LogDamage = "torn" | "damaged";

/** Inspects the log beside a database file, which nothing has opened yet. */
export function logDamage(database: string): LogDamage | undefined {
  const first = inspectFile(database);
  if (first === undefined) return undefined;
  // Another process may be writing to it. This blocks only the start, and only with a damaged log.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_AGAIN_MS);
  const second = inspectFile(database);
  return second?.damage === first.damage && second.mtimeMs === first.mtimeMs
    ? first.damage
    : undefined;
}

function inspectFile(database: string): { damage: LogDamage; mtimeMs: number } | undefined {
  const path = `${database}-wal`;
  const file = statOf(path);
  if (file === undefined || file.size <= HEADER_BYTES) return undefined;
  const damage = inspectLog(Deno.readFileSync(path));
  return damage && { damage, mtimeMs: file.mtime?.getTime() ?? 0 };
}

/** Inspects the bytes of a log (https://sqlite.org/fileformat2.html#the_write_ahead_log). */
function inspectLog(bytes: Uint8Array<ArrayBuffer>): LogDamage | undefined {
  const log = new WriteAheadLog(bytes);
  const intact = log.isHeaderIntact ? log.countIntact() : 0;
  // Frames of earlier rounds may follow; the database already contains them.
  const rest = log.frames.slice(intact).filter((frame) => log.isOfThisRound(frame));
  if (rest.length === 0) return undefined;
  const firstCommit = rest.findIndex((frame) => log.isCommit(frame));
  const isLastTransaction = firstCommit === -1 || firstCommit === rest.length - 1;
  return log.isHeaderIntact && isLastTransaction ? "torn" : "damaged";
}

class WriteAheadLog {
  /** Where each frame begins. */
  readonly frames: readonly number[];
  readonly isHeaderIntact: boolean;
  readonly #view: DataView;
  readonly #pageBytes: number;
  readonly #isLittleEndian: boolean;
  /** The checksum so far: each frame continues the checksum of the one before. */
  #sum: [number, number] = [0, 0];

  constructor({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>) {
    this.#view = new DataView(buffer, byteOffset, byteLength);
    const magic = this.#word(0);
    this.#isLittleEndian = (magic & 1) === 0;
    const pageBytes = this.#word(8);
    const isPageSize = pageBytes >= 512 && pageBytes <= 65_536 && (pageBytes & pageBytes - 1) === 0;
    this.#pageBytes = isPageSize ? pageBytes : DEFAULT_PAGE_BYTES;
    const frameBytes = FRAME_HEADER_BYTES + this.#pageBytes;
    const length = Math.floor((byteLength - HEADER_BYTES) / frameBytes);
    this.frames = Array.from({ length }, (_, index) => HEADER_BYTES + index * frameBytes);
    this.#add(0, HEADER_SUMMED_BYTES);
    this.isHeaderIntact = (magic & ~1) === MAGIC && isPageSize && this.#matches(24);
  }

  /** The number of intact frames before the first damaged one, or the end. */
  countIntact(): number {
    const damaged = this.frames.findIndex((frame) => {
      const isOfThisRound = this.#hasSalt(frame, 0) && this.#hasSalt(frame, 4);
      this.#add(frame, FRAME_SUMMED_BYTES);
      this.#add(frame + FRAME_HEADER_BYTES, this.#pageBytes);
      return !isOfThisRound || !this.#matches(frame + 16);
    });
    return damaged < 0 ? this.frames.length : damaged;
  }

  /**
   * Whether a frame belongs to the present round of the log. One matching salt is enough, since the
   * other may be damaged.
   */
  isOfThisRound(frame: number): boolean {
    return this.#hasSalt(frame, 0) || this.#hasSalt(frame, 4);
  }

  isCommit(frame: number): boolean {
    return this.#word(frame + 4) !== 0;
  }

  /** Whether a half of a frame's salt is that of the log. */
  #hasSalt(frame: number, half: 0 | 4): boolean {
    return this.#word(frame + 8 + half) === this.#word(16 + half);
  }

  #matches(at: number): boolean {
    const [first, second] = this.#sum;
    return this.#word(at) === first && this.#word(at + 4) === second;
  }

  #word(at: number): number {
    return this.#view.getUint32(at);
  }

  #add(from: number, length: number): void {
    let [first, second] = this.#sum;
    for (let at = from; at < from + length; at += 8) {
      first = first + this.#view.getUint32(at, this.#isLittleEndian) + second >>> 0;
      second = second + this.#view.getUint32(at + 4, this.#isLittleEndian) + first >>> 0;
    }
    this.#sum = [first, second];
  }
}
