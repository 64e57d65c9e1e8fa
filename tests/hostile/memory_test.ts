/** Clients that request much and read nothing: the proxy's memory stays bounded. */
import assert from "node:assert/strict";
import { withinMs } from "../../lib/clock.ts";
import { eventually } from "../support/eventually.ts";
import {
  call,
  type ClientPort,
  deafClient,
  frameHeader,
  postUnread,
  type Scene,
  writeAll,
} from "../proxy/support.ts";
import { EchoNode } from "../proxy/echo_node.ts";
import { readSeries } from "../support/http_answers.ts";
import { HonestClient } from "./honest_client.ts";
import { withProxyProcess } from "./proxy_process.ts";
import { handshake, RpcSocket, textFrame, WEBSOCKET_KEY } from "../support/rpc_socket.ts";

const MIB = 1024 * 1024;
const BUDGET = 64 * MIB;
const ANSWER = 8 * MIB;
const ATTACKERS = 60;

const LATENCIES = 'proxy_upstream_latency_seconds_count{target="read"}';

/** The proxy does not read from a client that it has closed. */
const UNREAD_MS = 2_000;

/** Far more than the budget has room for. */
const SHORT_ANSWERS = 700_000;

/** Of one client: as many as it may have. */
const SUBSCRIPTIONS = 100;

/**
 * Memory above that of the idle proxy: the budget, twice more for copies made by the runtime
 * (bytes, text, frame), and garbage that was not yet collected.
 */
const GROWTH_MAX = 3 * BUDGET + 100 * MIB;

/** Resident memory of a process in bytes: now, or the most it ever had. Tests may not read /proc. */
async function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): Promise<number> {
  const { stdout } = await new Deno.Command("cat", { args: [`/proc/${pid}/status`] }).output();
  const status = new TextDecoder().decode(stdout);
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024;
}

/** A proxy whose memory can be measured. */
function withProcess(
  clientPort: ClientPort,
  play: (scene: Scene, pid: number) => Promise<void>,
): Promise<void> {
  const huge = JSON.stringify("x".repeat(ANSWER));
  const node = new EchoNode({
    answer(text) {
      const { id, method, params } = JSON.parse(text);
      const result = method === "core_getPriceHistory" ? huge : JSON.stringify({ params });
      return new Response(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
    },
  });
  return withProxyProcess(clientPort, node, ["--max-buffered-bytes", BUDGET], play);
}

/**
 * Plays an attack beside an honest client; the proxy's memory must stay bounded.
 *
 * @param attack Returns the attackers, which stay connected while the honest client works.
 * @param field What is measured: the most memory, or that at the end.
 */
function withstands(
  clientPort: ClientPort,
  attack: (scene: Scene) => Promise<{ close(): unknown }[]>,
  field: "VmRSS" | "VmHWM" = "VmHWM",
): Promise<void> {
  return withProcess(clientPort, async (scene, pid) => {
    const honest = await HonestClient.open(scene);
    await honest.work();
    const idleBytes = await memoryOf(pid, "VmRSS");
    const attackers = await attack(scene);
    await honest.work();
    assert(await readSeries(scene.url, "proxy_buffered_bytes") <= BUDGET);
    const grownMib = (await memoryOf(pid, field) - idleBytes) / MIB;
    assert(grownMib * MIB <= GROWTH_MAX, `The proxy grew by ${Math.round(grownMib)} MiB`);
    await honest.close();
    for (const attacker of attackers) await attacker.close();
  });
}

for (const way of ["main port", "WebSocket port", "HTTP"] as const) {
  Deno.test(`Hostile: ${ATTACKERS * ANSWER / MIB} MiB of unread answers use at most the proxy's memory budget (${way})`, () =>
    withstands(way === "HTTP" ? "main port" : way, async ({ url, wsUrl }) => {
      const attackers: { close(): void }[] = [];
      for (let id = 0; id < ATTACKERS; id += 1) {
        const before = await readSeries(url, LATENCIES);
        const [from, message] = [`198.51.100.${id}`, call(id, "core_getPriceHistory", [id])];
        if (way === "HTTP") {
          attackers.push(await postUnread(url, JSON.stringify(message), { from }));
        } else {
          const client = await deafClient(wsUrl, `x-forwarded-for: ${from}`);
          attackers.push(client);
          await client.send(message);
        }
        // One by one: while they are read from the node, answers count in any case.
        await eventually("it is answered or refused", async () => {
          return await readSeries(url, LATENCIES) > before;
        });
      }
      assert(await readSeries(url, 'proxy_refusals_total{limit="buffered_bytes"}') > 0);
      return attackers;
    }));
}

Deno.test("Hostile: short unread answers use at most the proxy's memory budget", () =>
  withstands("main port", async ({ wsUrl }) => {
    const [attacker] = await handshake(wsUrl, WEBSOCKET_KEY);
    // Its answer has 39 bytes.
    const text = JSON.stringify(call(1, "eth_unsubscribe", ["0x1"]));
    const frames = new Uint8Array(new Array(1_000).fill([...textFrame(text)]).flat());
    let isOpen = true;
    for (let sent = 0; isOpen && sent < SHORT_ANSWERS; sent += 1_000) {
      const written = writeAll(attacker, frames).then(() => true, () => false);
      isOpen = await withinMs(written, UNREAD_MS, false);
    }
    return [attacker];
  }));

Deno.test("Hostile: subscriptions sent in messages of 5 MiB do not keep these in memory", () =>
  withstands("main port", async ({ wsUrl }) => {
    const attacker = await RpcSocket.open(wsUrl);
    for (let n = 0; n < SUBSCRIPTIONS; n += 1) {
      const text = JSON.stringify(call(n, "eth_subscribe", ["logs", { n }]));
      attacker.send(`${" ".repeat(5 * MIB - text.length)}${text}`);
      const { result } = await attacker.waitFor(({ id }) => id === n);
      assert.equal(typeof result, "string");
    }
    return [attacker];
  }, "VmRSS"));

Deno.test("Hostile: unfinished messages on the WebSocket port use at most the proxy's memory budget", () =>
  withstands("WebSocket port", ({ wsUrl }) => {
    const header = frameHeader(4 * MIB, 0x01); // the first fragment of a message, and not the last
    const part = new Uint8Array(header.length + 4 * MIB);
    part.set(header);
    return Promise.all(Array.from({ length: 2 * ATTACKERS }, async (_, n) => {
      const address = `x-forwarded-for: 198.51.100.${n}`;
      const [attacker] = await handshake(wsUrl, WEBSOCKET_KEY, address);
      await writeAll(attacker, part).catch(() => {}); // it is cut
      return attacker;
    }));
  }));
