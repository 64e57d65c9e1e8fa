import type { CallerAddress } from "../../lib/http/caller_address.ts";

/** The address of a caller who connects directly. */
export function address(text = "192.0.2.1"): CallerAddress {
  return { display: text, forwardedFor: text, key: text, networks: [], peerKey: text };
}
