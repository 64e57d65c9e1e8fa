import { Buffer } from "node:buffer";

/** First byte of a frame that is a whole text message (RFC 6455, section 5.2). */
const WHOLE_TEXT = 0x81;

/** Second byte of a frame whose payload is masked, as every client's is. */
const MASKED = 0x80;

const SHORT_MAX = 125;
const MEDIUM_MAX = 65_535;
const HEADER_BYTES_MAX = 14;

/** Random bytes for masks are drawn in advance: one call for each frame would take longer than it. */
const MASK_POOL_BYTES = 4_096;

/** Encodes the text messages of a WebSocket client, many of them into one buffer. */
export class ClientFrames {
  readonly #masks = new Uint8Array(MASK_POOL_BYTES);
  #masksUsed = MASK_POOL_BYTES;

  /** The frames of the messages, one after the other. */
  encode(texts: readonly string[]): Uint8Array {
    let charCount = 0;
    for (const text of texts) charCount += text.length;
    const frames = Buffer.allocUnsafe(HEADER_BYTES_MAX * texts.length + charCount);
    const parts: Buffer[] = [];
    let [start, end] = [0, 0];
    for (const text of texts) {
      const next = this.#writeAscii(frames, end, text);
      if (next === undefined) {
        parts.push(frames.subarray(start, end), this.#wide(text));
        start = end;
      } else end = next;
    }
    const last = frames.subarray(start, end);
    return parts.length === 0 ? last : Buffer.concat([...parts, last]);
  }

  /** Writes a frame with a text of ASCII alone. @returns The position behind it; undefined for others. */
  #writeAscii(frames: Buffer, start: number, text: string): number | undefined {
    const { length } = text;
    const [masks, mask] = this.#nextMask();
    const at = writeHeader(frames, start, length, masks, mask);
    // In one pass: a call to the runtime for each text would take longer than this loop.
    for (let index = 0; index < length; index += 1) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) return undefined;
      frames[at + index] = code ^ (masks[mask + (index & 3)] ?? 0);
    }
    return at + length;
  }

  #wide(text: string): Buffer {
    const payload = Buffer.from(text);
    const frame = Buffer.allocUnsafe(HEADER_BYTES_MAX + payload.length);
    const [masks, mask] = this.#nextMask();
    const at = writeHeader(frame, 0, payload.length, masks, mask);
    for (const [index, byte] of payload.entries()) {
      frame[at + index] = byte ^ (masks[mask + (index & 3)] ?? 0);
    }
    return frame.subarray(0, at + payload.length);
  }

  /** Four random bytes, by their position. */
  #nextMask(): [masks: Uint8Array, at: number] {
    if (this.#masksUsed === MASK_POOL_BYTES) {
      crypto.getRandomValues(this.#masks);
      this.#masksUsed = 0;
    }
    const at = this.#masksUsed;
    this.#masksUsed += 4;
    return [this.#masks, at];
  }
}

/** @returns The position behind the header, where the payload begins. */
function writeHeader(
  frame: Buffer,
  start: number,
  length: number,
  masks: Uint8Array,
  mask: number,
): number {
  let at = start;
  frame[at++] = WHOLE_TEXT;
  if (length <= SHORT_MAX) frame[at++] = MASKED | length;
  else if (length <= MEDIUM_MAX) {
    frame[at++] = MASKED | 126;
    at = frame.writeUInt16BE(length, at);
  } else {
    frame[at++] = MASKED | 127;
    at = frame.writeBigUInt64BE(BigInt(length), at);
  }
  for (let index = 0; index < 4; index += 1) frame[at++] = masks[mask + index] ?? 0;
  return at;
}
