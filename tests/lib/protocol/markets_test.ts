import assert from "node:assert/strict";
import { getAddress } from "ethers";
import { checksumAddress } from "../../../lib/protocol/scalars.ts";
import {
  exchangeSymbol,
  type Market,
  MARKETS,
  Markets,
  SYMBOL_PATTERN,
} from "../../../lib/protocol/markets.ts";
import { EXCHANGE_OF, findProvider, PROVIDER_NAMES } from "../../../lib/protocol/providers.ts";
import { seededRandom } from "../../../lib/random.ts";

const [btc, eth, sol] = MARKETS as [Market, Market, Market];

Deno.test("Markets: are found by addresses or symbol, and listed in the given order", () => {
  const markets = new Markets([eth, btc]);
  assert.deepEqual(markets.symbols, ["ETH/USDT", "BTC/USDT"]);
  assert.deepEqual(markets.list, [eth, btc]);
  assert.equal(markets.find(btc.base, btc.quote), btc);
  assert.equal(markets.findBySymbol("ETH/USDT"), eth);
  assert.equal(markets.find(sol.base, sol.quote), undefined);
  assert.equal(markets.find(btc.quote, btc.base), undefined);
  assert.equal(markets.findBySymbol("SOL/USDT"), undefined);
});

Deno.test("Markets: a symbol is two names of capital letters and digits, with a slash", () => {
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

Deno.test("findProvider: accepts the specification's name and the exchange's name, in any case", () => {
  for (const name of PROVIDER_NAMES) {
    assert.equal(findProvider(name), name);
    assert.equal(findProvider(EXCHANGE_OF[name]), name);
    assert.equal(findProvider(EXCHANGE_OF[name].toUpperCase()), name);
  }
  for (const text of ["", "provider_e", "binance ", "constructor"]) {
    assert.equal(findProvider(text), undefined, text);
  }
});

Deno.test("checksumAddress: returns the same form as ethers for an address in any case", () => {
  const random = seededRandom(1);
  const sizes = sizesOfMapsWith(/^0x[0-9a-fA-F]{40}$/, () => {
    for (let round = 0; round < 3_000; round++) { // three texts each: more than are cached
      const digits = Array.from({ length: 40 }, () => Math.floor(random() * 16).toString(16)).join(
        "",
      );
      const expected = getAddress(`0x${digits}`);
      for (const text of [`0x${digits}`, `0x${digits.toUpperCase()}`, expected]) {
        assert.equal(checksumAddress(text), expected);
      }
    }
  });
  assert.equal(Math.max(...sizes), 8_192, "callers choose addresses: the cache has a bound");
});

Deno.test("exchangeSymbol: uses each exchange's spelling, unless the market has its own", () => {
  const exchangeSymbols = { provider_c: "XBT/USDT" };
  const of = (market: Parameters<typeof exchangeSymbol>[0]) =>
    PROVIDER_NAMES.map((provider) => exchangeSymbol(market, provider));
  const symbol = "BTC/USDT";
  assert.deepEqual(of({ symbol }), ["BTCUSDT", "BTC-USDT", "BTC/USDT", "BTC-USDT"]);
  assert.deepEqual(of({ symbol, exchangeSymbols }), [
    "BTCUSDT",
    "BTC-USDT",
    "XBT/USDT",
    "BTC-USDT",
  ]);
});

/** How many entries maps had, at each entry with a key like this. */
function sizesOfMapsWith(key: RegExp, run: () => void): Set<number> {
  const { set } = Map.prototype;
  const sizes = new Set<number>();
  Map.prototype.set = function (name, value) {
    set.call(this, name, value);
    if (key.test(String(name))) sizes.add(this.size);
    return this;
  };
  try {
    run();
  } finally {
    Map.prototype.set = set;
  }
  return sizes;
}
