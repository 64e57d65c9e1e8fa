import assert from "node:assert/strict";
import { parseMarkets, readMarkets } from "../../../lib/cli/markets_file.ts";
import { UsageError } from "../../../lib/cli/options.ts";
import { MARKETS, Markets } from "../../../lib/protocol/markets.ts";
import { EXCHANGE_OF } from "../../../lib/protocol/providers.ts";
import { marketsToml, withMarketsFile } from "../../support/files.ts";

const BASE = `0x${"0".repeat(39)}7`;
const QUOTE = `0x${"0".repeat(37)}100`;
const MARKET = `[[market]]\nsymbol = "DOGE/USDT"\nbase = "${BASE}"\nquote = "${QUOTE}"\n`;

Deno.test("readMarkets: without a file returns the three markets of the specification", async () => {
  const markets = await readMarkets(undefined);
  assert.deepEqual(markets.list, MARKETS);
  assert.deepEqual(markets.symbols, ["BTC/USDT", "ETH/USDT", "SOL/USDT"]);
});

Deno.test("Markets file: reads symbols, addresses in EIP-55 form, and exchange-specific symbols", async () => {
  const text =
    `${MARKET}decimals = 6\n[market.exchanges]\nbinance = "DOGEUSDT2"\nKraken = "XDG/USDT"\n` +
    marketsToml(49);
  await withMarketsFile(text, async (path) => {
    const { list } = await readMarkets(path);
    assert.equal(list.length, 50);
    assert.deepEqual(list[0], {
      symbol: "DOGE/USDT",
      base: BASE,
      quote: QUOTE,
      exchangeSymbols: { provider_a: "DOGEUSDT2", provider_c: "XDG/USDT" },
    });
    assert.match(list[1]!.base, /[A-F]/);
    assert.match(list[1]!.base, /[a-f]/);
  });
});

const invalid: [what: string, text: string, message: RegExp][] = [
  ["not TOML", "[[market", /line 1, column \d+: /],
  ["no market", "", /market: Expected a list: \[\[market\]\]$/],
  ["an unknown key", `${MARKET}fee = 1\n`, /fee/],
  [
    "a small symbol",
    MARKET.replace("DOGE", "doge"),
    /market\.0\.symbol: Expected a symbol such as/,
  ],
  ["a path as symbol", MARKET.replace("DOGE/USDT", "../USDT"), /Expected a symbol such as/],
  ["a short address", MARKET.replace(BASE, "0x12"), /market\.0\.base/],
  ["other decimals", `${MARKET}decimals = 8\n`, /decimals: Expected 6/],
  [
    "an unknown exchange",
    `${MARKET}exchanges = { mtgox = "X" }\n`,
    new RegExp(`: Expected ${Object.values(EXCHANGE_OF).join(", ")}: received mtgox`),
  ],
  ["the same symbol twice", MARKET + MARKET.replace(BASE, QUOTE), /DOGE\/USDT .* twice/],
  ["the same addresses twice", MARKET + MARKET.replace("DOGE", "XDG"), /twice/],
  [
    "the same name at an exchange twice",
    `${MARKET}exchanges = { kraken = "T2/EUR" }\n${marketsToml(3)}`,
    /T2\/EUR of kraken twice/,
  ],
  ["too many", marketsToml(256 + 1), /market/],
];

for (const [what, text, message] of invalid) {
  Deno.test(`Markets file: ${what} is one clear line with the file`, () => {
    assert.throws(() => parseMarkets(text, "my.toml"), (thrown) => {
      assert(thrown instanceof UsageError);
      assert.match(thrown.message, /^Invalid markets file my\.toml: /);
      assert.match(thrown.message, message);
      assert(!thrown.message.includes("\n"));
      return true;
    });
  });
}

Deno.test("Markets file: the error of a missing file names it", async () => {
  await assert.rejects(
    readMarkets("/none/markets.toml"),
    /^UsageError: Markets file \/none\/.* cannot be read: /,
  );
});

Deno.test("Markets: an empty list is refused", () => {
  assert.throws(() => new Markets([]), RangeError);
});
