import { z } from "zod";
import { systemClock } from "../../lib/clock.ts";
import { serviceCommand } from "../../lib/service/command.ts";
import { createRegistry } from "../../lib/service/metrics.ts";
import {
  hostOption,
  httpUrlSchema,
  integerSchema,
  portSchema,
  switchSchema,
  wsUrlSchema,
} from "../../lib/service/option_types.ts";
import { type OptionsOf, type OptionTable, UsageError } from "../../lib/service/options.ts";
import { type RunningService, startService } from "../../lib/service/service.ts";
import { createApi } from "./api.ts";
import { callerAddress } from "./caller_address.ts";
import { Clients, isHandshake } from "./clients.ts";
import { Hub } from "./hub.ts";
import { MethodTable } from "./methods.ts";
import { ProxyMetrics } from "./metrics.ts";
import { NodeHttp } from "./node_http.ts";
import { Router } from "./router.ts";
import { Upstream } from "./upstream.ts";

const listSchema = z.string().transform((text) =>
  text.split(",").map((part) => part.trim()).filter((part) => part !== "")
);

/** The option table of `rangemaker proxy` (specification, "Proxy configuration"). */
export const options = {
  port: {
    flags: "--port <port>",
    env: "PORT",
    description: "listening port; 0 takes a free one",
    schema: portSchema,
    default: "8546",
  },
  host: hostOption,
  writeNodeUrl: {
    flags: "--write-node-url <url>",
    env: "WRITE_NODE_URL",
    description: "write node for transactions",
    schema: httpUrlSchema,
    default: "http://localhost:8545",
  },
  readNodeUrl: {
    flags: "--read-node-url <url>",
    env: "READ_NODE_URL",
    description: "read node for queries",
    schema: httpUrlSchema,
    default: "http://localhost:8547",
  },
  readNodeWsUrl: {
    flags: "--read-node-ws-url <url>",
    env: "READ_NODE_WS_URL",
    description: "read node WebSocket URL; derived from --read-node-url unless given",
    schema: wsUrlSchema.optional(),
  },
  broadcastCapacity: {
    flags: "--broadcast-capacity <messages>",
    env: "BROADCAST_CAPACITY",
    description: "notifications kept for clients that are behind, all subscriptions together",
    schema: integerSchema(1, 1_048_576),
    default: "4096",
  },
  corsOrigins: {
    flags: "--cors-origins <origins>",
    env: "CORS_ORIGINS",
    description: "allowed CORS origins, comma-separated; * for all",
    schema: listSchema,
    default: "*",
  },
  trustProxy: {
    flags: "--trust-proxy [boolean]",
    env: "TRUST_PROXY",
    description: "trust X-Forwarded-For headers",
    schema: switchSchema,
    default: "true",
    negatable: true,
  },
  writeMethods: {
    flags: "--write-methods <methods>",
    env: "WRITE_METHODS",
    description: "methods for the write node beside those known, comma-separated",
    schema: listSchema.prefault(""),
  },
  maxBodyBytes: {
    flags: "--max-body-bytes <bytes>",
    env: "MAX_BODY_BYTES",
    description: "largest request over HTTP, largest message over WebSocket; 5 MiB as in geth",
    schema: integerSchema(1_024, 1_073_741_824),
    default: "5242880",
  },
  maxBatch: {
    flags: "--max-batch <calls>",
    env: "MAX_BATCH",
    description: "most calls in one batch; 1000 as in geth",
    schema: integerSchema(1, 100_000),
    default: "1000",
  },
  upstreamTimeoutMs: {
    flags: "--upstream-timeout-ms <ms>",
    env: "UPSTREAM_TIMEOUT_MS",
    description: "how long a node may take to answer; 30 s lets slow reads through",
    schema: integerSchema(1, 600_000),
    default: "30000",
  },
  maxWsClients: {
    flags: "--max-ws-clients <clients>",
    env: "MAX_WS_CLIENTS",
    description: "most WebSocket clients at once; each costs a file descriptor and memory",
    schema: integerSchema(1, 1_000_000),
    default: "10000",
  },
  maxSubscriptionsPerClient: {
    flags: "--max-subscriptions-per-client <subscriptions>",
    env: "MAX_SUBSCRIPTIONS_PER_CLIENT",
    description: "most subscriptions of one WebSocket client; a wallet holds fewer than ten",
    schema: integerSchema(1, 10_000),
    default: "100",
  },
  coalesceReads: {
    flags: "--coalesce-reads [boolean]",
    env: "COALESCE_READS",
    description: "send reads that are equal and in flight together once",
    schema: switchSchema,
    default: "true",
    negatable: true,
  },
  slowClients: {
    flags: "--slow-clients <lag|close>",
    env: "SLOW_CLIENTS",
    description: "a client that missed notifications goes on (lag) or is closed with 1013 (close)",
    schema: z.enum(["lag", "close"], { error: "Expected lag or close" }),
    default: "lag",
  },
  subscribeTimeoutMs: {
    flags: "--subscribe-timeout-ms <ms>",
    env: "SUBSCRIBE_TIMEOUT_MS",
    description: "how long a subscribe waits for a read node that is away; then it fails",
    schema: integerSchema(1, 600_000),
    default: "10000",
  },
  reconnectInitialMs: {
    flags: "--reconnect-initial-ms <ms>",
    env: "RECONNECT_INITIAL_MS",
    description: "first wait before connecting to the read node again; doubles with each attempt",
    schema: integerSchema(1, 600_000),
    default: "100",
  },
  reconnectMaxMs: {
    flags: "--reconnect-max-ms <ms>",
    env: "RECONNECT_MAX_MS",
    description: "longest wait before connecting to the read node again",
    schema: integerSchema(1, 600_000),
    default: "10000",
  },
} satisfies OptionTable;

/** Options of {@link startProxy}. */
export type ProxyOptions = OptionsOf<typeof options>;

/** A proxy that runs. */
export interface RunningProxy extends RunningService {
  /** WebSocket URL for clients. */
  readonly wsUrl: string;
}

/**
 * Starts a proxy. It serves at once; the connection to the read node is made in the background, and
 * `/ready` tells whether it stands.
 *
 * @throws {ListenError} If the address cannot be had.
 * @throws {UsageError} If options contradict each other.
 */
// Async as every start is, so that what it throws comes as a rejection.
// deno-lint-ignore require-await
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { reconnectInitialMs, reconnectMaxMs } = options;
  if (reconnectInitialMs > reconnectMaxMs) {
    throw new UsageError(
      `--reconnect-initial-ms must not be over --reconnect-max-ms: received ${reconnectInitialMs} and ${reconnectMaxMs}`,
    );
  }
  const registry = createRegistry(systemClock.now());
  const metrics = new ProxyMetrics(registry);
  const { router, upstream, clients } = assemble(options, metrics);
  const addressOf = (request: Request, remote: string) =>
    callerAddress(request.headers, remote, options.trustProxy);
  let draining = false;
  const app = createApi({
    router,
    metrics,
    corsOrigins: options.corsOrigins,
    maxBodyBytes: options.maxBodyBytes,
    addressOf,
    notReady() {
      if (draining) return "Shutting down";
      if (!upstream.connected) return "The read node cannot be reached";
    },
  });
  const service = startService({
    name: "proxy",
    host: options.host,
    port: options.port,
    app,
    registry,
    health: () => new Response("OK"),
    upgrade: (request, remote) =>
      isHandshake(request) ? clients.accept(request, addressOf(request, remote)) : undefined,
    drain() {
      draining = true;
      clients.drain();
    },
    close() {
      clients.stop();
      upstream.stop();
    },
  });
  upstream.start();
  return { ...service, wsUrl: `${service.url.replace("http", "ws")}/ws` };
}

/** Makes the parts and connects them. */
function assemble(options: ProxyOptions, metrics: ProxyMetrics) {
  const timeoutMs = options.upstreamTimeoutMs;
  const router = new Router({
    methods: new MethodTable(options.writeMethods),
    nodes: {
      read: new NodeHttp({ target: "read", url: options.readNodeUrl, timeoutMs, metrics }),
      write: new NodeHttp({ target: "write", url: options.writeNodeUrl, timeoutMs, metrics }),
    },
    maxBatch: options.maxBatch,
    coalesceReads: options.coalesceReads,
    metrics,
  });
  const upstream: Upstream = new Upstream({
    url: options.readNodeWsUrl ?? webSocketUrl(options.readNodeUrl),
    clock: systemClock,
    random: Math.random,
    reconnectInitialMs: options.reconnectInitialMs,
    reconnectMaxMs: options.reconnectMaxMs,
    metrics,
    events: {
      opened: () => hub.upstreamOpened(systemClock.now()),
      closed: () => hub.upstreamClosed(),
      received(text) {
        const understood = hub.receive(text);
        clients.flush();
        return understood;
      },
    },
  });
  const hub = new Hub({
    capacity: options.broadcastCapacity,
    upstream,
    random: Math.random,
    subscribeTimeoutMs: options.subscribeTimeoutMs,
    slowClients: options.slowClients,
    events: metrics.hubEvents(),
  });
  const clients = new Clients({
    hub,
    router,
    clock: systemClock,
    metrics,
    origins: options.corsOrigins,
    maxClients: options.maxWsClients,
    maxMessageBytes: options.maxBodyBytes,
    maxSubscriptionsPerClient: options.maxSubscriptionsPerClient,
  });
  return { router, upstream, clients };
}

/** The WebSocket URL of a node that answers both on one port, as most do. */
function webSocketUrl(httpUrl: string): string {
  return httpUrl.replace(/^http/i, "ws");
}

export const run = serviceCommand({
  name: "proxy",
  description:
    "Routes JSON-RPC to a write and a read node, and shares one WebSocket among clients.",
  options,
  examples: [
    ["rangemaker proxy", "serve on 8546, in front of a node on 8545 (writes) and 8547 (reads)"],
    [
      "rangemaker proxy --read-node-url https://node.example --no-trust-proxy",
      "read from another node, and take the address of the peer for the caller's",
    ],
  ],
}, startProxy);
