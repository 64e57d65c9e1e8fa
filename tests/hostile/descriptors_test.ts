/** Clients that use up the file descriptors of the proxy. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { withinMs } from "../../lib/clock.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import { RpcSocket } from "../support/rpc_socket.ts";

/** More than a proxy needs without clients. */
const DESCRIPTORS = 150;

/** How long it may take until connections are accepted again, on a busy machine too. */
const REPAIRED_MS = 40_000;

const NAME = "Hostile: the WebSocket port accepts connections again after file descriptors ran out";

Deno.test(NAME, { timeout: 180_000 }, async () => {
  const [port, wsPort] = [freePort(), freePort()];
  const main = fileURLToPath(new URL("../../main.ts", import.meta.url));
  const program = [Deno.execPath(), "run", "-A", "--no-check", main, "proxy"];
  const flags = ["--port", `${port}`, "--ws-port", `${wsPort}`];
  const child = new Deno.Command("sh", {
    args: ["-c", `ulimit -n ${DESCRIPTORS}; exec "$@"`, "sh", ...program, ...flags],
    stdout: "null",
    stderr: "null",
  }).spawn();
  const url = `ws://127.0.0.1:${wsPort}/ws`;
  const open = () => eventually("a client", () => RpcSocket.open(url).catch(() => undefined));
  const answered = async (client: RpcSocket) => {
    const { error } = await client.call("eth_unsubscribe", ["0x1"]);
    assert.equal(error, undefined);
  };
  try {
    const honest = await open();
    const attackers = await Promise.all(Array.from(
      { length: 2 * DESCRIPTORS },
      () => Deno.connect({ hostname: "127.0.0.1", port: wsPort }),
    ));
    await answered(honest);
    for (const attacker of attackers) attacker.close();
    const later = await withinMs(open(), REPAIRED_MS, undefined);
    assert(later, `No client is accepted within ${REPAIRED_MS} ms`);
    for (const client of [honest, later]) {
      await answered(client);
      await client.close();
    }
  } finally {
    child.kill("SIGKILL");
    await child.status;
  }
});
