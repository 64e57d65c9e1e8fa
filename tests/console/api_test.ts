import assert from "node:assert/strict";
import { consoleApi } from "../../services/console/api.ts";
import { configOf, options } from "../../services/console/mod.ts";
import { loadPage } from "../../services/console/page_files.ts";
import { withDefaults } from "../../lib/cli/options.ts";

const page = await loadPage();
const config = await configOf(withDefaults(options, { proxyUrl: "https://rpc.example/v1" }));
const app = consoleApi({ page, config: () => config });

Deno.test("Console: the page may load its own files and call the configured services, nothing else", async () => {
  const response = await app.request("/");
  const policy = response.headers.get("content-security-policy") ?? "";
  assert(!/unsafe|\*|data:|blob:/.test(policy), policy);
  assert.match(policy, /default-src 'none'/);
  const [, allowed = ""] = /connect-src ([^;]*)/.exec(policy) ?? [];
  assert.deepEqual(allowed.split(" ").toSorted(), [
    "'self'",
    "http://127.0.0.1:3000",
    "http://127.0.0.1:3001",
    "https://rpc.example",
    "wss://rpc.example",
  ]);
  assert.equal(response.headers.get("x-content-type-options"), "nosniff");
  const html = await response.text();
  assert(!/<script(?![^>]* src=)|style=|\son\w+=/.test(html), "nothing inline");
});

Deno.test("Console: files are compressed, and not sent again while they are the same", async () => {
  const packed = await app.request("/main.js", { headers: { "accept-encoding": "gzip, br" } });
  assert.equal(packed.headers.get("content-encoding"), "gzip");
  const bytes = (await packed.arrayBuffer()).byteLength;
  const plain = await (await app.request("/main.js")).arrayBuffer();
  assert(bytes < plain.byteLength / 2 && bytes < 300_000, `${bytes} bytes`);
  const etag = packed.headers.get("etag") ?? "";
  const again = await app.request("/main.js", { headers: { "if-none-match": etag } });
  assert.equal(again.status, 304);
  assert.equal((await again.arrayBuffer()).byteLength, 0);
});

Deno.test("Console: the page is given where the services are; 503 while nobody knows", async () => {
  assert.deepEqual(await (await app.request("/config.json")).json(), config);
  const early = consoleApi({ page, config: () => undefined });
  assert.equal((await early.request("/config.json")).status, 503);
  assert.equal((await early.request("/")).status, 200);
});

Deno.test("Console: the proxy's WebSocket is beside its URL unless it is elsewhere", async () => {
  assert.equal(config.urls.proxyWs, "wss://rpc.example/v1/ws");
  const other = withDefaults(options, { proxyWsUrl: "wss://ws.example" });
  assert.equal((await configOf(other)).urls.proxyWs, "wss://ws.example");
});
