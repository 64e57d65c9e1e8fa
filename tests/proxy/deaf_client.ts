/** A WebSocket client on a bare connection: it sends, and reads only when told to. */
export interface DeafClient {
  send(message: unknown): Promise<void>;
  /** Reads until the connection ends or `bytes` have come. @returns How many came. */
  read(bytes: number): Promise<number>;
  close(): void;
}

/** Connects, and stops reading after the handshake. */
export async function deafClient(wsUrl: string): Promise<DeafClient> {
  const { hostname, port, pathname } = new URL(wsUrl);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(
    `GET ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
      "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  ));
  const answer = new Uint8Array(1_024);
  await connection.read(answer);
  return {
    async send(message) {
      await connection.write(maskedFrame(JSON.stringify(message)));
    },
    async read(bytes) {
      const buffer = new Uint8Array(65_536);
      let total = 0;
      while (total < bytes) {
        const length = await connection.read(buffer);
        if (length === null) break;
        total += length;
      }
      return total;
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
