import type { SubscriptionRequest } from "./subscription_request.ts";
import type { HubClient } from "./hub_client.ts";
import type { OutgoingMessage } from "./outgoing_message.ts";

/** A notification, encoded once for all its readers. */
export interface Notice {
  feed: Feed;
  /** Its number among the notifications of the feed, from 0. */
  index: number;
  message: OutgoingMessage;
}

/** What a client that asked to subscribe is told: an id, or the JSON text of an error. */
export type SubscribeOutcome = { id: string } | { errorText: string };

/** A client that waits for the node's answer. */
export interface Waiter {
  /** Unix milliseconds after which it is told that the node cannot be reached. */
  deadlineMs: number;
  answer: (outcome: SubscribeOutcome) => void;
}

/**
 * One subscription at the node, shared by all clients that asked for the same. Its state is one of:
 * wanted (neither id is set), asked (`askedAs` is set) or live (`upstreamId` is set).
 */
export class Feed {
  readonly request: SubscriptionRequest;
  /** The id that clients know: given once, kept over reconnects. */
  publicId: string | undefined;
  /** The node's id on the present connection. */
  upstreamId: string | undefined;
  /** Id of the request to the node that is not answered yet. */
  askedAs: number | undefined;
  /** Refusals in a row by a node that had granted the subscription before. */
  refusals = 0;
  /** Notifications so far. */
  emitted = 0;
  /** Notifications that the ring no longer holds; always the first ones. */
  evicted = 0;
  /** The newest notifications, those since the last flush of the hub. */
  fresh: OutgoingMessage[] = [];
  readonly members = new Set<HubClient>();
  readonly waiters = new Map<HubClient, Waiter>();

  constructor(request: SubscriptionRequest) {
    this.request = request;
  }

  /** Whether a client uses this feed or waits for it. */
  involves(client: HubClient): boolean {
    return this.members.has(client) || this.waiters.has(client);
  }

  /** Whether nobody uses this feed or waits for it. */
  get idle(): boolean {
    return this.members.size === 0 && this.waiters.size === 0;
  }
}
