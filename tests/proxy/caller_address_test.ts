import assert from "node:assert/strict";
import { callerAddress } from "../../services/proxy/caller_address.ts";

const REMOTE = "192.0.2.1";

Deno.test("Caller address: what logs show and nodes are told, trusted or not", () => {
  const rows: [said: string | undefined, trusted: boolean, shown: string, forwarded: string][] = [
    [undefined, true, REMOTE, REMOTE],
    ["", true, REMOTE, REMOTE],
    ["198.51.100.7", true, "198.51.100.7", `198.51.100.7, ${REMOTE}`],
    ["198.51.100.7 , 10.0.0.1", true, "198.51.100.7", `198.51.100.7 , 10.0.0.1, ${REMOTE}`],
    ["198.51.100.7", false, REMOTE, REMOTE],
    [undefined, false, REMOTE, REMOTE],
  ];
  for (const [said, trusted, shown, forwardedFor] of rows) {
    const headers = new Headers(said === undefined ? {} : { "x-forwarded-for": said });
    const address = callerAddress(headers, REMOTE, trusted);
    assert.deepEqual([address.shown, address.forwardedFor], [shown, forwardedFor]);
  }
});
