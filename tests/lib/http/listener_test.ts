import assert from "node:assert/strict";
import { withinMs } from "../../../lib/clock.ts";
import { listen } from "../../../lib/http/listener.ts";
import { upgradeWebSocket } from "../../../lib/http/web_socket.ts";

Deno.test("Listener: a client that gives up while its handshake waits for a turn leaves no connection", async () => {
  await using listener = listen("127.0.0.1", 0, (request) => {
    if (request.method === "GET") {
      const upgrade = upgradeWebSocket(request);
      if (typeof upgrade === "string") return new Response(upgrade, { status: 400 });
      return upgrade.response;
    }
    const endMs = performance.now() + 20; // more than a turn
    while (performance.now() < endMs);
    return new Response();
  });
  const { hostname, port } = new URL(listener.url);
  const busy = Array.from(
    { length: 10 },
    () => fetch(listener.url, { method: "POST" }).then(({ body }) => body?.cancel()),
  );
  await busy[0]; // the others wait
  const lines = [
    "GET / HTTP/1.1",
    "host: localhost",
    "connection: upgrade",
    "upgrade: websocket",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version: 13",
  ];
  using client = await Deno.connect({ hostname, port: Number(port) });
  await client.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  await client.closeWrite();
  await Promise.all(busy);
  const ended = new Response(client.readable).arrayBuffer().then(() => true);
  assert.equal(await withinMs(ended, 5_000, false), true);
});
