/** nginx, HAProxy and Caddy with the configurations of docs/deployment/front, as real programs. */
import assert from "node:assert/strict";
import { options } from "../../services/proxy/mod.ts";
import { options as solverOptions } from "../../services/solver/options.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { STACK_PRICING, startStack } from "../../services/stack/stack.ts";
import { withinMs } from "../../lib/clock.ts";
import { frameHeader, startTestProxy } from "../proxy/support.ts";
import { type Certificate, withCertificate } from "../support/certificate.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import { passagesOf } from "./documents.ts";
import { filePath, hasProgram, hasVolatility, readText, run } from "./support.ts";

/** First byte of a WebSocket's close frame. */
const CLOSE_FRAME = 0x88;

/** How long each front waits for a body. */
const SLOW_BODY_MS = 10_000;

/** How long a refusal may take on a busy machine. */
const REFUSED_MS = 8_000;

const NAMES = ["rpc.example", "solver.example", "bridge.example"];

/** How to start a front with a file, and the test's changes to that file. */
const FRONTS = {
  nginx: {
    file: "nginx.conf",
    args: (file: string, folder: string) => [
      ...["-c", file, "-p", folder, "-e", `${folder}/error.log`, "-g"],
      `daemon off; pid ${folder}/pid;`,
    ],
    listens: (text: string, port: number) =>
      text.replaceAll("listen 443", `listen 127.0.0.1:${port}`)
        .replace("http {", "http {\n access_log off;"),
    version: "-v",
  },
  haproxy: {
    file: "haproxy.cfg",
    args: (file: string) => ["-db", "-f", file],
    listens: (text: string, port: number) =>
      text.replace("bind :443", `bind 127.0.0.1:${port}`).replace("maxconn 20000", "maxconn 200"),
    version: "-v",
  },
  caddy: {
    file: "Caddyfile",
    args: (file: string) => ["run", "--config", file, "--adapter", "caddyfile"],
    listens: (text: string, port: number) =>
      text.replaceAll(/^https:\/\/([\w.]+)/gm, `https://$1:${port}`)
        .replace("{\n\tservers", "{\n\tadmin off\n\tauto_https off\n\tservers"),
    version: "version",
  },
} as const;

const SPELLINGS = [
  ...["/metrics", "/%6detrics", "/%6Detrics", "//metrics", "/./metrics", "/x/../metrics"],
  ...[
    "/ws/../metrics",
    "/%2e/metrics",
    "/metrics/",
    "/metrics?x=/ws",
    "/METRICS",
    "/theses",
    "/ready",
  ],
];

/** Whether a file can be mounted over another one, for a test alone. */
const hasMounts = hasProgram("unshare", "--version") &&
  (await run("unshare", ["--map-root-user", "--mount", "true"])).code === 0;

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

type Program = keyof typeof FRONTS;
const PROGRAMS = Object.keys(FRONTS) as Program[]; // the type leaves the names open

type Services = Record<"8546" | "8556" | "3000" | "3001", number>;

async function startFront(
  program: Program,
  services: Services,
  { authority, cert, key }: Certificate,
) {
  const { file, args, listens } = FRONTS[program];
  const folder = await Deno.makeTempDir();
  const port = freePort();
  await Deno.writeTextFile(`${folder}/cert.pem`, cert);
  await Deno.writeTextFile(`${folder}/key.pem`, key);
  await Deno.writeTextFile(`${folder}/both.pem`, cert + key);
  let text = listens(readText(`docs/deployment/front/${file}`), port)
    .replaceAll("/etc/ssl/rangemaker", folder);
  for (const [own, used] of Object.entries(services)) {
    text = text.replaceAll(`127.0.0.1:${own}`, `127.0.0.1:${used}`);
  }
  await Deno.writeTextFile(`${folder}/${file}`, text);
  const child = new Deno.Command(program, {
    args: args(`${folder}/${file}`, folder),
    env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdout: "null",
    stderr: "null",
  }).spawn();
  const caCerts = [await Deno.readTextFile(authority)];
  const front = {
    /** Sends a request to one of the names. @returns The answer's status and text. */
    async send(name: string, line: string, headers: string[] = [], body = "") {
      const tcp = await Deno.connect({ hostname: "127.0.0.1", port });
      using connection = await Deno.startTls(tcp, { hostname: name, caCerts });
      const length = body === "" ? [] : [`Content-Length: ${body.length}`];
      const head = [`${line} HTTP/1.1`, `Host: ${name}`, ...headers, ...length, "", body];
      const request = new TextEncoder().encode(head.join("\r\n"));
      // A front may answer, and close, before it has the whole body.
      const written = writeAll(connection, request).catch(() => {});
      const answer = new Uint8Array(4_096);
      const read = await connection.read(answer) ?? 0;
      await written;
      const shown = new TextDecoder().decode(answer.subarray(0, read));
      return { status: Number(/^HTTP\/1\.\d (\d+)/.exec(shown)?.[1]), text: shown };
    },
    /** Opens a WebSocket and announces a message of some bytes. @returns What comes back in time. */
    async announce(bytes: number) {
      const tcp = await Deno.connect({ hostname: "127.0.0.1", port });
      using connection = await Deno.startTls(tcp, { hostname: "rpc.example", caCerts });
      const head = ["GET /ws HTTP/1.1", "Host: rpc.example", ...HANDSHAKE, "", ""].join("\r\n");
      await connection.write(new TextEncoder().encode(head));
      const answer = new Uint8Array(4_096);
      await connection.read(answer);
      await connection.write(frameHeader(bytes));
      const read = await withinMs(connection.read(answer), REFUSED_MS, null);
      return answer.subarray(0, read ?? 0);
    },
    /** Gets a path of `rpc.example` over HTTP/2. @returns The version of HTTP and the status. */
    async getOverHttp2(path: string) {
      const { code, stdout, text } = await run("curl", [
        ...["-sS", "--http2", "-o", `${folder}/answer`, "-w", "%{http_version} %{http_code}"],
        ...["--cacert", authority, "--resolve", `rpc.example:${port}:127.0.0.1`],
        `https://rpc.example:${port}${path}`,
      ]);
      assert.equal(code, 0, text);
      return stdout;
    },
    /**
     * Plays the whole bet of docs/deploying.md, on a machine where the public names are this one.
     *
     * @returns What it printed.
     */
    async playBet() {
      const { text } = passagesOf("docs/deploying.md").flatMap(({ commands }) => commands)
        .find((command) => command.text.includes("bet.mjs")) ?? assert.fail("No bet");
      const here = text
        .replace("/etc/ssl/rangemaker/cert.pem", authority)
        .replace("DENO_DIR=/opt/rangemaker/.deno ", "")
        .replaceAll("/opt/rangemaker/", filePath("."))
        .replaceAll(".example", `.example:${port}`);
      await Deno.writeTextFile(`${folder}/hosts`, `127.0.0.1 localhost ${NAMES.join(" ")}\n`);
      const script = `mount --bind ${folder}/hosts /etc/hosts && ${here}`;
      const args = ["--map-root-user", "--mount", "bash", "-c", script];
      const played = await run("unshare", args);
      assert.equal(played.code, 0, played.text);
      return played.stdout;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
  await eventually(
    `${program} answers`,
    () => front.send("rpc.example", "GET /nowhere").then(() => true, () => undefined),
  );
  return front;
}

function startEcho() {
  /** Paths of all requests, also of those whose body never came. */
  const begun = new Set<string>();
  const reached: { path: string; forwardedFor: string | null }[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname: path } = new URL(request.url);
    begun.add(path);
    const forwardedFor = request.headers.get("x-forwarded-for");
    const isWhole = await request.text().then(() => true, () => false);
    if (isWhole) reached.push({ path, forwardedFor });
    return new Response("echo");
  });
  const stop = () => server.shutdown();
  return { port: server.addr.port, begun, reached, stop, [Symbol.asyncDispose]: stop };
}

interface Running {
  front: Awaited<ReturnType<typeof startFront>>;
  echo: ReturnType<typeof startEcho>;
}

const json = ["Content-Type: application/json"];

const HANDSHAKE = [
  ...["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"],
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/** Only public paths reach the services, with the caller's address. */
async function assertPublicPaths(
  program: Program,
  { front: { send, announce, getOverHttp2 }, echo: { reached } }: Running,
): Promise<void> {
  const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
  const answer = await send("rpc.example", "POST /", json, call);
  assert.equal(answer.status, 200, answer.text);
  const handshake = await send("rpc.example", "GET /ws", HANDSHAKE);
  assert.equal(handshake.status, 101, handshake.text);
  // The proxy's main port would wait for all of it.
  assert.equal((await announce(6_000_000))[0], CLOSE_FRAME, "a WebSocket's message is bounded");
  assert.equal(await getOverHttp2("/ws"), "2 426");
  assert.equal(await getOverHttp2("/health"), "2 200");
  // The answer at / is only for people who call the service directly.
  assert.equal(await getOverHttp2("/"), "2 404");
  const preflight = [
    "Origin: https://app.example",
    "Access-Control-Request-Method: POST",
  ];
  assert.equal((await send("rpc.example", "OPTIONS /", preflight)).status, 204);

  const forged = [...json, "X-Forwarded-For: 203.0.113.9"];
  assert.equal((await send("solver.example", "POST /quote", forged, "{}")).status, 200);
  assert.equal((await send("bridge.example", "POST /deposit", forged, "{}")).status, 200);
  assert.deepEqual(reached.splice(0), [
    { path: "/quote", forwardedFor: "127.0.0.1" },
    { path: "/deposit", forwardedFor: "127.0.0.1" },
  ]);

  for (const name of NAMES) {
    for (const path of SPELLINGS) {
      const { text } = await send(name, `GET ${path}`);
      assert.doesNotMatch(
        text,
        /process_start_time|# HELP|echo/,
        `${name} ${path}: ${text}`,
      );
    }
  }
  assert.deepEqual(reached, []);

  const large = await send("solver.example", "POST /quote", json, "x".repeat(2_000_000));
  assert.equal(large.status, 413, large.text);
  if (program === "caddy") { // the others have no JSON for it
    assert.match(large.text, /^access-control-allow-origin: \*[^]*"code":"BODY_TOO_LARGE"\}$/im);
    assert.match(large.text, /^content-type: application\/json/im);
  }
  // It shows the URL of the node.
  await send("bridge.example", "GET /info");
  assert.deepEqual(reached, []);
}

/** A body that never comes ends the request, which only Caddy has passed on meanwhile. */
async function assertSlowBodyEnds(program: Program, { front, echo }: Running): Promise<void> {
  const slow = [...json, "Content-Length: 2000"];
  // Some fronts only close the connection.
  const end = front.send("solver.example", "POST /estimate", slow).then(() => true, () => true);
  assert(await withinMs(end, SLOW_BODY_MS + 10_000, false), "The body may take longer");
  assert.equal(echo.begun.has("/estimate"), program === "caddy");
}

/** nginx bounds an address's reads of solver and bridge, also without their bodies. */
async function assertFewReads({ front: { send } }: Running): Promise<void> {
  const statuses = new Set<number>();
  for (let round = 0; round < 3; round++) {
    // Fewer than one address may have at a time.
    const heads = Array.from({ length: 50 }, () => send("solver.example", "HEAD /info"));
    for (const { status } of await Promise.all(heads)) statuses.add(status);
  }
  assert.deepEqual([...statuses].toSorted(), [200, 429]);
}

async function assertJsonErrors({ front: { send } }: Running): Promise<void> {
  const page = ["Origin: https://app.example"];
  const cases = [
    ["solver.example", "/quote", /"code":"SERVICE_UNREACHABLE"\}$/],
    ["bridge.example", "/deposit", /"code":"SERVICE_UNREACHABLE"\}$/],
    ["rpc.example", "/", /"error":\{"code":-32002,"message":"[^"]+ again"\}\}$/],
  ] as const;
  for (const [name, path, body] of cases) {
    const { status, text } = await send(name, `POST ${path}`, [...json, ...page], "{}");
    assert(status === 502 || status === 503, text);
    assert.match(text, /^content-type: application\/json/im);
    assert.match(text, /^access-control-allow-origin: \*/im);
    assert.match(text, body);
    // With 503, HAProxy has sent nothing. A repeated request to solver or bridge is done once.
    const isUnknown = name === "rpc.example" && status === 502;
    assert.equal(/a write may have taken effect/.test(text), isUnknown, text);
  }
}

Deno.test("nginx.conf: a worker may open more files than it has connections; systemd allows 1,024", () => {
  const text = readText("docs/deployment/front/nginx.conf");
  const numberOf = (name: string) => Number(new RegExp(`^ *${name} (\\d+);`, "m").exec(text)?.[1]);
  assert(numberOf("worker_rlimit_nofile") > numberOf("worker_connections"));
});

Deno.test("haproxy.cfg: it waits longer for the proxy than the proxy for a node, whose answer would be lost", () => {
  const text = readText("docs/deployment/front/haproxy.cfg");
  const seconds = Number(/^ *timeout server (\d+)s$/m.exec(text)?.[1]);
  assert(seconds * 1_000 > Number(options.upstreamTimeoutMs.default) + 1_000);
});

Deno.test("Fronts: with the shipped settings, and in the containers, each port behind them is open", () => {
  const settings = readText("docs/deployment/settings.toml");
  const compose = readText("compose.production.yaml");
  const opened = [options.port.default, solverOptions.port.default]
    .concat(Array.from(settings.matchAll(/^(?:ws_)?port = (\d+)/gm), ([, port = ""]) => port));
  for (const { file } of Object.values(FRONTS)) {
    const ports = readText(`docs/deployment/front/${file}`).matchAll(/127\.0\.0\.1:(\d+)/g);
    for (const [, port = ""] of ports) {
      assert(opened.includes(port), `${file}: ${port}`);
      assert(compose.includes(`"127.0.0.1:${port}:${port}"`), `${file}: ${port}`);
    }
  }
});

const missing = PROGRAMS.filter((program) => !hasProgram(program, FRONTS[program].version));
const installed = PROGRAMS.filter((program) => !missing.includes(program));
const leftOut = missing.length === 0 ? "" : ` (left out: no ${missing.join(", ")} here)`;

/** Runs something for each front at once. @throws {Error} With the name of the front that failed. */
async function forEach<T>(run: (program: Program, index: number) => Promise<T>): Promise<T[]> {
  const ended = await Promise.allSettled(installed.map(run));
  return ended.map((each, index) => {
    if (each.status === "fulfilled") return each.value;
    throw new Error(installed[index], { cause: each.reason });
  });
}

Deno.test({
  name:
    `Fronts: serve public paths alone, over TLS, with the caller's address and JSON errors${leftOut}`,
  ignore: installed.length === 0 || !hasProgram("openssl", "version") || !hasProgram("curl"),
  fn: (t) =>
    withCertificate(async (certificate) => {
      await using stack = await startStack({
        ports: FREE_PORTS,
        seed: 1,
        allowedHosts: NAMES,
        pricing: STACK_PRICING,
      });
      await using proxy = await startTestProxy({
        readNodeUrl: stack.urls.nodeRead,
        writeNodeUrl: stack.urls.node,
        allowedHosts: NAMES,
        wsPort: 0,
      });
      const portOf = (url = "") => Number(new URL(url).port);
      const services = {
        "8546": portOf(proxy.url),
        "8556": portOf(proxy.wsPortUrl),
        "3000": portOf(stack.urls.solver),
        "3001": portOf(stack.urls.bridge),
      };
      await t.step({
        name: "a whole bet is played through each",
        ignore: !hasMounts,
        fn: async () => {
          await hasVolatility(stack.urls);
          await forEach(async (program) => {
            await using front = await startFront(program, services, certificate);
            assert.match(await front.playBet(), /^(won|lost), balance [\d.]+ USDC\n$/);
          });
        },
      });
      await using running = new AsyncDisposableStack();
      const fronts: Running[] = await forEach(async (program) => {
        const echo = running.use(startEcho());
        const behind = { ...services, "3000": echo.port, "3001": echo.port };
        return { echo, front: running.use(await startFront(program, behind, certificate)) };
      });
      await forEach((program, index) => {
        const running = fronts[index]!;
        return Promise.all([
          assertPublicPaths(program, running),
          assertSlowBodyEnds(program, running),
        ]);
      });
      const nginx = fronts[installed.indexOf("nginx")];
      if (nginx !== undefined) await assertFewReads(nginx);
      await Promise.all([stack.stop(), proxy.stop(), ...fronts.map(({ echo }) => echo.stop())]);
      await forEach((_, index) => assertJsonErrors(fronts[index]!));
    }, NAMES),
});
