import assert from "node:assert/strict";
import { withDefaults } from "../../lib/cli/options.ts";
import { createConsoleApi } from "../../services/console/api.ts";
import { options, readConfig } from "../../services/console/mod.ts";
import type { PageConfig } from "../../services/console/page_config.ts";
import { loadPage } from "../../services/console/page_files.ts";
import deploying from "../../docs/deploying.md" with { type: "text" };
import operating from "../../docs/operating.md" with { type: "text" };
import runbooks from "../../docs/runbooks.md" with { type: "text" };
import { eventually, isSettled } from "../support/eventually.ts";
import { logOf } from "../support/recorded_logs.ts";

const page = await loadPage();
const config = await readConfig(withDefaults(options, { proxyUrl: "https://rpc.example/v1" }));
const app = createConsoleApi({ page, config });

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

Deno.test("Console: of a service at an IPv6 address, which no policy can name, the page may call the port", async () => {
  const urls = { ...config.urls, solver: "http://[fd00::1]:3000", proxyWs: "ws://[::1]:8546/ws" };
  const response = await createConsoleApi({ page, config: { ...config, urls } })
    .request("/");
  const policy = response.headers.get("content-security-policy") ?? "";
  assert.match(policy, / http:\/\/\*:3000 .*ws:\/\/\*:8546;/);
  assert(!policy.includes("["), policy);
});

/** The path of the page's script, which contains a hash of its content. */
const script = [...page.keys()].find((path) => /^\/main-\w{8}\.js$/.test(path)) ?? "";

Deno.test("Console: files are compressed, and answered with 304 if unchanged", async () => {
  const read = async (encodings: string) => {
    const answer = await app.request(script, { headers: { "accept-encoding": encodings } });
    const { byteLength } = await answer.arrayBuffer();
    return { byteLength, encoding: answer.headers.get("content-encoding"), answer };
  };
  const plain = await read("identity");
  const gzip = await read("gzip");
  assert.deepEqual([plain.encoding, gzip.encoding], [null, "gzip"]);
  assert.equal((await read("gzip, br")).encoding, "gzip", "until it is packed better");
  const brotli = await eventually("Brotli", async () => {
    const found = await read("gzip, br");
    return found.encoding === "br" ? found : undefined;
  });
  const refused = await read("br;q=0, gzip;q=0.5, *;q=0");
  assert.equal(refused.encoding, "gzip", "what the client refuses is not sent");
  assert(brotli.byteLength < gzip.byteLength && gzip.byteLength < plain.byteLength / 2);
  assert.equal(gzip.answer.headers.get("vary"), "accept-encoding", "caches keep one of each");
  const etag = gzip.answer.headers.get("etag") ?? "";
  const again = await app.request(script, { headers: { "if-none-match": etag } });
  assert.equal(again.status, 304);
  assert.equal((await again.arrayBuffer()).byteLength, 0);
});

Deno.test("Console: a file that cannot be packed best is served with gzip, which the log says, and the others are packed", async () => {
  const path = [...page.keys()].find((path) => /^\/(?!main)\w+-\w{8}\.js$/.test(path)) ?? "";
  const read = () => app.request(path, { headers: { "accept-encoding": "gzip, br" } });
  const fail = () => assert.fail("Out of memory");
  Object.assign(page.get(path)?.plain ?? [], { subarray: fail });
  const lines = await logOf(async () => {
    await (await read()).body?.cancel();
    await eventually("Brotli", () => page.get("/icon.svg")?.findBrotli());
  });
  assert.deepEqual(lines, [`${path.slice(1)} is served with gzip, not Brotli: Out of memory`]);
  const answer = await read();
  assert.equal(answer.headers.get("content-encoding"), "gzip");
  await answer.body?.cancel();
});

Deno.test("Console: a first load is at most 98 kB; files with a hash in their name are cached forever", async () => {
  const html = await (await app.request("/")).text();
  assert(html.includes(`src="${script}"`));
  // The document, its files, and their imports before anything is shown.
  const needed = new Set([
    "/index.html",
    "/no_eval.js",
    "/icon.svg",
    ...html.match(/(?<=")\/main-[^"]+/g) ?? [],
  ]);
  for (const path of needed) {
    const text = new TextDecoder().decode(page.get(path)?.plain);
    const imports = text.matchAll(/(?:from|import)"\.(\/[^"]+\.js)"/g);
    for (const [, found = ""] of imports) needed.add(found);
  }
  let bytes = 0;
  for (const path of needed) {
    const packed = await eventually(path, () => page.get(path)?.findBrotli());
    bytes += packed.byteLength;
    const answer = await app.request(path);
    await answer.body?.cancel();
    const isImmutable = /immutable/.test(answer.headers.get("cache-control") ?? "");
    assert.equal(isImmutable, !/index|icon|no_eval/.test(path), path);
  }
  assert(bytes > 50_000 && bytes <= 98_000, `${bytes} bytes`);
  assert([...page.keys()].length > needed.size, "views on demand");
});

Deno.test("Console: /config.json has the URLs of the services; it and the page wait until they are known", async () => {
  const known = Promise.withResolvers<PageConfig>();
  const early = createConsoleApi({ page, config: known.promise });
  const answers = ["/config.json", "/"].map((path) => Promise.resolve(early.request(path)));
  for (const answer of answers) assert.equal(await isSettled(answer), false);
  known.resolve(config);
  const [urls, index] = await Promise.all(answers);
  assert.deepEqual(await urls?.json(), config);
  assert.equal(urls?.headers.get("cache-control"), "no-store", "other URLs count at once");
  assert.match(index?.headers.get("content-security-policy") ?? "", /https:\/\/rpc\.example/);
});

Deno.test("Console: the proxy's WebSocket URL is derived from its HTTP URL unless it is given", async () => {
  assert.equal(config.urls.proxyWs, "wss://rpc.example/v1/ws");
  const other = withDefaults(options, { proxyWsUrl: "wss://ws.example" });
  assert.equal((await readConfig(other)).urls.proxyWs, "wss://ws.example");
  const derived = {
    "HTTP://rpc.example/": "ws://rpc.example/ws",
    "https://rpc.example/v1?key=a": "wss://rpc.example/v1/ws?key=a",
  };
  for (const [proxyUrl, expected] of Object.entries(derived)) {
    assert.equal((await readConfig(withDefaults(options, { proxyUrl }))).urls.proxyWs, expected);
  }
});

Deno.test("Console: each chapter of the runbook is a page with title, styles and working links", async () => {
  const read = async (path: string) => await app.request(path);
  for (const name of ["ServiceDown", "NodePricesMissing", "Health and readiness"]) {
    const answer = await read(`/runbook/${encodeURIComponent(name)}`);
    assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
    const html = await answer.text();
    assert.match(html, new RegExp(`<title>${name} · `));
    assert.equal(html.match(/<h[1-6]/g)?.length, 1, "no other chapter");
    assert.match(html, new RegExp(`<h[23]>${name}</h[23]>`));
    assert.match(html, /<a href="\/#operator">/);
    assert(!/<script|style=|```/.test(html));
    const [, stylesheet = ""] = /rel="stylesheet" href="([^"]+)"/.exec(html) ?? [];
    assert.match((await app.request(stylesheet)).headers.get("content-type") ?? "", /^text\/css/);
  }
  for (const name of ["Nothing", "Service"]) {
    assert.equal((await read(`/runbook/${name}`)).status, 404);
  }
});

Deno.test("Console: every link within the runbook leads to a chapter, and none to a file that is not served", async () => {
  const headings = [deploying, operating, runbooks]
    .flatMap((document) => document.match(/(?<=^##+ ).*$/gm) ?? []);
  assert.deepEqual(new Set(headings).size, headings.length, "each heading names one chapter");
  assert(headings.length > 60);
  let links = 0;
  for (const heading of headings) {
    const path = `/runbook/${encodeURIComponent(heading)}`;
    const html = await (await app.request(path)).text();
    for (const [, to = ""] of html.matchAll(/<a href="([^"]+)"/g)) {
      if (to === "/#operator" || /^https?:/.test(to)) continue;
      links += 1;
      assert.match(to, /^\/runbook\//, heading);
      assert.equal((await app.request(to)).status, 200, `${heading}: ${to}`);
    }
  }
  assert(links > 20);
});

Deno.test("Console: another method on a route is 405 with the allowed one", async () => {
  const answer = await app.request("/index.html", { method: "POST" });
  await answer.body?.cancel();
  assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "GET"]);
});
