/** The largest answer that is held in memory on its way: what WebSockets take, too. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** What a node answered, byte for byte; as text where it came in a text frame. */
export interface NodeReply {
  status: number;
  body: Uint8Array<ArrayBuffer> | string;
}

const decoder = new TextDecoder();

/** The body of an answer as text. */
export function bodyText(body: NodeReply["body"]): string {
  return typeof body === "string" ? body : decoder.decode(body);
}
