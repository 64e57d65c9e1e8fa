import { messageOf, RangemakerError } from "../../lib/errors.ts";
import { parsePrice } from "../../lib/protocol/price.ts";
import { PROVIDER_NAMES } from "../../lib/protocol/providers.ts";
import type { Trade, TradeSource } from "./trade.ts";

/** A recording that cannot be read or played. */
export class TapeError extends RangemakerError {
  constructor(message: string, cause?: unknown) {
    super("TAPE", message, { cause });
  }
}

/** The first line of every tape. */
export const TAPE_HEADER = "time_ms,trade_id,side,price,amount";

/** The longest tape that is read: some two million trades. */
const TAPE_BYTES_MAX = 128 * 1024 * 1024;

/** One recorded trade. */
export type TapeRow = Omit<Trade, "provider" | "market">;

/**
 * Reads a tape from a file.
 *
 * @throws {TapeError} If the file cannot be read or is no tape, naming the line.
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
    throw new TapeError(`Tape ${path} cannot be played: ${messageOf(cause)}`, cause);
  }
}

/**
 * Reads the text of a tape: the header, then trades in order of time.
 *
 * @throws {TapeError} On the first line that breaks a rule.
 */
export function parseTape(text: string): TapeRow[] {
  const [header, ...lines] = text.trimEnd().split(/\r?\n/);
  if (header !== TAPE_HEADER) {
    throw new TapeError(`Expected ${TAPE_HEADER} in line 1: received ${JSON.stringify(header)}`);
  }
  const rows: TapeRow[] = [];
  for (const [index, line] of lines.entries()) {
    const row = parseRow(line);
    const before = rows.at(-1);
    const rule = row === undefined
      ? "time_ms, trade_id, buy or sell, price, amount"
      : before !== undefined && row.timeMs < before.timeMs
      ? "a time that is not before the one above"
      : undefined;
    if (row === undefined || rule !== undefined) {
      throw new TapeError(
        `Expected ${rule} in line ${index + 2}: received ${JSON.stringify(line.slice(0, 100))}`,
      );
    }
    rows.push(row);
  }
  if (rows.length < 2 || spanMs(rows) === 0) {
    throw new TapeError(`Expected two trades at different times: received ${rows.length}`);
  }
  return rows;
}

const ROW_PATTERN = /^(\d{1,15}),\d{1,20},(buy|sell),([^,]+),(\d{1,30}(?:\.\d{1,30})?)$/;

function parseRow(line: string): TapeRow | undefined {
  const [, time, side, digits = "", amount = ""] = ROW_PATTERN.exec(line) ?? [];
  const price = parsePrice(digits);
  if (price === undefined) return undefined;
  return { timeMs: Number(time), side: side === "buy" ? "buy" : "sell", price, amount };
}

function spanMs(rows: readonly TapeRow[]): number {
  return (rows.at(-1)?.timeMs ?? 0) - (rows[0]?.timeMs ?? 0);
}

/**
 * A recording as a source of trades: played from `startMs` on at the pace it was recorded, again and
 * again. Every venue sees every trade.
 */
export class Tape implements TradeSource {
  readonly #rows: readonly TapeRow[];
  readonly #market: string;
  readonly #loopMs: number;
  #shiftMs: number;
  #position = 0;

  /** @param rows What {@link parseTape} gave. */
  constructor(rows: readonly TapeRow[], market: string, startMs: number) {
    this.#rows = rows;
    this.#market = market;
    // Between the last trade and the first again lies what lies between two trades on average.
    this.#loopMs = spanMs(rows) + Math.max(1, Math.round(spanMs(rows) / (rows.length - 1)));
    this.#shiftMs = startMs - (rows[0]?.timeMs ?? 0);
  }

  next(): Trade {
    const venues = PROVIDER_NAMES.length;
    const row = this.#rows[Math.floor(this.#position / venues)];
    const provider = PROVIDER_NAMES[this.#position % venues];
    if (row === undefined || provider === undefined) {
      this.#position = 0;
      this.#shiftMs += this.#loopMs;
      return this.next();
    }
    this.#position += 1;
    return { ...row, provider, market: this.#market, timeMs: row.timeMs + this.#shiftMs };
  }
}
