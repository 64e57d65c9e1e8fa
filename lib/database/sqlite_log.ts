/** Looks for damage in a SQLite write-ahead log, which SQLite itself would drop silently. */
import { readStat } from "../files.ts";

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
export function findLogDamage(database: string): LogDamage | undefined {
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
  const file = readStat(path);
  if (file === undefined || file.size <= HEADER_BYTES) return undefined;
  const damage = inspectLog(Deno.readFileSync(path));
  return damage && { damage, mtimeMs: file.mtime?.getTime() ?? 0 };
}

/** Inspects the bytes of a log (https://sqlite.org/fileformat2.html#the_write_ahead_log). */
function inspectLog({ buffer, byteOffset, byteLength }: Uint8Array): LogDamage | undefined {
  const view = new DataView(buffer, byteOffset, byteLength);
  const wordAt = (at: number) => view.getUint32(at);
  const magic = wordAt(0);
  const isLittleEndian = (magic & 1) === 0;
  /** The checksum so far: each frame continues the checksum of the one before. */
  let [first, second] = [0, 0];
  const add = (from: number, length: number) => {
    for (let at = from; at < from + length; at += 8) {
      first = first + view.getUint32(at, isLittleEndian) + second >>> 0;
      second = second + view.getUint32(at + 4, isLittleEndian) + first >>> 0;
    }
  };
  const matches = (at: number) => wordAt(at) === first && wordAt(at + 4) === second;
  const stated = wordAt(8);
  const isPageSize = stated >= 512 && stated <= 65_536 && (stated & stated - 1) === 0;
  const pageBytes = isPageSize ? stated : DEFAULT_PAGE_BYTES;
  add(0, HEADER_SUMMED_BYTES);
  const isHeaderIntact = (magic & ~1) === MAGIC && isPageSize && matches(24);
  let isIntact = isHeaderIntact;
  /** Whether each frame that SQLite would drop ends a transaction. */
  const dropped: boolean[] = [];
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  for (let at = HEADER_BYTES; at + frameBytes <= byteLength; at += frameBytes) {
    const salts = [8, 12].filter((salt) => wordAt(at + salt) === wordAt(salt + 8)).length;
    if (isIntact) {
      add(at, FRAME_SUMMED_BYTES);
      add(at + FRAME_HEADER_BYTES, pageBytes);
      isIntact = salts === 2 && matches(at + 16);
    }
    // Frames of earlier rounds, with other salts, may follow; the database already contains them.
    // One matching salt is enough, since the other may be damaged; a damaged header says none.
    if (!isIntact && (salts > 0 || !isHeaderIntact)) dropped.push(wordAt(at + 4) !== 0);
  }
  if (dropped.length === 0) return undefined;
  const isLastTransaction = !dropped.slice(0, -1).includes(true);
  return isHeaderIntact && isLastTransaction ? "torn" : "damaged";
}
