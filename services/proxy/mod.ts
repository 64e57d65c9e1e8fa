import { monotonicClock } from "../../lib/clock.ts";
import { createServiceCommand } from "../../lib/cli/command.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { requireDistinctPorts } from "../../lib/cli/shared_options.ts";
import { listen, webSocketUrlOf } from "../../lib/http/listener.ts";
import { type RunningService, startOrClose, startService } from "../../lib/http/service.ts";
import { redactUrls } from "../../lib/redact.ts";
import { createProxyApi } from "./api.ts";
import { SHARE_PER_PEER } from "./shared/limits.ts";
import { isHandshake, type WsClients } from "./clients/ws_clients.ts";
import { ProxyMetrics } from "./shared/metrics.ts";
import { options, type ProxyOptions } from "./options.ts";
import { ProxyCore } from "./proxy_core.ts";
import { WsListener } from "./clients/ws_listener.ts";

export { options };
export type { ProxyOptions };

interface RunningProxy extends RunningService {
  readonly wsUrl: string;
  /** WebSocket URL of the second port, if there is one. */
  readonly wsPortUrl?: string;
  /** Base URL of the port for metrics, if there is one. */
  readonly metricsUrl?: string;
}

/**
 * Starts a proxy. It serves at once and connects to the read node in the background; `/ready` says
 * whether that connection is up.
 *
 * @throws {ListenError} If the address is taken or not this machine's.
 * @throws {UsageError} If options contradict each other.
 */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { port, wsPort, metricsPort } = options;
  requireDistinctPorts({ "--port": port, "--ws-port": wsPort, "--metrics-port": metricsPort });
  return await startOrClose((cleanup) => start(options, cleanup));
}

async function start(options: ProxyOptions, cleanup: AsyncDisposableStack): Promise<RunningProxy> {
  const { host, allowedHosts, reusePort, metricsPort } = options;
  const registry = createRegistry();
  const metrics = new ProxyMetrics(registry);
  const core = new ProxyCore(options, metrics);
  cleanup.defer(() => core.stop());
  core.start();
  const { nodes, clients, endpoint, cors } = core;
  const socketUrls = nodes.readNodes.all.map((node) => redactUrls(node.endpoint.wsUrl));
  let isStopping = false;
  const app = createProxyApi({
    cors,
    metrics,
    notReadyReason() {
      if (isStopping) return "Shutting down";
      if (nodes.isReachable) return;
      return `No WebSocket to a read node: ${socketUrls.join(", ")}`;
    },
  });
  const metricsListener = metricsPort === undefined
    ? undefined
    : listen(host, metricsPort, (request, remote) => app.fetch(request, { remote }), {
      portFlag: "--metrics-port",
      allowedHosts,
    });
  cleanup.defer(() => metricsListener?.stop());
  const wsListener = await listenForWebSockets(options, clients, metrics);
  cleanup.defer(() => wsListener?.stop());
  const service = startService({
    name: "proxy",
    host,
    allowedHosts,
    port: options.port,
    reusePort,
    app,
    registry,
    health: () => new Response("OK"),
    beforeRoutes: (request, remote, served) =>
      isHandshake(request)
        ? clients.accept(request, remote)
        : endpoint.handle(request, remote, served),
    async drain() {
      isStopping = true;
      await clients.closeAll();
    },
    close: () => cleanup.disposeAsync(),
  });
  const wsUrl = `${webSocketUrlOf(service.url)}/ws`;
  return {
    ...service,
    wsUrl,
    wsPortUrl: wsListener && wsUrl.replace(/:\d+\/ws$/, `:${wsListener.port}/ws`),
    metricsUrl: metricsListener?.url,
  };
}

/** Listens on the second port for WebSockets, if there is one. */
async function listenForWebSockets(
  { wsPort, host, allowedHosts, reusePort, ...options }: ProxyOptions,
  clients: WsClients,
  metrics: ProxyMetrics,
): Promise<WsListener | undefined> {
  if (wsPort === undefined) return undefined;
  return await WsListener.start({
    host,
    allowedHosts,
    port: wsPort,
    reusePort,
    clock: monotonicClock,
    maxMessageBytes: options.maxBodyBytes,
    // Behind a load balancer all handshakes come from its address.
    maxHandshakesPerPeer: options.trustProxy
      ? Math.floor(options.maxWsClients * SHARE_PER_PEER)
      : options.maxConnectionsPerAddress,
    onRefusal: () => metrics.countRefusal("connections_per_address"),
    clients,
  });
}

export const run = createServiceCommand({
  name: "proxy",
  description:
    "Routes JSON-RPC to a write and a read node, and shares one WebSocket among clients.",
  options,
  examples: [
    ["rangemaker proxy", "serve on 8546, in front of a node on 8545 (writes) and 8547 (reads)"],
    [
      "rangemaker proxy --read-node-url https://node.example --no-trust-proxy",
      "read from another node, and count callers by the address of the connection",
    ],
  ],
}, startProxy);
