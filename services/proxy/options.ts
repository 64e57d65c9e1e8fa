import { z } from "zod";
import {
  corsOriginsOption,
  hostOption,
  httpUrlSchema,
  integerSchema,
  portSchema,
  switchSchema,
  wsUrlSchema,
} from "../../lib/cli/option_types.ts";
import { limiterOptions } from "../../lib/http/limiter.ts";
import type { OptionsOf, OptionTable } from "../../lib/cli/options.ts";

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
  wsPort: {
    flags: "--ws-port <port>",
    env: "WS_PORT",
    description:
      "second port only for WebSockets, where bursts of notifications reach thousands of " +
      "clients several times as fast; 0 takes a free one",
    schema: portSchema.optional(),
  },
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
    description: "read node WebSocket URL; derived from --read-node-url by default",
    schema: wsUrlSchema.optional(),
  },
  broadcastCapacity: {
    flags: "--broadcast-capacity <messages>",
    env: "BROADCAST_CAPACITY",
    description: "notifications kept for clients that are behind, all subscriptions together",
    schema: integerSchema(1, 1_048_576),
    default: "4096",
  },
  corsOrigins: corsOriginsOption,
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
    description: "further methods for the write node, comma-separated",
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
  maxBufferedBytes: {
    flags: "--max-buffered-bytes <bytes>",
    env: "MAX_BUFFERED_BYTES",
    description: "memory for answers and large requests, all callers together; 256 MiB",
    schema: integerSchema(1_048_576, 1_099_511_627_776),
    default: "268435456",
  },
  maxConnectionsPerAddress: {
    flags: "--max-connections-per-address <connections>",
    env: "MAX_CONNECTIONS_PER_ADDRESS",
    description: "most WebSocket clients, and most open HTTP requests, of one address (IPv6: /64)",
    schema: integerSchema(1, 1_000_000),
    default: "256",
  },
  maxUpstreamSubscriptions: {
    flags: "--max-upstream-subscriptions <subscriptions>",
    env: "MAX_UPSTREAM_SUBSCRIPTIONS",
    description:
      "most different subscriptions at the read node, an eighth of it for one address; " +
      "the node takes 4096 on a socket",
    schema: integerSchema(8, 1_000_000),
    default: "1024",
  },
  rateLimit: { ...limiterOptions.rateLimit, default: "0" },
  rateLimitTotal: { ...limiterOptions.rateLimitTotal, default: "0" },
  readsOverWs: {
    flags: "--reads-over-ws [boolean]",
    env: "READS_OVER_WS",
    description: "send plain single reads over the WebSocket to the read node, not over HTTP: " +
      "faster, but without X-Forwarded-For, and notifications wait behind a huge answer",
    schema: switchSchema,
    default: "false",
    negatable: true,
  },
  coalesceReads: {
    flags: "--coalesce-reads [boolean]",
    env: "COALESCE_READS",
    description: "send equal reads that are in flight together once",
    schema: switchSchema,
    default: "true",
    negatable: true,
  },
  slowClients: {
    flags: "--slow-clients <lag|close>",
    env: "SLOW_CLIENTS",
    description:
      "a client that missed notifications continues (lag) or is closed with 1013 (close)",
    schema: z.enum(["lag", "close"], { error: "Expected lag or close" }),
    default: "lag",
  },
  subscribeTimeoutMs: {
    flags: "--subscribe-timeout-ms <ms>",
    env: "SUBSCRIBE_TIMEOUT_MS",
    description: "how long a subscribe waits while the read node is disconnected; then it fails",
    schema: integerSchema(1, 600_000),
    default: "10000",
  },
  headSilenceMs: {
    flags: "--head-silence-ms <ms>",
    env: "HEAD_SILENCE_MS",
    description:
      "after this time without a new head, the read node's head is read over HTTP; if the " +
      "chain moved on, the WebSocket is replaced",
    schema: integerSchema(1, 3_600_000),
    default: "15000",
  },
  reconnectInitialMs: {
    flags: "--reconnect-initial-ms <ms>",
    env: "RECONNECT_INITIAL_MS",
    description: "first wait before reconnecting to the read node; doubles with each attempt",
    schema: integerSchema(1, 600_000),
    default: "100",
  },
  reconnectMaxMs: {
    flags: "--reconnect-max-ms <ms>",
    env: "RECONNECT_MAX_MS",
    description: "longest wait before reconnecting to the read node",
    schema: integerSchema(1, 600_000),
    default: "10000",
  },
} satisfies OptionTable;

/** Options of `startProxy`. */
export type ProxyOptions = OptionsOf<typeof options>;
