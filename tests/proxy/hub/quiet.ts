/** Parts of a hub that a test does not look at. */
import { Hub, type HubOptions } from "../../../services/proxy/hub/hub.ts";
import type { ClientSink, HubEvents } from "../../../services/proxy/hub/hub_client.ts";

export const NO_EVENTS: HubEvents = { received() {}, sent() {}, lagged() {}, subscribed() {} };

/** A connection that takes everything. */
export const OPEN_SINK: ClientSink = {
  room: () => Infinity,
  spareRoom: () => 0,
  send() {},
  close() {},
};

/** A hub with room for everything; the node grants nothing unless the test's `upstream` does. */
export function hubWith(given: Partial<HubOptions>): Hub {
  return new Hub({
    ...{ capacity: 4, maxSubscriptions: 10_000, subscribeTimeoutMs: 1_000, slowClients: "lag" },
    ...{ random: () => 0.5, upstream: { send: () => true, drop() {} }, events: NO_EVENTS },
    ...given,
  });
}

/** A subscription to something that is known by its name alone. */
export function topicRequest(topic: string) {
  return { namespace: "eth", paramsText: `["${topic}"]`, key: topic };
}
