import assert from "node:assert/strict";
import { AllowedHosts } from "../../../lib/http/allowed_hosts.ts";

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
  Deno.test(`AllowedHosts: on ${address} with [${names}]`, () => {
    const hosts = new AllowedHosts(address, names);
    // Twice, since the last allowed header is remembered.
    for (const host of [...allowed, ...allowed]) {
      assert.equal(hosts.refusal(new Headers({ host })), undefined, host);
      for (const other of refused) {
        const code = hosts.refusal(new Headers({ host: other }))?.code;
        assert.equal(code, "HOST_NOT_ALLOWED", other);
      }
    }
  });

  Deno.test(`AllowedHosts: on ${address} with [${names}], a request without Host is refused`, () => {
    assert.equal(new AllowedHosts(address, names).refusal(new Headers())?.code, "INVALID_REQUEST");
  });
}
