const decoder = new TextDecoder();

/** The body of a message as text, or undefined where it is over `maxBytes`. */
export function textWithin(
  message: Request | Response,
  maxBytes: number,
): Promise<string | undefined> {
  if (declaredBytes(message) <= maxBytes) return message.text();
  return bytesWithin(message, maxBytes).then((bytes) => bytes && decoder.decode(bytes));
}

/** The body of a message, or undefined where it is over `maxBytes`; the rest is not read then. */
export async function bytesWithin(
  message: Request | Response,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (declaredBytes(message) <= maxBytes) return await message.bytes();
  // A body sent in chunks tells its size by its end only.
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of message.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return await new Blob(chunks).bytes();
}

/** The length that the headers declare, which the transport holds a sender to; Infinity where none. */
function declaredBytes(message: Request | Response): number {
  const length = message.headers.get("content-length");
  return length === null ? Infinity : Number(length);
}
