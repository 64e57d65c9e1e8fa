import assert from "node:assert/strict";
import { type Market, MARKETS, Markets, SYMBOL_PATTERN } from "../../../lib/protocol/markets.ts";

const [btc, eth, sol] = MARKETS as [Market, Market, Market];

Deno.test("Markets: are found by addresses and by symbol, in the order they were given", () => {
  const markets = new Markets([eth, btc]);
  assert.deepEqual(markets.symbols, ["ETH/USDT", "BTC/USDT"]);
  assert.deepEqual(markets.list, [eth, btc]);
  assert.equal(markets.find(btc.base, btc.quote), btc);
  assert.equal(markets.bySymbol("ETH/USDT"), eth);
  assert.equal(markets.find(sol.base, sol.quote), undefined);
  assert.equal(markets.find(btc.quote, btc.base), undefined);
  assert.equal(markets.bySymbol("SOL/USDT"), undefined);
});

const refused: Record<string, Market[]> = {
  none: [],
  "a symbol twice": [btc, { ...eth, symbol: btc.symbol }],
  "addresses twice": [btc, { ...btc, symbol: "XBT/USDT" }],
};

for (const [name, list] of Object.entries(refused)) {
  Deno.test(`Markets: ${name} is refused`, () =>
    assert.throws(() => new Markets(list), RangeError));
}

Deno.test("Markets: a symbol is two names of capital letters and digits", () => {
  for (const symbol of [...MARKETS.map(({ symbol }) => symbol), "1INCH/USDT", "A/B"]) {
    assert.match(symbol, SYMBOL_PATTERN);
  }
  assert.match(`${"A".repeat(16)}/${"B".repeat(16)}`, SYMBOL_PATTERN);
  const long = "A".repeat(17);
  for (
    const text of ["", "/", "A/", "/B", "AB", "a/B", "A/b", "A/B/C", " A/B", "A/B\n", "../A/B"]
      .concat(`${long}/B`, `A/${long}`)
  ) {
    assert.doesNotMatch(text, SYMBOL_PATTERN);
  }
});
