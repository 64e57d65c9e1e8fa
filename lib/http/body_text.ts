/** Reads the text of a body within bounds, so that no caller keeps others waiting. */
import { monotonicClock } from "../clock.ts";
import { RangemakerError } from "../errors.ts";
import { describeValue } from "../protocol/describe_input.ts";
import { Turns } from "../timing/turns.ts";

/**
 * The most pieces of a body of unknown length: these, and one for each {@link PIECE_BYTES}. A piece
 * takes 50 µs, even one of a byte.
 */
const PIECES_MAX = 256;
const PIECE_BYTES = 512;

/** What a piece counts in {@link Turns}: nobody is served while one is there and may be read. */
export const PIECE_MS = 0.1;

/** Of all bodies that are read here, since the services of one process share its time. */
const turns = new Turns(monotonicClock);

/**
 * Reads a body.
 *
 * @param remote The address of the connection, whose bodies take turns with those of others.
 * @returns Undefined if it is longer, or comes in too many pieces. The rest is not read.
 * @throws {RangemakerError} `INVALID_REQUEST` if its length is not a number.
 */
export async function readText(
  request: Request,
  remote: string,
  maxBytes: number,
): Promise<string | undefined> {
  const announced = announcedBytes(request.headers);
  if (announced !== undefined && announced > maxBytes) return undefined;
  // Not as a stream if its length is known: that is slower.
  if (announced !== undefined || request.body === null) return await request.text();
  const reader = request.body.getReader();
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for (let pieces = 1; pieces <= PIECES_MAX + bytes / PIECE_BYTES; pieces += 1) {
    const { value, done } = await turns.run([remote], () => reader.read(), PIECE_MS);
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > maxBytes) break;
    text += decoder.decode(value, { stream: true });
  }
  reader.cancel().catch(() => {}); // the connection may be closed already
  return undefined;
}

/**
 * The length of a body by its headers; the server reads no further.
 *
 * @throws {RangemakerError} `INVALID_REQUEST` if it is not a number: a repeated header is a list.
 */
function announcedBytes(headers: Headers): number | undefined {
  const length = headers.get("content-length");
  if (length === null || headers.has("transfer-encoding")) return undefined;
  if (/^\d+$/.test(length)) return Number(length);
  throw new RangemakerError(
    "INVALID_REQUEST",
    `Expected one number as Content-Length: received ${describeValue(length)}`,
  );
}
