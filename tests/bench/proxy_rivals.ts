/** What the benchmarks of the proxy run beside it: the programs of others, as child processes. */

import { fileURLToPath } from "node:url";
import { freePort } from "../support/ports.ts";

/** Exact version of Bun, fetched by `npx` when it is first used. */
const BUN = "bun@1.3.0";

export interface Rival extends AsyncDisposable {
  port: number;
  pid: number;
}

/** Where a program is, or how to get it. @throws {Error} If it is not installed. */
export async function locate(program: string, hint: string): Promise<string> {
  const found = await output("sh", ["-c", `command -v ${program}`]);
  if (found === "") throw new Error(`This benchmark needs ${program}: ${hint}`);
  return found;
}

export async function locateBun(): Promise<string> {
  return await output("npx", ["--yes", "-p", BUN, "sh", "-c", "command -v bun"]);
}

export async function output(program: string, args: string[]): Promise<string> {
  const { stdout } = await new Deno.Command(program, { args, stderr: "null" }).output();
  return new TextDecoder().decode(stdout).trim();
}

/** Starts a program that listens on a port, and waits until it does. */
export async function start(program: string, args: string[], port: number): Promise<Rival> {
  const child = new Deno.Command(program, { args, stdout: "null", stderr: "inherit" }).spawn();
  for (let attempt = 0;; attempt += 1) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      break;
    } catch (thrown) {
      if (attempt === 200) throw new Error(`${program} does not listen`, { cause: thrown });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return {
    port,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
    },
  };
}

/** A node that answers each call at once, over one or both protocols. */
export async function startBunNode(
  bun: string,
  protocols: "HTTP and WebSocket" | "HTTP",
): Promise<Rival> {
  const port = freePort();
  const upgrade = protocols === "HTTP"
    ? 'if (request.method === "GET") return new Response("", { status: 426 });'
    : "if (server.upgrade(request)) return;";
  const source = `
    const answer = (text) => {
      const { id } = JSON.parse(text);
      return JSON.stringify({ jsonrpc: "2.0", id, result: "0x1234567890" });
    };
    Bun.serve({
      hostname: "127.0.0.1",
      port: ${port},
      async fetch(request, server) {
        ${upgrade}
        const headers = { "content-type": "application/json" };
        return new Response(answer(await request.text()), { headers });
      },
      websocket: { message(socket, text) { socket.send(answer(text)); } },
    });`;
  return await start(bun, ["-e", source], port);
}

/** nginx with one worker in front of a node, its connections kept. */
export async function startNginx(nodePort: number, dir: string): Promise<Rival> {
  const nginx = await locate("nginx", "apt-get install nginx-light");
  const port = freePort();
  const config = `
    daemon off; master_process off; pid ${dir}/nginx.pid; error_log ${dir}/nginx.log;
    events { worker_connections 1024; }
    http {
      access_log off; keepalive_requests 100000000; client_body_temp_path ${dir}/body;
      proxy_temp_path ${dir}/proxy;
      upstream node {
        server 127.0.0.1:${nodePort}; keepalive 64; keepalive_requests 100000000;
      }
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection "";
        }
      }
    }`;
  await Deno.writeTextFile(`${dir}/nginx.conf`, config);
  return await start(nginx, ["-e", `${dir}/nginx.log`, "-c", `${dir}/nginx.conf`], port);
}

/** This program's proxy in front of a node. */
export async function startOwnProxy(nodePort: number, flags: string[]): Promise<Rival> {
  const port = freePort();
  const main = fileURLToPath(new URL("../../main.ts", import.meta.url));
  const node = `http://127.0.0.1:${nodePort}`;
  const args = ["run", "-A", main, "proxy", "--port", String(port)];
  const nodes = ["--read-node-url", node, "--write-node-url", node];
  return await start(Deno.execPath(), [...args, ...nodes, ...flags], port);
}

/** Clock ticks of a second in `/proc/PID/stat`: `getconf CLK_TCK` is 100 on every Linux. */
const TICKS_PER_SECOND = 100;

/** CPU time that a process has used so far, in user mode and in the kernel, in microseconds. */
export function cpuMicros(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  // The name of the program, in brackets, may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 1_000_000 / TICKS_PER_SECOND;
}

export function ratioOf<T>(
  one: readonly T[] = [],
  other: readonly T[] = [],
  pick: (figures: T) => number,
): string {
  const ratios = one.flatMap((figures, round) => {
    const beside = other[round];
    return beside === undefined ? [] : [pick(figures) / pick(beside)];
  });
  return median(ratios).toFixed(2);
}

export function median(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? NaN;
}
