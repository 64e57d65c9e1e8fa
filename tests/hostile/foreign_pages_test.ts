/** What a web page that an operator or user has open can do to services on the same machine. */
import assert from "node:assert/strict";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { startStack } from "../../services/stack/stack.ts";
import { startTestProxy } from "../proxy/support.ts";
import { sendRaw } from "../support/http_answers.ts";
import { WEBSOCKET_KEY } from "../support/rpc_socket.ts";

Deno.test("Hostile: every service on loopback refuses the host name of a page's own server", async () => {
  await using stack = await startStack({ ports: { ...FREE_PORTS, console: 0 }, seed: 1 });
  const nodes = { writeNodeUrl: stack.urls.node, readNodeUrl: stack.urls.nodeRead };
  await using proxy = await startTestProxy({ wsPort: 0, metricsPort: 0, ...nodes });
  const { proxyWs: _path, ...urls } = stack.urls;
  const { metricsUrl, wsPortUrl } = proxy;
  const services = { ...urls, metricsUrl, secondProxy: proxy.url };
  const ask = (url: string, path: string, ...lines: string[]) =>
    sendRaw(url, [`GET ${path} HTTP/1.1`, ...lines, "Connection: close"]);
  const paths = ["/", "/health", "/metrics", "/theses", "/config.json", "/ws", "/nowhere"];
  for (const [service, url = ""] of Object.entries(services)) {
    for (const path of paths) {
      const name = await ask(url, path, "Host: evil.example");
      assert.equal(name.status, 403, `${service} ${path}: ${name.text}`);
      assert.match(name.text, /"code":"HOST_NOT_ALLOWED"/);
      const nameless = await ask(url, path);
      assert.equal(nameless.status, 400, `${service} ${path}: ${nameless.text}`);
    }
    const own = await ask(url, "/metrics", "Host: localhost:1");
    assert.equal(own.status, 200, `${service}: ${own.text}`);
  }
  const handshake = ["Upgrade: websocket", "Connection: Upgrade, close", WEBSOCKET_KEY];
  for (const url of [wsPortUrl ?? "", proxy.url, stack.urls.node, stack.urls.exchanges ?? ""]) {
    const lines = ["GET /ws HTTP/1.1", "Host: evil.example", "Sec-WebSocket-Version: 13"];
    const answer = await sendRaw(url, [...lines, ...handshake]);
    assert.equal(answer.status, 403, `${url}: ${answer.text}`);
  }
});
