import { isUtf8 } from "node:buffer";

/** The largest answer that is held in memory on its way: what WebSockets take, too. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** What a node answered, byte for byte; as text where that says the same. */
export interface NodeReply {
  status: number;
  body: Uint8Array<ArrayBuffer> | string;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The bytes of an answer; as text where they are UTF-8, which the runtime sends on for less. */
export function bodyOf(bytes: Uint8Array<ArrayBuffer>): NodeReply["body"] {
  return isUtf8(bytes) ? decoder.decode(bytes) : bytes;
}

/** The body of an answer as text. */
export function bodyText(body: NodeReply["body"]): string {
  return typeof body === "string" ? body : decoder.decode(body);
}
