import { Registry } from "prom-client";
import { withDefaults } from "../../lib/cli/options.ts";
import { options, type ProxyOptions, startProxy } from "../../services/proxy/mod.ts";
import type { ReadNodeEndpoint } from "../../services/proxy/node/read_node.ts";
import { ByteBudget } from "../../services/proxy/shared/limits.ts";
import { InFlightReads } from "../../services/proxy/calls/in_flight_reads.ts";
import { MethodKinds } from "../../services/proxy/calls/method_kinds.ts";
import { Router, type RouterOptions } from "../../services/proxy/calls/router.ts";
import { ProxyMetrics } from "../../services/proxy/shared/metrics.ts";
import { Turns } from "../../lib/timing/turns.ts";
import { askOverHttp } from "../../services/proxy/node/read_pool.ts";
import { ReadNodes, type ReadNodesOptions } from "../../services/proxy/node/read_nodes.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { EchoNode, type EchoNodeOptions } from "./echo_node.ts";
import { handshake, textFrame, WEBSOCKET_KEY } from "../support/rpc_socket.ts";

/** A proxy between a read and a write node. */
export interface Scene {
  url: string;
  wsUrl: string;
  read: EchoNode;
  write: EchoNode;
  /** Ends the proxy; harmless if it ended before. */
  stopProxy(): Promise<void>;
}

/** The port for clients: the shared one, or the second one for WebSockets only. */
export type ClientPort = "main port" | "WebSocket port";

export interface SceneOptions {
  clientPort?: ClientPort;
  proxy?: Partial<ProxyOptions>;
  read?: EchoNodeOptions;
  write?: EchoNodeOptions;
  /** WebSockets of the read node once the proxy is up: one, unless it has another URL. */
  connections?: number;
}

/** A proxy on a free port that connects again within milliseconds. */
export function startTestProxy(given: Partial<ProxyOptions>): ReturnType<typeof startProxy> {
  const byDefault = { port: 0, reconnectInitialMs: 5, reconnectMaxMs: 20 };
  return startProxy(withDefaults(options, { ...byDefault, ...given }));
}

/** Plays a scene with a proxy between two nodes, and stops everything again. */
export async function withProxy(
  play: (scene: Scene) => Promise<void>,
  overrides: SceneOptions = {},
): Promise<void> {
  await using read = new EchoNode(overrides.read);
  await using write = new EchoNode(overrides.write);
  await using proxy = await startTestProxy({
    readNodeUrl: read.url,
    writeNodeUrl: write.url,
    wsPort: overrides.clientPort === "WebSocket port" ? 0 : undefined,
    ...overrides.proxy,
  });
  await read.until(() => read.connections === (overrides.connections ?? 1));
  const wsUrl = proxy.wsPortUrl ?? proxy.wsUrl;
  await play({ url: proxy.url, wsUrl, read, write, stopProxy: () => proxy.stop() });
}

/** Nodes on these hosts. */
export function endpointsOf(...hosts: string[]): ReadNodeEndpoint[] {
  return hosts.map((name) => ({ name, url: `http://${name}`, wsUrl: `ws://${name}` }));
}

/** Read nodes of which the first leads, with the first of equally fast ones next. */
export function readNodesOf(hosts: string, overrides: Partial<ReadNodesOptions> = {}): ReadNodes {
  const clock = new FakeClock();
  return new ReadNodes({
    endpoints: endpointsOf(...hosts.split(" ")),
    maxLag: 3,
    clock,
    unixClock: clock,
    random: () => 0,
    ...overrides,
  });
}

/** A router in front of a single read node, all over HTTP. */
export function routerTo(
  nodes: RouterOptions["nodes"],
  overrides: Partial<RouterOptions> = {},
): Router {
  let id = 1_000;
  return new Router({
    methods: new MethodKinds(),
    nodes,
    plainReads: { ask: (read) => askOverHttp(nodes.read, read, id += 1) },
    readNodes: readNodesOf("a"),
    inFlight: new InFlightReads(),
    maxBatch: 10,
    budget: new ByteBudget(Infinity),
    metrics: new ProxyMetrics(new Registry()),
    turns: new Turns(new FakeClock()),
    ...overrides,
  });
}

/** Reads until a read goes over the socket for reads; these reads are forgotten. */
export async function connectReads({ url, read }: Pick<Scene, "url" | "read">): Promise<void> {
  await eventually("a read goes over the socket", async () => {
    await (await post(url, call(0, "net_version"))).text();
    return read.requests.at(-1)?.over === "ws";
  });
  read.requests.length = 0;
}

/** Posts a message: text as it is, anything else as JSON. */
export async function post(
  url: string,
  message: unknown,
  headers: HeadersInit = {},
): Promise<Response> {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  return await fetch(url, { method: "POST", headers, body });
}

/**
 * Posts a message on a connection of its own, and reads no answer.
 *
 * @param bytes Its declared length, which may be more than is sent.
 */
export async function postUnread(
  url: string,
  text: string,
  { from = "198.51.100.1", bytes = text.length } = {},
): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const head = `POST / HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: ${from}\r\n`;
  const request = `${head}content-length: ${bytes}\r\n\r\n${text}`;
  // A proxy that refuses the message reads no more of it.
  void writeAll(connection, new TextEncoder().encode(request)).catch(() => {});
  return connection;
}

export async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

export function call(id: number, method: string, params: unknown[] = []) {
  return { jsonrpc: "2.0", id, method, params };
}

/** For `Deno.test.each`: each {@link ClientPort} with a {@link withProxy} for it. */
export const BOTH_PORTS = (["main port", "WebSocket port"] as const).map((clientPort) => {
  const onPort: typeof withProxy = (play, overrides) =>
    withProxy(play, { ...overrides, clientPort });
  return [clientPort, onPort] as const;
});

/** A WebSocket client that reads only on request. `header` is a line of the handshake. */
export async function deafClient(wsUrl: string, header = "x-test: 1") {
  const [connection] = await handshake(wsUrl, WEBSOCKET_KEY, header);
  return {
    async send(message: unknown) {
      await connection.write(textFrame(JSON.stringify(message)));
    },
    /** Reads until `last` has come. @returns All that came, without any letter x. */
    async readUntil(last: string) {
      const buffer = new Uint8Array(65_536);
      let text = "";
      while (!text.includes(last)) {
        const length = await connection.read(buffer);
        if (length === null) throw new Error(`The connection ended before ${last} came`);
        text += new TextDecoder("latin1").decode(buffer.subarray(0, length)).replaceAll("x", "");
      }
      return text;
    },
    close: () => connection.close(),
  };
}

/**
 * The start of a client's text frame, with a length of eight bytes and a mask of zeros.
 *
 * @param first 0x81 for a whole message, 0x01 for the first fragment of one.
 */
export function frameHeader(length: number, first = 0x81): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(14);
  header.set([first, 0xff]);
  new DataView(header.buffer).setBigUint64(2, BigInt(length));
  return header;
}
