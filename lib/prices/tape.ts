/** Recordings of trades as CSV, for replays and backtests. */
import { messageOf, RangemakerError } from "../errors.ts";
import { parsePrice } from "../protocol/price.ts";

/** A tape cannot be read or is invalid. */
export class TapeError extends RangemakerError {
  constructor(message: string, cause?: unknown) {
    super("TAPE", message, { cause });
  }
}

/** The first line of every tape. */
export const TAPE_HEADER = "time_ms,trade_id,side,price,amount";

/** The longest tape: about two million trades. */
const TAPE_BYTES_MAX = 128 * 1024 * 1024;

export interface TapeRow {
  /** Unix milliseconds. */
  timeMs: number;
  /** The taker: buyer or seller. */
  side: "buy" | "sell";
  /** Integer with 6 decimals. */
  price: bigint;
  /** Decimal text in the base token. */
  amount: string;
}

/**
 * Reads a tape from a file.
 *
 * @throws {TapeError} If the file cannot be read, or a line is invalid; the message names the line.
 */
export async function readTape(path: string): Promise<TapeRow[]> {
  let text: string;
  try {
    const { size } = await Deno.stat(path);
    if (size > TAPE_BYTES_MAX) {
      throw new TapeError(`Expected at most ${TAPE_BYTES_MAX} bytes: received ${size}`);
    }
    text = await Deno.readTextFile(path);
  } catch (cause) {
    throw new TapeError(`Tape ${path} cannot be read: ${messageOf(cause)}`, cause);
  }
  try {
    return parseTape(text);
  } catch (cause) {
    throw new TapeError(`Tape ${path} cannot be used: ${messageOf(cause)}`, cause);
  }
}

/**
 * Parses a tape: the header, then trades in order of time.
 *
 * @throws {TapeError} On the first invalid line.
 */
export function parseTape(text: string): TapeRow[] {
  const [header, ...lines] = text.trimEnd().split(/\r?\n/);
  if (header !== TAPE_HEADER) {
    throw new TapeError(`Expected ${TAPE_HEADER} in line 1: received ${JSON.stringify(header)}`);
  }
  const rows: TapeRow[] = [];
  for (const [index, line] of lines.entries()) {
    const row = tryParseRow(line);
    const before = rows.at(-1);
    const fail = (rule: string): never => {
      const received = JSON.stringify(line.slice(0, 100));
      throw new TapeError(`Expected ${rule} in line ${index + 2}: received ${received}`);
    };
    if (row === undefined) return fail("time_ms, trade_id, buy or sell, price, amount");
    if (before && row.timeMs < before.timeMs) fail("a time that is not before the one above");
    rows.push(row);
  }
  if (rows.length < 2 || spanMs(rows) === 0) {
    throw new TapeError(`Expected two trades at different times: received ${rows.length}`);
  }
  return rows;
}

const ROW_PATTERN = /^(\d{1,15}),\d{1,20},(buy|sell),([^,]+),(\d{1,30}(?:\.\d{1,30})?)$/;

function tryParseRow(line: string): TapeRow | undefined {
  const [, time, side, digits = "", amount = ""] = ROW_PATTERN.exec(line) ?? [];
  const price = parsePrice(digits);
  if (price === undefined) return undefined;
  return { timeMs: Number(time), side: side === "buy" ? "buy" : "sell", price, amount };
}

/** Time between the first and the last trade, in milliseconds. */
export function spanMs(rows: readonly TapeRow[]): number {
  return (rows.at(-1)?.timeMs ?? 0) - (rows[0]?.timeMs ?? 0);
}
