import { messageOf } from "../../../lib/errors.ts";
import type { Candle } from "../pricing/candle.ts";
import type { CandleSource } from "./candle_bridge.ts";
import { BacktestError } from "./slots.ts";

/** The first line of every file of candles. */
const CANDLE_HEADER = "time_ms,open,high,low,close";

/** Bytes read from the end of the file to find its last line. */
const TAIL_BYTES = 4_096;

const PRICE_UNITS = 1e6;

const ROW_PATTERN = /^\d{1,15}(,\d{1,9}(\.\d{1,12})?){4}$/;

/**
 * Candles of a CSV file, all of the same length. The file is read in chunks, so its size does not
 * matter.
 *
 * @throws {BacktestError} If the file cannot be read or used, naming the line.
 */
export async function openCandles(path: string): Promise<CandleSource> {
  const [first, second] = await readRows(path, 2);
  if (first === undefined || second === undefined) {
    throw new BacktestError(`Candles ${path} cannot be used: expected at least two`);
  }
  const durationMs = second.row.timeMs - first.row.timeMs;
  if (durationMs <= 0) {
    throw lineError(path, second.line, "a later time than that above, oldest candle first,");
  }
  const lastMs = await lastTime(path);
  return {
    durationMs,
    fromMs: first.row.timeMs,
    toMs: lastMs + durationMs,
    candles: () => readCandles(path, durationMs),
  };
}

type Row = Omit<Candle, "durationMs">;

/** A row and the number of its line. */
interface NumberedRow {
  row: Row;
  line: number;
}

async function* readCandles(path: string, durationMs: number): AsyncIterable<Candle[]> {
  let beforeMs = -Infinity;
  for await (const rows of readChunks(path)) {
    yield rows.map(({ row, line }) => {
      if (row.timeMs < beforeMs + durationMs) {
        throw lineError(path, line, `a time at least ${durationMs} ms after the one above`);
      }
      beforeMs = row.timeMs;
      return { ...row, durationMs };
    });
  }
}

async function readRows(path: string, count: number): Promise<NumberedRow[]> {
  const found: NumberedRow[] = [];
  for await (const rows of readChunks(path)) {
    found.push(...rows.slice(0, count - found.length));
    if (found.length === count) break;
  }
  return found;
}

/** One list per chunk of the file. Blank lines are skipped. */
async function* readChunks(path: string): AsyncIterable<NumberedRow[]> {
  const file = await open(path);
  let rest = "";
  let line = 0;
  for await (const chunk of file.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    const rows: NumberedRow[] = [];
    for (const text of lines) {
      line += 1;
      if (line === 1) requireHeader(path, text);
      else if (text.trim() !== "") rows.push({ row: parseRow(path, line, text), line });
    }
    if (rows.length > 0) yield rows;
  }
  if (rest.trim() !== "") yield [{ row: parseRow(path, line + 1, rest), line: line + 1 }];
}

function requireHeader(path: string, text: string): void {
  if (text.trimEnd() !== CANDLE_HEADER) throw lineError(path, 1, CANDLE_HEADER);
}

function parseRow(path: string, line: number, text: string): Row {
  const row = text.trimEnd();
  if (!ROW_PATTERN.test(row)) throw lineError(path, line, `numbers as in ${CANDLE_HEADER}`);
  const [timeMs = 0, ...prices] = row.split(",").map(Number);
  const [open = 0, high = 0, low = 0, close = 0] = prices.map((price) =>
    Math.round(price * PRICE_UNITS)
  );
  if (low <= 0 || high < Math.max(open, close, low) || low > Math.min(open, close)) {
    throw lineError(path, line, "prices above 0, none above the high or below the low");
  }
  return { timeMs, open, high, low, close };
}

function lineError(path: string, line: number, rule: string): BacktestError {
  return new BacktestError(`Candles ${path} cannot be used: expected ${rule} in line ${line}`);
}

async function open(path: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(path);
  } catch (thrown) {
    throw new BacktestError(`Candles ${path} cannot be read: ${messageOf(thrown)}`);
  }
}

async function lastTime(path: string): Promise<number> {
  using file = await open(path);
  const { size } = await file.stat();
  await file.seek(Math.max(0, size - TAIL_BYTES), Deno.SeekMode.Start);
  const bytes = new Uint8Array(TAIL_BYTES);
  const count = await file.read(bytes) ?? 0;
  const lines = new TextDecoder().decode(bytes.subarray(0, count)).trimEnd().split("\n");
  return Number(lines.at(-1)?.split(",")[0]);
}
