import assert from "node:assert/strict";
import { AllowedHosts } from "../../../lib/http/allowed_hosts.ts";
import { callerAddress, limitKeys } from "../../../lib/http/caller_address.ts";

const PEER = "192.0.2.1";

function addressOf(header: string | undefined, trusted: boolean) {
  const headers = new Headers(header === undefined ? {} : { "x-forwarded-for": header });
  return callerAddress(headers, PEER, trusted);
}

Deno.test("callerAddress: is the last entry of X-Forwarded-For of a trusted peer; the whole header is forwarded", () => {
  type Row = [
    header: string | undefined,
    trusted: boolean,
    shown: string,
    next: string,
    key: string,
  ];
  const [one, three] = ["198.51.100.7", "10.1.1.1, 10.2.2.2 , 10.3.3.3"];
  const rows: Row[] = [
    [undefined, true, PEER, PEER, PEER],
    ["", true, PEER, PEER, PEER],
    [one, true, one, `${one}, ${PEER}`, `${one} via ${PEER}`],
    [`${three} `, true, "10.3.3.3", `${three}, ${PEER}`, `10.3.3.3 via ${PEER}`],
    ["203.0.113.9,", true, PEER, `203.0.113.9,, ${PEER}`, `unknown via ${PEER}`],
    ["no address", true, "no address", `no address, ${PEER}`, `unknown via ${PEER}`],
    [one, false, PEER, PEER, PEER],
    [undefined, false, PEER, PEER, PEER],
  ];
  for (const [header, trusted, shown, next, key] of rows) {
    const address = addressOf(header, trusted);
    assert.deepEqual([address.display, address.forwardedFor, address.key], [shown, next, key]);
    assert.equal(address.peerKey, PEER);
  }
});

Deno.test("callerAddress: a long X-Forwarded-For is cut to the nearest hops", () => {
  const long = "203.0.113.1, ".repeat(1_000) + "198.51.100.7";
  const { display, forwardedFor, key } = addressOf(long, true);
  assert(forwardedFor.length <= 800 + PEER.length + 2);
  assert.match(forwardedFor, /^203\.0\.113\.1, .*, 198\.51\.100\.7, 192\.0\.2\.1$/);
  assert.deepEqual([display, key], ["198.51.100.7", `198.51.100.7 via ${PEER}`]);
  const solid = addressOf("x".repeat(1_000), true);
  assert.deepEqual([solid.forwardedFor, solid.key], [PEER, `unknown via ${PEER}`]);
  assert(addressOf(`${"x".repeat(700)}, 198.51.100.7`, true).display.length <= 64);
});

Deno.test("limitKeys: all spellings of an IPv6 /64 are one caller", () => {
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
  for (const [text, key] of rows) assert.equal(limitKeys(text).key, key, text);
});

Deno.test("limitKeys: the networks are the /56 and /48 of IPv6, with the forwarding peer; none for IPv4", () => {
  const networks = ["2001:db8:0:1200::/56", "2001:db8:0::/48"];
  for (const text of ["2001:db8:0:12ff::1", "[2001:db8:0:1234::]:443", "2001:db8::1200:0:0:0:1"]) {
    assert.deepEqual(limitKeys(text).networks, networks, text);
    const behind = networks.map((network) => `${network} via ${PEER}`);
    assert.deepEqual(addressOf(text, true).networks, behind);
  }
  for (const text of ["192.0.2.7", "::ffff:192.0.2.7", "unknown"]) {
    assert.deepEqual(limitKeys(text).networks, [], text);
  }
});

/** Names after the colon are allowed in addition to the service's own. */
const cases: [address: string, names: string[], allowed: string[], refused: string[]][] = [
  ["127.0.0.1", [], [
    ...["localhost", "localhost:3000", "LOCALHOST.", "127.0.0.1", "127.0.0.1:80", "127.1.2.3"],
    ...["[::1]", "[::1]:8545", "[::ffff:127.0.0.1]"],
  ], [
    ...["evil.example", "evil.example:3000", "localhost.evil.example", "127.0.0.1.evil.example"],
    ...["evil.localhost@x", "localhost@evil.example", "localhost:80:80", "localhost/", "a b"],
    ...["192.0.2.1", "[2001:db8::1]", "0.0.0.0", "127.1", "0x7f000001", "", ":80", "[localhost"],
  ]],
  ["::1", [], ["localhost", "[::1]", "127.0.0.1"], ["evil.example", "[::2]"]],
  ["127.0.0.1", ["rpc.example", "B.example."], [
    ...["rpc.example", "RPC.example:443", "b.example", "localhost"],
  ], ["evil.example", "x.rpc.example", "192.0.2.1"]],
  ["127.0.0.1", ["*"], ["evil.example", ""], []],
  ["0.0.0.0", [], ["evil.example", "localhost", "192.0.2.1", ""], []],
  ["0.0.0.0", ["bridge"], ["bridge", "bridge:3001", "192.0.2.1", "[2001:db8::1]"], [
    ...["evil.example", "solver"],
  ]],
];
for (const [address, names, allowed, refused] of cases) {
  Deno.test(`AllowedHosts: on ${address} with [${names}], only its own names are accepted`, () => {
    const hosts = new AllowedHosts(address, names);
    assert.equal(hosts.refusalOf(new Headers())?.code, "INVALID_REQUEST", "without a Host header");
    const refusesOthers = () => {
      for (const other of refused) {
        const code = hosts.refusalOf(new Headers({ host: other }))?.code;
        assert.equal(code, "HOST_NOT_ALLOWED", other);
      }
    };
    refusesOthers();
    // Twice, since the last allowed header is remembered.
    for (const host of [...allowed, ...allowed]) {
      assert.equal(hosts.refusalOf(new Headers({ host })), undefined, host);
      refusesOthers();
    }
  });
}
