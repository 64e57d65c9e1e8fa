/** Reads the text of a body within bounds, so that no caller keeps others waiting. */
import { monotonicClock } from "../clock.ts";
import { Turns } from "../timing/turns.ts";

/**
 * The most pieces of a body of unknown length: these, and one for each {@link PIECE_BYTES}. A piece
 * takes 50 µs, even one of a byte.
 */
const PIECES_MAX = 256;
const PIECE_BYTES = 512;

/** What a piece counts in {@link Turns}: nobody is served while one is there and may be read. */
export const PIECE_MS = 0.1;

/** One for all bodies that are read here: the services of one process share its time. */
const turns = new Turns(monotonicClock);

/**
 * Reads a body.
 *
 * @param remote The address of the connection, whose bodies take turns with those of others.
 * @returns Undefined if it is longer, or comes in too many pieces. The rest is not read.
 */
export async function readText(
  request: Request,
  remote: string,
  maxBytes: number,
): Promise<string | undefined> {
  const { headers, body } = request;
  // The server reads no further. It is not a number if the header is missing or repeated.
  const announced = headers.has("transfer-encoding")
    ? NaN
    : Number(headers.get("content-length") ?? NaN);
  if (announced > maxBytes) return undefined;
  // Not as a stream if its length is known: that is slower.
  if (announced <= maxBytes || body === null) return await request.text();
  const reader = body.getReader();
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
