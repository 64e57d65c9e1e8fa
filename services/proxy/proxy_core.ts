import { type Clock, monotonicClock, systemClock } from "../../lib/clock.ts";
import { RequestLimiter } from "../../lib/http/limiter.ts";
import { Cors } from "../../lib/http/cors.ts";
import { AddressCounts, ByteBudget, CallerBytes } from "./shared/limits.ts";
import { InFlightReads } from "./calls/in_flight_reads.ts";
import { MethodKinds } from "./calls/method_kinds.ts";
import { Router } from "./calls/router.ts";
import { RpcEndpoint } from "./clients/rpc_endpoint.ts";
import { WsClients } from "./clients/ws_clients.ts";
import { DeliveryLoop } from "./hub/delivery_loop.ts";
import { Hub } from "./hub/hub.ts";
import type { ProxyMetrics } from "./shared/metrics.ts";
import { Turns } from "../../lib/timing/turns.ts";
import { HTTP_CONNECTIONS_MAX } from "./node/http_pool.ts";
import { UpstreamNodes } from "./upstream_nodes.ts";
import type { ProxyOptions } from "./options.ts";

/** How long a subscribe call waits for a disconnected read node before it fails. */
const SUBSCRIBE_TIMEOUT_MS = 10_000;

/**
 * A proxy without its listeners. A call goes down once: from a client through the router to a node.
 * Notifications come up: from the node through the hub to the clients.
 */
export class ProxyCore {
  readonly nodes: UpstreamNodes;
  readonly hub: Hub;
  readonly router: Router;
  readonly cors: Cors;
  readonly endpoint: RpcEndpoint;
  readonly clients: WsClients;
  readonly #delivery: DeliveryLoop;
  readonly #limiter: RequestLimiter | undefined;
  readonly #turns: Turns;

  /**
   * @param clock Measures durations: it must not jump.
   * @param unixClock Is compared with the times of blocks.
   */
  constructor(
    options: ProxyOptions,
    metrics: ProxyMetrics,
    clock: Clock = monotonicClock,
    unixClock: Clock = systemClock,
  ) {
    const { maxBodyBytes, trustProxy, rateLimit, rateLimitTotal } = options;
    const budget = new ByteBudget(options.maxBufferedBytes);
    const inFlight = new InFlightReads();
    const turns = this.#turns = new Turns(clock);
    const hub = this.hub = this.#createHub(options, metrics, inFlight);
    const delivery = this.#delivery = new DeliveryLoop(hub, clock);
    const forNodes = { options, hub, delivery, clock, unixClock, budget, metrics };
    const nodes = this.nodes = new UpstreamNodes(forNodes);
    const router = this.router = new Router({
      methods: new MethodKinds(options.writeMethods, options.httpMethods),
      nodes: { write: nodes.writePool, read: nodes.readPool },
      plainReads: nodes.plainReadPath,
      readNodes: nodes.readNodes,
      inFlight,
      maxBatch: options.maxBatch,
      budget,
      metrics,
      turns,
    });
    const cors = this.cors = new Cors(options.corsOrigins);
    // One limit for HTTP and WebSockets together: no caller can occupy all connections to a node.
    const openRequests = new AddressCounts(options.maxConnectionsPerAddress, HTTP_CONNECTIONS_MAX);
    const limiter = this.#limiter = rateLimit + rateLimitTotal > 0
      ? new RequestLimiter(options)
      : undefined;
    const callerBytes = new CallerBytes(budget);
    const shared = { budget, callerBytes, openRequests, limiter };
    const forCalls = { router, cors, metrics, clock, trustProxy, ...shared };
    this.endpoint = new RpcEndpoint({ ...forCalls, maxBodyBytes });
    this.clients = new WsClients({
      ...forCalls,
      turns,
      hub,
      maxClients: options.maxWsClients,
      maxClientsPerAddress: options.maxConnectionsPerAddress,
      maxMessageBytes: maxBodyBytes,
      maxSubscriptionsPerClient: options.maxSubscriptionsPerClient,
    });
    metrics.scrapedGauge(
      "proxy_buffered_bytes",
      "Bytes of answers and large requests in memory; the limit is --max-buffered-bytes.",
      () => budget.recount(),
    );
  }

  #createHub(options: ProxyOptions, metrics: ProxyMetrics, inFlight: InFlightReads): Hub {
    const events = metrics.createHubEvents();
    const hub = new Hub({
      capacity: options.broadcastCapacity,
      subscribeTimeoutMs: SUBSCRIBE_TIMEOUT_MS,
      maxSubscriptions: options.maxUpstreamSubscriptions,
      slowClients: options.slowClients,
      events: {
        ...events,
        onReceived() {
          events.onReceived();
          // A read that follows a notification must not share the answer to an older read.
          inFlight.clear();
        },
      },
    });
    metrics.scrapedGauge(
      "proxy_broadcast_active_subscriptions",
      "Subscriptions of clients in the hub.",
      () => hub.table.memberCount,
    );
    metrics.scrapedGauge(
      "proxy_upstream_subscriptions",
      "Different subscriptions at the read node; " +
        "--max-upstream-subscriptions limits those with parameters.",
      () => hub.table.count,
    );
    return hub;
  }

  /** Connects to the nodes and starts all timers. */
  start(): void {
    this.#delivery.start();
    this.nodes.start();
  }

  /** Stops all timers, and the connections to the nodes. */
  async stop(): Promise<void> {
    this.endpoint.stop();
    this.#turns.stop();
    this.#delivery.stop();
    this.nodes.stop();
    await this.#limiter?.stop();
  }
}
