/** Parts of a hub that a test does not look at. */
import type { ClientSink, HubEvents } from "../../../services/proxy/hub/hub_client.ts";

export const NO_EVENTS: HubEvents = { received() {}, sent() {}, lagged() {}, subscribed() {} };

/** A connection that takes everything. */
export const OPEN_SINK: ClientSink = {
  room: () => Infinity,
  spareRoom: () => 0,
  send() {},
  close() {},
};
