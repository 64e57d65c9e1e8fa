import assert from "node:assert/strict";
import { OracleFeed } from "../../../services/node/oracle/oracle_feed.ts";
import { ETH } from "../support/actors.ts";
import { pricesBody } from "../support/fake_oracle.ts";

const NOW = 1_700_000_000_000;

Deno.test("OracleFeed: age is measured on the price's own lastUpdate, not on when it was fetched", () => {
  const feed = new OracleFeed(3_000);
  feed.update(pricesBody(NOW - 2_999), NOW);
  assert.equal(feed.view(NOW)["ETH/USDT"]?.ageMs, 2_999);
  assert.equal(feed.isFresh(ETH, NOW + 1), true);
  feed.update(pricesBody(NOW - 2_999), NOW + 1);
  assert.equal(feed.isFresh(ETH, NOW + 2), false);
});

Deno.test("OracleFeed: a lastUpdate in the future counts as now, once", () => {
  const feed = new OracleFeed(3_000);
  const future = pricesBody(NOW + 3_600_000);
  assert.deepEqual(feed.update(future, NOW), { updated: 3, rejected: 0 });
  assert.equal(feed.view(NOW)["ETH/USDT"]?.lastUpdate, NOW);
  assert.equal(feed.view(NOW)["ETH/USDT"]?.ageMs, 0);
  assert.deepEqual(feed.update(future, NOW + 3_001), { updated: 0, rejected: 0 });
  assert.equal(feed.isFresh(ETH, NOW + 3_001), false, "a stuck price does not stay fresh");
  feed.update(pricesBody(NOW + 3_100), NOW + 3_100);
  assert.equal(feed.isFresh(ETH, NOW + 3_100), true, "a corrected clock is believed at once");
});

Deno.test("OracleFeed: another price with the same lastUpdate is taken, and is as old", () => {
  const feed = new OracleFeed(3_000);
  feed.update(pricesBody(NOW, { "ETH/USDT": 7n }), NOW);
  const outcome = feed.update(pricesBody(NOW, { "ETH/USDT": 8n }), NOW + 100);
  assert.deepEqual(outcome, { updated: 0, rejected: 0 });
  assert.equal(feed.freshPrice(ETH, NOW + 3_000), 8n);
  assert.equal(feed.freshPrice(ETH, NOW + 3_001), undefined);
});

Deno.test("OracleFeed: an older price does not replace a newer one", () => {
  const feed = new OracleFeed(3_000);
  feed.update(pricesBody(NOW, { "ETH/USDT": 7n }), NOW);
  feed.update(pricesBody(NOW - 1, { "ETH/USDT": 8n }), NOW);
  assert.equal(feed.freshPrice(ETH, NOW), 7n);
});

const badEntries: [what: string, change: Record<string, unknown>][] = [
  ["a price of 0", { price: "0" }],
  ["a price as a number", { price: 5 }],
  ["a negative price", { price: "-5" }],
  ["a price over 64 bits", { price: (2n ** 64n).toString() }],
  ["other decimals", { decimals: 8 }],
  ["another base", { base: "0x0000000000000000000000000000000000000001" }],
  ["no address", { quote: "0x1" }],
  ["no lastUpdate", { lastUpdate: undefined }],
  ["a lastUpdate of text", { lastUpdate: "1" }],
];

for (const [what, change] of badEntries) {
  Deno.test(`OracleFeed: an entry with ${what} spoils its own market only`, () => {
    const feed = new OracleFeed(3_000);
    const { prices } = pricesBody(NOW);
    prices["ETH/USDT"] = { ...Object(prices["ETH/USDT"]), ...change };
    assert.deepEqual(feed.update({ prices }, NOW), { updated: 2, rejected: 1 });
    assert.equal(feed.isFresh(ETH, NOW), false);
  });
}

Deno.test("OracleFeed: a body without prices is refused, and what was known stays", () => {
  const feed = new OracleFeed(3_000);
  feed.update(pricesBody(NOW), NOW);
  for (const body of [null, 1, [], {}, { prices: [] }, { prices: "none" }]) {
    assert.throws(() => feed.update(body, NOW), { name: "ZodError" }, JSON.stringify(body));
  }
  assert.equal(feed.isFresh(ETH, NOW), true);
});

Deno.test("OracleFeed: a market that never had a price is not in the view", () => {
  assert.deepEqual(new OracleFeed(3_000).view(NOW), {});
});
