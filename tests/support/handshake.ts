/** The header without which a handshake is refused. */
export const WEBSOCKET_KEY = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==";

/** The request for a WebSocket, with further headers. */
export function handshakeText(url: string, ...headers: string[]): string {
  const { host, pathname } = new URL(url);
  return [
    ...[`GET ${pathname} HTTP/1.1`, `Host: ${host}`, "Upgrade: websocket", "Connection: Upgrade"],
    ...["Sec-WebSocket-Version: 13", ...headers],
  ].map((line) => `${line}\r\n`).join("") + "\r\n";
}

/** Sends a WebSocket handshake by hand, and returns the connection with the head of the answer. */
export async function handshake(
  url: string,
  ...headers: string[]
): Promise<[Deno.TcpConn, string]> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(handshakeText(url, ...headers)));
  const answer = new Uint8Array(1_024);
  const read = await connection.read(answer);
  return [connection, new TextDecoder().decode(answer.subarray(0, read ?? 0))];
}
