/**
 * Requests a second and CPU per request of the proxy and its rivals, in front of the same node.
 *
 *     deno run -A tests/bench/proxy_http_bench.ts [ROUNDS]
 *
 * It needs Linux, `wrk` and `nginx` on the path, and `npx` to fetch Bun, which plays the node. Every
 * request reads another account, so that nothing is shared. Only ratios matter: the rate over that of
 * nginx, and the CPU time (`/proc/PID/stat`) over that of a forwarder on the same runtime that keeps
 * its own connections and does nothing else, each taken just before. Figures on a shared machine drift
 * by half. Results are in `services/proxy/README.md`.
 */
import {
  cpuMicros,
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
const BARE_FORWARDER = "plain forwarder, own connections";
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

interface Load {
  perSecond: number;
  cpuMicrosPerRequest: number;
}

async function load({ port, pid }: Rival, seconds: number): Promise<Load> {
  const before = cpuMicros(pid);
  const load = ["-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "-s", `${dir}/post.lua`];
  const report = await output(wrk, [...load, `http://127.0.0.1:${port}/`]);
  if (report.includes("Non-2xx")) throw new Error(`Requests failed:\n${report}`);
  const requests = Number(/(\d+) requests in/.exec(report)?.[1]);
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(report)?.[1]),
    cpuMicrosPerRequest: (cpuMicros(pid) - before) / requests,
  };
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
  contenders["proxy, --reads http"] = stack.use(
    await startOwnProxy(node.port, ["--reads", "http"]),
  );

  const figures = new Map<
    string,
    { rate: number; ratio: number; cpu: number; cpuRatio: number }[]
  >();
  for (const rival of Object.values(contenders)) await load(rival, WARM_UP_S);
  const bare = contenders[BARE_FORWARDER];
  if (bare === undefined) throw new Error(`${BARE_FORWARDER} does not run`);
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, rival] of Object.entries(contenders)) {
      const best = await load(nginx, ROUND_S);
      const yardstick = await load(bare, ROUND_S);
      const { perSecond: rate, cpuMicrosPerRequest: cpu } = await load(rival, ROUND_S);
      const cpuRatio = cpu / yardstick.cpuMicrosPerRequest;
      const taken = { rate, ratio: rate / best.perSecond, cpu, cpuRatio };
      figures.set(name, [...(figures.get(name) ?? []), taken]);
    }
  }
  console.log(`${"".padEnd(34)} requests/s  of nginx  CPU, µs  of the bare forwarder`);
  for (const [name, taken] of figures) {
    const rate = Math.round(median(taken.map((figure) => figure.rate)));
    const ratio = median(taken.map((figure) => figure.ratio)).toFixed(2);
    const cpu = median(taken.map((figure) => figure.cpu)).toFixed(1);
    const cpuRatio = median(taken.map((figure) => figure.cpuRatio)).toFixed(2);
    const cells = [String(rate).padStart(10), ratio.padStart(8), cpu.padStart(7), cpuRatio];
    console.log(`${name.padEnd(34)} ${cells.join("  ")}`);
  }
}
await Deno.remove(dir, { recursive: true });
