/**
 * Requests a second and CPU per request of the proxy and its rivals, in front of the same node.
 *
 *     deno run -A tests/bench/proxy_http_bench.ts [ROUNDS]
 *
 * It needs Linux, `wrk` and `nginx` on the path, and `npx` to fetch Bun, which plays the node.
 * Every request reads another account, so that nothing is shared. Only ratios within a round
 * matter: figures on a shared machine drift by half. So that they are fair,
 *
 * - each rival first runs until its CPU per request falls no further: code that V8 has not
 *   optimised yet needs three times as much in the first second, and a fifth more for ten;
 * - rivals take turns, all equally often, and every round begins with another one;
 * - each turn begins with a second that does not count, since the caches belong to the rival before
 *   it.
 *
 * Results are in `services/proxy/README.md`.
 */
import { fileURLToPath } from "node:url";
import { freePort } from "../support/ports.ts";
import {
  cpuMicros,
  locate,
  locateBun,
  median,
  output,
  ratioOf,
  type Rival,
  start,
  startBunNode,
  startNginx,
  startOwnProxy,
} from "./proxy_rivals.ts";

const CONNECTIONS = 32;
const TURN_S = 3;
const WARM_UP = { windowS: 2, windows: 3, windowsMax: 20, gain: 0.97 };
const rounds = Number(Deno.args[0] ?? 9);

const NGINX = "nginx";
const BARE = "bare forwarder";
const PROXY = "proxy";
const OVER_HTTP = "proxy, node without WebSocket";

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

/** Loads a rival until its rate no longer rises. @returns Seconds of warm-up. */
async function warmUp(rival: Rival): Promise<number> {
  const { windowS, windows, windowsMax, gain } = WARM_UP;
  let best = Infinity;
  let windowsSinceBest = 0;
  let all = 0;
  while (windowsSinceBest < windows && all < windowsMax) {
    const { cpuMicrosPerRequest: cpu } = await load(rival, windowS);
    windowsSinceBest = cpu < best * gain ? 0 : windowsSinceBest + 1;
    best = Math.min(best, cpu);
    all += 1;
  }
  return all * windowS;
}

async function startForwarder(nodePort: number): Promise<Rival> {
  const port = freePort();
  const file = fileURLToPath(new URL("./proxy_plain_forwarder.ts", import.meta.url));
  const args = ["run", "-A", "--no-check", file, String(port), String(nodePort)];
  return await start(Deno.execPath(), args, port);
}

{
  await using stack = new AsyncDisposableStack();
  const bun = await locateBun();
  const node = stack.use(await startBunNode(bun, "HTTP and WebSocket"));
  const httpNode = stack.use(await startBunNode(bun, "HTTP"));
  const quiet = ["--log-level", "error"]; // it is told that one node has no WebSocket
  const rivals = new Map<string, Rival>([
    [NGINX, stack.use(await startNginx(node.port, dir))],
    [BARE, stack.use(await startForwarder(node.port))],
    [PROXY, stack.use(await startOwnProxy(node.port, quiet))],
    [OVER_HTTP, stack.use(await startOwnProxy(httpNode.port, quiet))],
  ]);
  for (const [name, rival] of rivals) {
    console.log(`${name}: warm after ${await warmUp(rival)} s`);
  }
  const taken = new Map<string, Load[]>([...rivals.keys()].map((name) => [name, []]));
  const names = [...rivals];
  for (let round = 0; round < rounds; round += 1) {
    const first = round % names.length;
    for (const [name, rival] of [...names.slice(first), ...names.slice(0, first)]) {
      await load(rival, 1);
      taken.get(name)?.push(await load(rival, TURN_S));
    }
  }
  const ratio = (name: string, rival: string, pick: (load: Load) => number) =>
    ratioOf(taken.get(name), taken.get(rival), pick);
  const rate = ({ perSecond }: Load) => perSecond;
  const cpu = ({ cpuMicrosPerRequest }: Load) => cpuMicrosPerRequest;
  console.log(`\n${"".padEnd(38)} reads/s  CPU, µs  reads/s of nginx  CPU of the bare forwarder`);
  for (const [name, loads] of taken) {
    const figures = [
      Math.round(median(loads.map(rate))).toString().padStart(7),
      median(loads.map(cpu)).toFixed(1).padStart(7),
      ratio(name, NGINX, rate).padStart(16),
      ratio(name, BARE, cpu).padStart(25),
    ];
    console.log(`${name.padEnd(38)} ${figures.join("  ")}`);
  }
  console.log(
    `\nCPU per read: ${ratio(PROXY, BARE, cpu)} of the bare forwarder (aim: at most 0.95)`,
  );
  console.log(`Reads a second: ${ratio(PROXY, NGINX, rate)} of nginx (aim: at least 1.1)`);
}
await Deno.remove(dir, { recursive: true });
