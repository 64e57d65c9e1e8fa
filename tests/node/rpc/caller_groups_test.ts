import assert from "node:assert/strict";
import { callerGroups } from "../../../services/node/rpc/caller_groups.ts";

const PROXY = "192.0.2.2";
const VIA_PROXY = `via ${PROXY}`;

Deno.test("callerGroups: returns the peer or, behind a proxy, the proxy and the last two addresses", () => {
  const rows: [header: string | null, path: string[]][] = [
    [null, [PROXY]],
    ["198.51.100.1", [VIA_PROXY, `198.51.100.1 ${VIA_PROXY}`]],
    // A load balancer in front of the proxy reports its client; the client's own header is ignored.
    ["forged, 198.51.100.1, 192.0.2.3", [
      VIA_PROXY,
      `192.0.2.3 ${VIA_PROXY}`,
      `198.51.100.1 192.0.2.3 ${VIA_PROXY}`,
    ]],
    ["2001:db8::1:2:3:4", [VIA_PROXY, `2001:db8:0:0::/64 ${VIA_PROXY}`]],
    ["", [VIA_PROXY, `unknown ${VIA_PROXY}`]],
    ["x".repeat(5_000), [VIA_PROXY, `unknown ${VIA_PROXY}`]],
    [`${"x".repeat(5_000)}, 198.51.100.1`, [
      VIA_PROXY,
      `198.51.100.1 ${VIA_PROXY}`,
      `unknown 198.51.100.1 ${VIA_PROXY}`,
    ]],
  ];
  for (const [header, path] of rows) {
    assert.deepEqual(callerGroups(header, PROXY), path, header ?? "no header");
  }
});
