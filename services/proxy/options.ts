import { HOUR_MS } from "../../lib/time.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import { SERVICE_WAIT_MAX_MS } from "../../lib/timing/backoff.ts";
import { type OptionsOf, UsageError } from "../../lib/cli/options.ts";
import {
  corsOriginsOption,
  limiterOptions,
  listenOptions,
  trustProxyOption,
} from "../../lib/cli/shared_options.ts";
import { optionsFor } from "../../lib/cli/option_names.ts";
import { webSocketUrlOf } from "../../lib/http/listener.ts";
import type { ReadNodeEndpoint } from "./node/read_node.ts";

/** The option table of `rangemaker proxy` (spec: RPC proxy, "Proxy configuration"). */
export const options = optionsFor("proxy", {
  port: {
    kind: kinds.port,
    env: "PORT",
    description: "listening port; 0 chooses a free one",
    default: "8546",
  },
  ...listenOptions,
  wsPort: {
    kind: kinds.port,
    description:
      "second port for WebSockets only, several times as fast with thousands of clients; " +
      "0 chooses a free one",
  },
  reusePort: {
    kind: kinds.flag,
    description: "let several proxies listen on the same ports, one for each core; Linux only",
    default: "false",
  },
  metricsPort: {
    kind: kinds.port,
    description:
      "further port for /metrics, /health and /ready of this process alone; 0 chooses a free one",
  },
  writeNodeUrl: {
    kind: kinds.httpUrl,
    env: "WRITE_NODE_URL",
    description: "write node for transactions",
    default: "http://localhost:8545",
  },
  readNodeUrl: {
    kind: kinds.httpUrls,
    env: "READ_NODE_URL",
    description: "read node for queries, or several of one chain, comma-separated",
    default: "http://localhost:8547",
  },
  readNodeWsUrl: {
    kind: kinds.wsUrls,
    env: "READ_NODE_WS_URL",
    description:
      "read node WebSocket URL, one for each read node; derived from --read-node-url by default",
  },
  readNodeMaxLag: {
    flags: "--read-node-max-lag <blocks>",
    kind: kinds.integer(0, 1_000_000),
    description:
      "how many blocks one of several read nodes may be behind before it is removed from the read group",
    default: "3",
  },
  broadcastCapacity: {
    flags: "--broadcast-capacity <messages>",
    kind: kinds.integer(1, 1_048_576),
    env: "BROADCAST_CAPACITY",
    description: "notifications buffered for slow clients, over all subscriptions",
    default: "4096",
  },
  corsOrigins: corsOriginsOption,
  trustProxy: trustProxyOption,
  writeMethods: {
    flags: "--write-methods <methods>",
    kind: kinds.list,
    env: "WRITE_METHODS",
    description: "further methods for the write node, comma-separated",
    default: "",
  },
  maxBodyBytes: {
    flags: "--max-body-bytes <bytes>",
    kind: kinds.integer(1_024, 1_073_741_824),
    description: "largest request over HTTP, largest message over WebSocket; 5 MiB as in geth",
    default: "5242880",
  },
  maxBatch: {
    flags: "--max-batch <calls>",
    kind: kinds.integer(1, 100_000),
    description: "most calls in one batch; 1000 as in geth",
    default: "1000",
  },
  upstreamTimeoutMs: {
    kind: kinds.duration(1, 600_000),
    description: "timeout of a call to a node",
    default: "30000",
  },
  maxWsClients: {
    flags: "--max-ws-clients <clients>",
    kind: kinds.integer(1, 1_000_000),
    description: "most WebSocket clients; each uses a file descriptor and memory",
    default: "10000",
  },
  maxSubscriptionsPerClient: {
    flags: "--max-subscriptions-per-client <subscriptions>",
    kind: kinds.integer(1, 10_000),
    description: "most subscriptions of one WebSocket client; a wallet uses fewer than ten",
    default: "100",
  },
  maxBufferedBytes: {
    flags: "--max-buffered-bytes <bytes>",
    kind: kinds.integer(1_048_576, 1_099_511_627_776),
    description: "memory for answers and large requests, all callers together; 256 MiB",
    default: "268435456",
  },
  maxConnectionsPerAddress: {
    flags: "--max-connections-per-address <connections>",
    kind: kinds.integer(1, 1_000_000),
    description: "most WebSocket clients, and most open HTTP requests, of one address (IPv6: /64)",
    default: "256",
  },
  maxUpstreamSubscriptions: {
    flags: "--max-upstream-subscriptions <subscriptions>",
    kind: kinds.integer(8, 1_000_000),
    description:
      "most different subscriptions with parameters at the read node, an eighth of it for one " +
      "address; the node accepts 4096 per socket",
    default: "2048",
  },
  rateLimit: { ...limiterOptions.rateLimit, default: "0" },
  rateLimitTotal: { ...limiterOptions.rateLimitTotal, default: "0" },
  reads: {
    flags: "--reads <auto|http>",
    kind: kinds.choice(["auto", "http"]),
    description:
      "send single reads over a WebSocket to the read node while that works well (auto), which is " +
      "faster, or all over HTTP, where the node gets X-Forwarded-For (http)",
    default: "auto",
  },
  httpMethods: {
    flags: "--http-methods <methods>",
    kind: kinds.list,
    description:
      "further reads that always go over HTTP because their answers are large, comma-separated",
    default: "",
  },
  slowClients: {
    flags: "--slow-clients <lag|close>",
    kind: kinds.choice(["lag", "close"]),
    description:
      "a client that missed notifications continues (lag) or is closed with 1013 (close)",
    default: "lag",
  },
  headSilenceMs: {
    kind: kinds.duration(1, HOUR_MS),
    description:
      "time without a new head after which the head is read over HTTP; if the chain has moved " +
      "on, the WebSocket reconnects",
    default: "15000",
  },
  reconnectInitialMs: {
    kind: kinds.duration(1, 600_000),
    description: "first delay before reconnecting to the read node; doubles with each attempt",
    default: "100",
  },
  reconnectMaxMs: {
    kind: kinds.duration(1, 600_000),
    description: "longest delay before reconnecting to the read node",
    default: String(SERVICE_WAIT_MAX_MS),
  },
});

export type ProxyOptions = OptionsOf<typeof options>;

/** Most read nodes: the id of a filter has two digits for its node. */
const READ_NODES_MAX = 256;

/** The read nodes. @throws {UsageError} If there are too many, or one has no WebSocket URL. */
export function readNodeEndpoints(
  { readNodeUrl, readNodeWsUrl }: ProxyOptions,
): ReadNodeEndpoint[] {
  const urls = kinds.itemsOf(readNodeUrl);
  const wsUrls = readNodeWsUrl === undefined ? undefined : kinds.itemsOf(readNodeWsUrl);
  if (wsUrls !== undefined && wsUrls.length !== urls.length) {
    throw new UsageError(
      `--read-node-ws-url must have a URL for each of --read-node-url: received ${wsUrls.length} ` +
        `and ${urls.length}`,
    );
  }
  if (urls.length > READ_NODES_MAX) {
    throw new UsageError(
      `--read-node-url may have ${READ_NODES_MAX} URLs: received ${urls.length}`,
    );
  }
  const hosts = urls.map((url) => new URL(url).host);
  return urls.map((url, index) => {
    const { host } = new URL(url);
    const isUnique = hosts.indexOf(host) === hosts.lastIndexOf(host);
    return {
      url,
      wsUrl: wsUrls?.[index] ?? webSocketUrlOf(url), // most nodes answer both on one port
      name: isUnique ? host : `${host} ${index + 1}`,
    };
  });
}
