/** A hub between clients and a node that a test plays. */
import type { CallerAddress } from "../../../lib/http/caller_address.ts";
import { Hub, type HubEvents, type HubOptions } from "../../../services/proxy/hub/hub.ts";
import type {
  ClientSink,
  HubClient,
  SubscribeOutcome,
} from "../../../services/proxy/hub/subscriptions.ts";
import type { UpstreamPort } from "../../../services/proxy/hub/subscribe_calls.ts";
import { subscriptionNotice } from "../../support/fake_feed.ts";

export const NO_EVENTS: HubEvents = {
  onReceived() {},
  onSent() {},
  onLagged() {},
  onRefused() {},
};

/** A connection that accepts everything. */
export const OPEN_SINK: ClientSink = {
  writableBytes: () => Infinity,
  overflowBytes: () => 0,
  send() {},
  close() {},
};

/** A hub with room for everything, whose node answers when the test asks for it. */
export class HubScene<Params extends [string, ...unknown[]] = [string]> {
  /** What the node was asked and has not answered. */
  readonly requests: { id: number; method: string; params: Params }[] = [];
  readonly dropped: string[] = [];
  /** The node at the other end of a connection. */
  readonly upstream: UpstreamPort = {
    send: (text) => this.requests.push(JSON.parse(text)) > 0,
    drop: (reason) => this.dropped.push(reason),
  };
  acceptsHead = (_block: unknown) => true;
  readonly hub: Hub;

  constructor(overrides: Partial<HubOptions> = {}) {
    this.hub = new Hub({
      capacity: 4,
      maxSubscriptions: 10_000,
      subscribeTimeoutMs: 1_000,
      slowClients: "lag",
      events: NO_EVENTS,
      ...overrides,
    });
    this.hub.onUpstreamOpened(this.upstream, 0);
  }

  /** Subscribes to something that is known by its name alone. */
  subscribe(client: HubClient, topic: string, nowMs = 0): Promise<SubscribeOutcome> {
    const request = { namespace: "eth", paramsText: `["${topic}"]`, key: topic };
    return new Promise((answer) => this.hub.subscribe(client, request, nowMs, answer));
  }

  /** The node grants all that it was asked for, each under its topic as the id. */
  grant(): void {
    for (const { id, method, params: [result] } of this.requests.splice(0)) {
      if (method === "eth_subscribe") this.reply(id, { result });
    }
  }

  /** The node answers a call. @returns Whether the hub understood it. */
  reply(id: number, outcome: { result: unknown } | { error: object }): boolean {
    return this.receive(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
  }

  /** The node notifies. @returns Whether the hub understood it. */
  notify(subscription: string, result: unknown): boolean {
    return this.receive(subscriptionNotice(subscription, result));
  }

  /** The node sends a frame. @returns Whether the hub understood it. */
  receive(text: string): boolean {
    return this.hub.receive(text, this.acceptsHead);
  }
}

/** The address of a caller who connects directly. */
export function address(text = "192.0.2.1"): CallerAddress {
  return { display: text, forwardedFor: text, key: text, networks: [], peerKey: text };
}
