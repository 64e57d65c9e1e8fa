import { handshake, WEBSOCKET_KEY } from "../support/handshake.ts";

/** A WebSocket client on a bare connection: it sends, and reads only on request. */
export interface DeafClient {
  send(message: unknown): Promise<void>;
  /** Reads until `last` has come. @returns All that came, without any letter x. */
  readUntil(last: string): Promise<string>;
  close(): void;
}

/** Connects, and stops reading after the handshake. `header` is a line of the handshake. */
export async function deafClient(wsUrl: string, header = "x-test: 1"): Promise<DeafClient> {
  const [connection] = await handshake(wsUrl, WEBSOCKET_KEY, header);
  return {
    async send(message) {
      await connection.write(maskedFrame(JSON.stringify(message)));
    },
    async readUntil(last) {
      const buffer = new Uint8Array(65_536);
      let text = "";
      while (!text.includes(last)) {
        const length = await connection.read(buffer);
        if (length === null) throw new Error(`The connection ended before ${last} came`);
        text += new TextDecoder("latin1").decode(buffer.subarray(0, length)).replaceAll("x", "");
      }
      return text;
    },
    close: () => connection.close(),
  };
}

/** A text frame of a client, masked with zeros; at most 125 bytes of ASCII. */
function maskedFrame(text: string): Uint8Array<ArrayBuffer> {
  const payload = new TextEncoder().encode(text);
  if (payload.length > 125) throw new RangeError(`Text is too long: ${payload.length} bytes`);
  return new Uint8Array([0x81, 0x80 | payload.length, 0, 0, 0, 0, ...payload]);
}
