import assert from "node:assert/strict";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { OraclePrices } from "../../../services/node/oracle/oracle_prices.ts";
import { ETH } from "../support/actors.ts";
import { pricesBody } from "../support/fake_oracle.ts";

const NOW = 1_700_000_000_000;

/** Prices of which one pull is known, by default from now. */
function pulled(ethPrice = 7n, lastUpdate = NOW): OraclePrices {
  const prices = new OraclePrices(3_000, SPEC_MARKETS);
  prices.update(pricesBody(lastUpdate, { "ETH/USDT": ethPrice }), NOW);
  return prices;
}

Deno.test("OraclePrices: the age is measured from the price's lastUpdate, not from the pull", () => {
  const latest = pulled(7n, NOW - 2_999);
  assert.equal(latest.view(NOW)["ETH/USDT"]?.ageMs, 2_999);
  assert.equal(latest.isFresh(ETH, NOW + 1), true);
  latest.update(pricesBody(NOW - 2_999), NOW + 1);
  assert.equal(latest.isFresh(ETH, NOW + 2), false);
  const states = [1, 2].map((laterMs) => latest.view(NOW + laterMs)["ETH/USDT"]?.state);
  assert.deepEqual(states, ["fresh", "stale"]);
});

Deno.test("OraclePrices: when the chain's clock moves, old and new prices move with it", () => {
  const latest = pulled(7n, NOW - 100);
  const later = NOW + 60_000;
  latest.shift(60_000);
  assert.equal(latest.view(later)["ETH/USDT"]?.ageMs, 100);
  latest.update(pricesBody(NOW - 50, { "ETH/USDT": 8n }), later);
  assert.deepEqual([latest.freshPrice(ETH, later), latest.view(later)["ETH/USDT"]?.ageMs], [
    8n,
    50,
  ]);
});

Deno.test("OraclePrices: a lastUpdate in the future is replaced by now, once", () => {
  const latest = new OraclePrices(3_000, SPEC_MARKETS);
  const future = pricesBody(NOW + 3_600_000);
  assert.equal(latest.update(future, NOW), 3);
  assert.equal(latest.view(NOW)["ETH/USDT"]?.lastUpdate, NOW);
  assert.equal(latest.view(NOW)["ETH/USDT"]?.ageMs, 0);
  assert.equal(latest.update(future, NOW + 3_001), 0);
  assert.equal(latest.isFresh(ETH, NOW + 3_001), false, "a stuck price does not stay fresh");
  latest.update(pricesBody(NOW + 3_100), NOW + 3_100);
  assert.equal(latest.isFresh(ETH, NOW + 3_100), true, "a corrected clock is believed at once");
});

Deno.test("OraclePrices: with the clock set back by an hour, newer prices still replace older ones", () => {
  const latest = pulled();
  const back = NOW - 3_600_000;
  for (let ms = 100; ms <= 25_000; ms += 100) {
    const body = pricesBody(NOW + ms, { "ETH/USDT": BigInt(ms) });
    assert.equal(latest.update(body, back + ms), 3);
    assert.equal(latest.freshPrice(ETH, back + ms), BigInt(ms));
  }
});

Deno.test("OraclePrices: with the clock set back by an hour, a price that stays the same becomes stale", () => {
  const latest = pulled();
  const back = NOW - 3_600_000;
  latest.update(pricesBody(NOW), back);
  assert.equal(latest.view(back + 3_000)["ETH/USDT"]?.ageMs, 3_000);
  latest.update(pricesBody(NOW), back + 3_001);
  assert.equal(latest.isFresh(ETH, back + 3_001), false);
});

Deno.test("OraclePrices: an older price replaces a newer one, at its own age", () => {
  const latest = pulled();
  latest.update(pricesBody(NOW - 1, { "ETH/USDT": 8n }), NOW);
  assert.equal(latest.freshPrice(ETH, NOW + 2_999), 8n);
  assert.equal(latest.freshPrice(ETH, NOW + 3_000), undefined);
});

const badEntries: [what: string, change: Record<string, unknown>][] = [
  ["a price of 0", { price: "0" }],
  ["another base", { base: "0x0000000000000000000000000000000000000001" }],
  ["another quote", { quote: "0x0000000000000000000000000000000000000001" }],
];

for (const [what, change] of badEntries) {
  Deno.test(`OraclePrices: an entry with ${what} affects only its own market`, () => {
    const latest = new OraclePrices(3_000, SPEC_MARKETS);
    const { prices } = pricesBody(NOW);
    prices["ETH/USDT"] = { ...Object(prices["ETH/USDT"]), ...change };
    assert.equal(latest.update({ prices }, NOW), 2);
    assert.equal(latest.isFresh(ETH, NOW), false);
  });
}

Deno.test("OraclePrices: a body without prices is refused, and known prices stay", () => {
  const latest = pulled();
  for (const body of [null, 1, [], {}, { prices: [] }, { prices: "none" }]) {
    assert.throws(() => latest.update(body, NOW), { name: "ZodError" }, JSON.stringify(body));
  }
  assert.equal(latest.isFresh(ETH, NOW), true);
});

Deno.test("OraclePrices: the view has the markets with a price, in their order", () => {
  const prices = new OraclePrices(3_000, SPEC_MARKETS);
  assert.deepEqual(prices.view(NOW), {});
  for (const symbol of SPEC_MARKETS.symbols.toReversed()) {
    const body = pricesBody(NOW);
    prices.update({ prices: { [symbol]: body.prices[symbol] } }, NOW);
  }
  assert.deepEqual(Object.keys(prices.view(NOW)), SPEC_MARKETS.symbols);
});

Deno.test("OraclePrices: a different price with the same lastUpdate is accepted, at the same age", () => {
  const prices = pulled();
  const outcome = prices.update(pricesBody(NOW, { "ETH/USDT": 8n }), NOW + 100);
  assert.equal(outcome, 0);
  assert.equal(prices.freshPrice(ETH, NOW + 3_000), 8n);
  assert.equal(prices.freshPrice(ETH, NOW + 3_001), undefined);
});
