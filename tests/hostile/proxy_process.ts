import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import { bundledProgram } from "../support/process.ts";
import type { EchoNode } from "../proxy/echo_node.ts";
import type { ClientPort, Scene } from "../proxy/support.ts";

const { command, args: program, env } = await bundledProgram();

/**
 * Memory is managed as operators have it. What V8 caches of a program is for the flags of one start:
 * with the cache of the other tests, each would compile the program anew.
 */
const run = program.filter((arg) => !arg.startsWith("--v8-flags"));
const cache = { DENO_DIR: `${env?.DENO_DIR}-hostile` };

/**
 * A proxy in a process of its own, with an event loop and a memory that attackers do not share.
 *
 * @param read The node, which ends with it.
 * @param flags Further options.
 */
export async function withProxyProcess(
  clientPort: ClientPort,
  read: EchoNode,
  flags: readonly (string | number)[],
  play: (scene: Scene, pid: number) => Promise<void>,
): Promise<void> {
  const [port, wsPort] = [freePort(), freePort()];
  const ports = ["--port", port, "--ws-port", wsPort];
  const nodes = ["--read-node-url", read.url, "--write-node-url", read.url];
  const args = [...run, "proxy", ...ports, ...flags, ...nodes].map(String);
  const child = new Deno.Command(command, {
    args,
    env: cache,
    stdout: "null",
    stderr: "null",
  }).spawn();
  const url = `http://127.0.0.1:${port}`;
  try {
    await eventually("the proxy is ready", async () => {
      const answer = await fetch(`${url}/ready`).catch(() => undefined);
      await answer?.text();
      return answer?.ok;
    });
    const wsUrl = `ws://127.0.0.1:${clientPort === "main port" ? port : wsPort}/ws`;
    const stopProxy = () => Promise.resolve();
    await play({ url, wsUrl, read, write: read, stopProxy }, child.pid);
  } finally {
    child.kill("SIGKILL"); // deaf clients would hold up its end
    await child.status;
    await read.stop();
  }
}
