/** Notifications on their way to clients. What clients send is in `calls/message.ts`. */
import { Buffer } from "node:buffer";
import { tryParseJson } from "../../../lib/json.ts";
import { memberSpan } from "../../../lib/json_text.ts";

/** First byte of a frame that is a whole text message (RFC 6455, section 5.2). */
const WHOLE_TEXT = 0x81;

/** A text message for clients, encoded once for all of them. */
export class OutgoingMessage {
  readonly text: string;
  #byteLength: number | undefined;
  #frame: Uint8Array | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Bytes of the text in UTF-8. */
  get byteLength(): number {
    return this.#byteLength ??= Buffer.byteLength(this.text);
  }

  /** The message as a server's WebSocket frame. */
  get frame(): Uint8Array {
    return this.#frame ??= textFrame(this.text, this.byteLength);
  }
}

/** Joins frames for one write, and caches the last result for clients with the same messages. */
export class FrameJoiner {
  #messages: readonly OutgoingMessage[] = [];
  #joined: Uint8Array = new Uint8Array();

  join(messages: readonly OutgoingMessage[]): Uint8Array {
    const [first] = messages;
    if (messages.length === 1 && first !== undefined) return first.frame;
    if (messages === this.#messages) return this.#joined;
    const same = messages.length === this.#messages.length &&
      messages.every((message, index) => message === this.#messages[index]);
    if (!same) {
      this.#messages = messages;
      this.#joined = Buffer.concat(messages.map(({ frame }) => frame));
    }
    return this.#joined;
  }
}

function textFrame(text: string, length: number): Uint8Array {
  const headerBytes = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(headerBytes + length);
  frame[0] = WHOLE_TEXT;
  if (headerBytes === 2) frame[1] = length;
  else if (headerBytes === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, headerBytes);
  return frame;
}

/** The parts of a node's frame that the hub uses: an answer has an id, a notification a method. */
export interface NodeFrame {
  id?: unknown;
  method?: unknown;
  params?: { subscription?: unknown; result?: unknown } | null;
}

/** Reads a frame. @returns Undefined if it is not a JSON object. */
export function tryParseNodeFrame(text: string): NodeFrame | undefined {
  const value = tryParseJson(text);
  return typeof value === "object" && value !== null ? value : undefined;
}

/**
 * Writes a notification under the ids of clients; everything else stays as the node wrote it. Where
 * the id is, is found once for all of them.
 */
export function withIds(text: string, upstreamId: string): (publicId?: string) => string {
  let aroundId: string[] | undefined;
  return (publicId = upstreamId) => {
    if (publicId === upstreamId) return text;
    aroundId ??= splitAtId(text);
    return aroundId.join(JSON.stringify(publicId));
  };
}

function splitAtId(text: string): string[] {
  const params = memberSpan(text, "params");
  const id = params && memberSpan(text.slice(params.start, params.end), "subscription");
  if (params === undefined || id === undefined) return [text];
  return [text.slice(0, params.start + id.start), text.slice(params.start + id.end)];
}
