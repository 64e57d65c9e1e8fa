import assert from "node:assert/strict";
import { MARKETS } from "../../../lib/client/mod.ts";
import { PriceWatch } from "../../../lib/client/prices.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { FakeNetwork } from "../../support/fake_socket.ts";

const [{ base, quote } = assert.fail()] = MARKETS;

const price = { base, quote, price: "3000000000", decimals: 6, lastUpdate: 900, ageMs: 100 };
const PRICES = { "BTC/USDT": { ...price, state: "fresh" } };

function setUp() {
  const clock = new FakeClock();
  const network = new FakeNetwork();
  const events: string[] = [];
  const urls = { proxyWs: "ws://proxy/ws" };
  const watch = new PriceWatch({ urls, clock, random: () => 1, connect: network.connect }, {
    onPrices: (prices) => events.push(String(prices["BTC/USDT"]?.price)),
    onState: (state, reason) => events.push([state, reason ?? ""].join(" ").trim()),
  });
  const accept = () => {
    network.newest.open();
    network.newest.deliver('{"jsonrpc":"2.0","id":1,"result":"0xab"}');
  };
  const deliver = () => {
    const params = { subscription: "0xab", result: PRICES };
    network.newest.deliver(
      JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }),
    );
  };
  return { clock, network, events, watch, accept, deliver };
}

Deno.test("PriceWatch: prices arrive once it is live, as bigints", () => {
  const { events, watch, accept, deliver, network } = setUp();
  assert.equal(watch.state, "connecting");
  accept();
  deliver();
  assert.deepEqual(events, ["live", "3000000000"]);
  assert.deepEqual(JSON.parse(network.newest.sent[0] ?? "").params, ["prices"]);
  watch.close();
});

Deno.test("PriceWatch: a connection without prices is given up, and made again within 5 s", () => {
  const { clock, network, events, watch, accept, deliver } = setUp();
  accept();
  deliver();
  clock.advance(4_100);
  assert.equal(watch.state, "connecting");
  assert.match(events.at(-1) ?? "", /^connecting .*4000 ms/);
  clock.advance(900);
  assert.equal(network.sockets.length, 2);
  accept();
  assert.equal(events.at(-1), "live");
  watch.close();
});
