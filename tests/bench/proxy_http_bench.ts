/**
 * Requests a second through the proxy and through nginx, to the same node, in turns.
 *
 *     deno run -A tests/bench/proxy_http_bench.ts [ROUNDS]
 *
 * It needs `wrk` and `nginx` on the path, and `npx` to fetch Bun, which plays the node. Every request
 * is a read of another account, so that nothing is joined. What matters is the ratio, taken in each
 * round anew: figures on a shared machine drift by half. What it gave stands in
 * `services/proxy/README.md`.
 */
import {
  freePort,
  locate,
  locateBun,
  median,
  output,
  type Rival,
  start,
  startBunNode,
  startNginx,
  startOwnProxy,
} from "./proxy_rivals.ts";

const ROUND_S = 1;
const WARM_UP_S = 4;
const CONNECTIONS = 32;
const rounds = Number(Deno.args[0] ?? 9);

const dir = await Deno.makeTempDir();
const script = `
  local n = 0
  local headers = { ["Content-Type"] = "application/json" }
  request = function()
    n = n + 1
    local body = '{"jsonrpc":"2.0","id":' .. n .. ',"method":"eth_getBalance","params":["0x' .. n .. '"]}'
    return wrk.format("POST", "/", headers, body)
  end`;
await Deno.writeTextFile(`${dir}/post.lua`, script);
const wrk = await locate("wrk", "apt-get install wrk");

async function requestsPerSecond(port: number, seconds: number): Promise<number> {
  const load = ["-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "-s", `${dir}/post.lua`];
  const report = await output(wrk, [...load, `http://127.0.0.1:${port}/`]);
  if (report.includes("Non-2xx")) throw new Error(`Requests failed:\n${report}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(report)?.[1]);
}

async function startForwarder(way: string, nodePort: number): Promise<Rival> {
  const port = freePort();
  const file = new URL("./proxy_plain_forwarder.ts", import.meta.url).pathname;
  const args = ["run", "-A", "--no-check", file, way, String(port), String(nodePort)];
  return await start(Deno.execPath(), args, port);
}

{
  await using stack = new AsyncDisposableStack();
  const node = stack.use(await startBunNode(await locateBun()));
  const nginx = stack.use(await startNginx(node.port, dir));
  const contenders: Record<string, Rival> = {};
  for (const way of ["fetch", "node:http agent", "own connections"]) {
    contenders[`plain forwarder, ${way}`] = stack.use(await startForwarder(way, node.port));
  }
  contenders["proxy"] = stack.use(await startOwnProxy(node.port, []));
  contenders["proxy, --reads-over-ws"] = stack.use(
    await startOwnProxy(node.port, ["--reads-over-ws"]),
  );

  const figures = new Map<string, { rate: number; ratio: number }[]>();
  for (const { port } of Object.values(contenders)) await requestsPerSecond(port, WARM_UP_S);
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, { port }] of Object.entries(contenders)) {
      const rival = await requestsPerSecond(nginx.port, ROUND_S);
      const rate = await requestsPerSecond(port, ROUND_S);
      figures.set(name, [...(figures.get(name) ?? []), { rate, ratio: rate / rival }]);
    }
  }
  for (const [name, taken] of figures) {
    const rate = Math.round(median(taken.map((figure) => figure.rate)));
    const ratio = median(taken.map((figure) => figure.ratio)).toFixed(2);
    console.log(`${name.padEnd(34)} ${String(rate).padStart(7)} requests/s   ${ratio} of nginx`);
  }
}
await Deno.remove(dir, { recursive: true });
