/** The header without which a handshake is refused. */
export const WEBSOCKET_KEY = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==";

/** Asks for a WebSocket by hand, and gives the connection with the head of the answer. */
export async function handshake(
  url: string,
  ...headers: string[]
): Promise<[Deno.TcpConn, string]> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const lines = [
    "GET / HTTP/1.1",
    `Host: ${hostname}:${port}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    ...headers,
  ];
  await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  const answer = new Uint8Array(1_024);
  const read = await connection.read(answer);
  return [connection, new TextDecoder().decode(answer.subarray(0, read ?? 0))];
}
