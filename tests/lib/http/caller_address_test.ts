import assert from "node:assert/strict";
import { callerAddress } from "../../../lib/http/caller_address.ts";

const PEER = "192.0.2.1";

Deno.test("callerAddress: the last entry of X-Forwarded-For, if trusted; nodes get all of it", () => {
  const rows: [header: string | undefined, trusted: boolean, caller: string, next: string][] = [
    [undefined, true, PEER, PEER],
    ["", true, PEER, PEER],
    ["198.51.100.7", true, "198.51.100.7", `198.51.100.7, ${PEER}`],
    ["10.1.1.1, 10.2.2.2 , 10.3.3.3 ", true, "10.3.3.3", `10.1.1.1, 10.2.2.2 , 10.3.3.3, ${PEER}`],
    ["203.0.113.9,", true, PEER, `203.0.113.9,, ${PEER}`],
    ["198.51.100.7", false, PEER, PEER],
    [undefined, false, PEER, PEER],
  ];
  for (const [header, trusted, caller, forwardedFor] of rows) {
    const headers = new Headers(header === undefined ? {} : { "x-forwarded-for": header });
    const address = callerAddress(headers, PEER, trusted);
    assert.deepEqual(
      [address.shown, address.forwardedFor, address.peerKey],
      [caller, forwardedFor, PEER],
    );
  }
});
