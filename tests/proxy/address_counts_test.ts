import assert from "node:assert/strict";
import { addressKey, callerAddress } from "../../lib/http/caller_address.ts";
import { AddressCounts } from "../../services/proxy/address_counts.ts";

const REMOTE = "192.0.2.1";

function from(header: string | undefined, trusted: boolean, remote = REMOTE) {
  const headers = new Headers(header === undefined ? {} : { "x-forwarded-for": header });
  return callerAddress(headers, remote, trusted);
}

Deno.test("Caller address: what logs show and nodes receive, trusted or not", () => {
  const rows: [said: string | undefined, trusted: boolean, shown: string, forwarded: string][] = [
    [undefined, true, REMOTE, REMOTE],
    ["", true, REMOTE, REMOTE],
    ["198.51.100.7", true, "198.51.100.7", `198.51.100.7, ${REMOTE}`],
    ["198.51.100.7 , 10.0.0.1", true, "10.0.0.1", `198.51.100.7 , 10.0.0.1, ${REMOTE}`],
    ["198.51.100.7", false, REMOTE, REMOTE],
    [undefined, false, REMOTE, REMOTE],
  ];
  for (const [said, trusted, shown, forwardedFor] of rows) {
    const address = from(said, trusted);
    assert.deepEqual([address.shown, address.forwardedFor], [shown, forwardedFor]);
  }
});

Deno.test("Caller address: limits count by the entry that the trusted peer added", () => {
  const rows: [said: string | undefined, trusted: boolean, key: string][] = [
    [undefined, true, REMOTE],
    ["203.0.113.9, 198.51.100.7", true, `198.51.100.7 via ${REMOTE}`],
    ["203.0.113.9, 198.51.100.7", false, REMOTE],
    ["203.0.113.9,", true, `unknown via ${REMOTE}`],
    ["no address", true, `unknown via ${REMOTE}`],
  ];
  for (const [said, trusted, key] of rows) {
    const address = from(said, trusted);
    assert.deepEqual([address.key, address.peerKey], [key, REMOTE], said);
  }
});

Deno.test("Caller address: of a header that is too long, the nearest hops are kept", () => {
  const long = "203.0.113.1, ".repeat(1_000) + "198.51.100.7";
  const { shown, forwardedFor, key } = from(long, true);
  assert(forwardedFor.length <= 800 + REMOTE.length + 2);
  assert.match(forwardedFor, /^203\.0\.113\.1, .*, 198\.51\.100\.7, 192\.0\.2\.1$/);
  assert.deepEqual([shown, key], ["198.51.100.7", `198.51.100.7 via ${REMOTE}`]);
  const solid = from("x".repeat(1_000), true);
  assert.deepEqual([solid.forwardedFor, solid.key], [REMOTE, `unknown via ${REMOTE}`]);
  assert(from(`${"x".repeat(700)}, 198.51.100.7`, true).shown.length <= 64);
});

Deno.test("Address key: an IPv6 /64 is one caller, however its address is written", () => {
  const rows: [text: string, key: string][] = [
    ["192.0.2.1", "192.0.2.1"],
    ["192.0.2.1:4711", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["2001:DB8:0:0:ffff:ffff:ffff:ffff", "2001:db8:0:0::/64"],
    ["2001:0db8:0000::2", "2001:db8:0:0::/64"],
    ["[2001:db8::3]:443", "2001:db8:0:0::/64"],
    ["2001:db8:0:1::1", "2001:db8:0:1::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["1:2:3:4:5:6:7::", "1:2:3:4::/64"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
    ["", "unknown"],
    ["localhost", "unknown"],
    ["2001:db8", "unknown"],
  ];
  for (const [text, key] of rows) assert.equal(addressKey(text), key, text);
});

Deno.test("Address counts: each address has its limit, and so has the peer that names them", () => {
  const counts = new AddressCounts(2, 3);
  const behind = (n: number) => from(`198.51.100.${n}`, true);
  const direct = from(undefined, true);
  assert.deepEqual([1, 1, 1].map((n) => counts.tryAdd(behind(n))), [true, true, false]);
  assert.deepEqual([2, 3].map((n) => counts.tryAdd(behind(n))), [true, false], "the peer's limit");
  // The peer's own requests count by its address, like those of any caller.
  assert.deepEqual([1, 2, 3].map(() => counts.tryAdd(direct)), [true, true, false]);
  assert(counts.tryAdd(from(undefined, true, "192.0.2.2")), "another peer has its own");
  counts.remove(behind(1));
  assert(counts.hasRoom(behind(3)));
  assert(counts.tryAdd(behind(3)));
  assert(!counts.hasRoom(behind(4)));
});

Deno.test("Address counts: few addresses behind a peer leave room for every other one", () => {
  const counts = new AddressCounts(256, 921);
  const behind = (n: number) => from(`198.51.100.${n}`, true);
  const taken = [1, 2, 3, 4, 5].map((n) => {
    let taken = 0;
    while (counts.tryAdd(behind(n))) taken += 1;
    return taken;
  });
  assert.deepEqual(taken, [256, 256, 205, 102, 51]);
  assert(counts.tryAdd(behind(6)));
});

Deno.test("Address counts: a forged address does not use up the limit of its owner", () => {
  const counts = new AddressCounts(2, 100);
  const forger = callerAddress(new Headers({ "x-forwarded-for": "198.51.100.7" }), REMOTE, true);
  assert.deepEqual([1, 2, 3].map(() => counts.tryAdd(forger)), [true, true, false]);
  const owner = callerAddress(new Headers(), "198.51.100.7", true);
  assert.equal(counts.tryAdd(owner), true);
  const other = { "x-forwarded-for": "198.51.100.7" };
  assert.equal(counts.tryAdd(callerAddress(new Headers(other), "192.0.2.99", true)), true);
});
