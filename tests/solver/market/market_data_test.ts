import assert from "node:assert/strict";
import { MARKETS, Markets, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { MarketData } from "../../../services/solver/market/market_data.ts";
import { MarketVolatility } from "../../../services/solver/pricing/volatility.ts";
import { market, nodePrice, user } from "../support.ts";

const settings = { volatilityFloor: 0.1, volatilityHistoryMs: 60_000 };
const { symbol } = market;
const price = nodePrice({ price: 7n, lastUpdate: 1_500 });

Deno.test("MarketData: each price is assigned to its market, and a time in the future becomes now", () => {
  const marketData = new MarketData(settings, SPEC_MARKETS);
  const stale = { ...price, state: "stale" as const };
  marketData.setSpots({ [symbol]: stale, "DOGE/USDT": { ...price, price: 1n } }, 1_000);
  const { spot } = marketData.stateOf(market);
  assert.deepEqual(spot, { price: 7n, lastUpdateMs: 1_000, fresh: false });
  for (const other of MARKETS.filter((market) => market.symbol !== symbol)) {
    assert.equal(marketData.stateOf(other).spot, undefined);
  }
  const withoutPrice = (nowMs: number) => marketData.symbolsWithoutPrice(nowMs, 1_000);
  assert.deepEqual(withoutPrice(1_000), MARKETS.map(({ symbol }) => symbol));
  marketData.setSpots({ [symbol]: price }, 2_000);
  assert.deepEqual(marketData.stateOf(market).spot, {
    price: 7n,
    lastUpdateMs: 1_500,
    fresh: true,
  });
  assert.deepEqual(withoutPrice(2_500), ["BTC/USDT", "SOL/USDT"]);
  assert.deepEqual(withoutPrice(2_501), MARKETS.map(({ symbol }) => symbol), "it is too old");
});

Deno.test("MarketData: lists the markets whose history ends over 10 s before or after now", () => {
  const marketData = new MarketData(settings, SPEC_MARKETS);
  marketData.stateOf(market).addHistory([{ time: 20_000, price: 7n }], 20_100);
  const others = ["BTC/USDT", "SOL/USDT"];
  const unread = [10_099, 10_100, 30_100, 30_101].map((nowMs) =>
    marketData.symbolsWithoutHistory(nowMs).length
  );
  assert.deepEqual(unread, [3, 2, 2, 3]);
  assert.deepEqual(marketData.symbolsWithoutHistory(30_000), others);
});

Deno.test("MarketData: a price of other tokens under a market's symbol is not its price", () => {
  const marketData = new MarketData(settings, SPEC_MARKETS);
  marketData.setSpots({ [symbol]: { ...price, base: MARKETS[0].base } }, 2_000);
  assert.equal(marketData.stateOf(market).spot, undefined);
});

Deno.test("MarketData: has the given markets, and the given volatilities", () => {
  const [one, two] = MARKETS as [typeof market, typeof market];
  const volatility = new MarketVolatility(settings);
  const marketData = new MarketData(
    settings,
    new Markets([one, two]),
    new Map([[two, volatility]]),
  );
  assert.deepEqual([...marketData.states.keys()], [one, two]);
  assert.equal(marketData.stateOf(two).volatility, volatility);
  assert.notEqual(marketData.stateOf(one).volatility, volatility);
  assert.throws(() => marketData.stateOf({ ...one, base: user.address }), TypeError);
});

Deno.test("MarketData: the calibration contains each market's horizons that have windows", () => {
  const marketData = new MarketData(settings, SPEC_MARKETS);
  const { volatility } = marketData.stateOf(market);
  for (let minute = 0; minute < 6; minute++) {
    const timeMs = minute * 60_000;
    volatility.addCandle({ timeMs, durationMs: 60_000, open: 7, high: 8, low: 6, close: 7 });
  }
  const calibration = marketData.calibration();
  assert.deepEqual(calibration.map(({ symbol }) => symbol), MARKETS.map(({ symbol }) => symbol));
  for (const { symbol: other, horizons } of calibration) {
    const lengths = horizons.map(({ horizonMs }) => horizonMs);
    assert.deepEqual(lengths, other === symbol ? [60_000, 240_000] : []);
    for (const { boxes } of horizons) {
      assert.deepEqual(boxes.map(({ predicted }) => predicted), [0.25, 0.5, 0.75]);
    }
  }
});

Deno.test("MarketData: prices that are 0, between slots or repeated are ignored", () => {
  const marketData = new MarketData(settings, SPEC_MARKETS);
  const prices = marketData.stateOf(market);
  assert.equal(prices.historyEndMs, 0);
  const known = [[0, 4n], [100, 5n], [150, 6n], [200, 0n]] as const;
  const slots = [...known, [300, 7n], [300, 8n], [200, 9n]] as const;
  prices.addHistory(slots.map(([time, price]) => ({ time, price })), 400);
  const found = [0, 100, 200, 300].map((time) => prices.history.at(time));
  assert.deepEqual(found, [4n, 5n, undefined, 7n]);
  assert.equal(prices.historyEndMs, 400);
  prices.addHistory([], 300);
  assert.equal(prices.historyEndMs, 400, "it never goes back");
  prices.setSpot({ ...price, price: 0n }, 1);
  assert.equal(prices.spot, undefined);
});

Deno.test("MarketData: recorded prices update volatility and stillness", () => {
  const prices = new MarketData(settings, SPEC_MARKETS).stateOf(market);
  const before = prices.stillness.share;
  const slots = Array.from({ length: 1_200 }, (_, slot) => ({ time: slot * 100, price: 5_000n }));
  prices.addHistory(slots, 120_000);
  assert.ok(prices.stillness.share > before);
  assert.ok(prices.volatility.historyMs >= 60_000);
});

Deno.test("MarketData: a price over 2 s ahead of the clock is not fresh: the clock is behind", () => {
  const known = new MarketData(settings, SPEC_MARKETS).stateOf(market);
  known.setSpot({ ...price, lastUpdate: 12_000 }, 10_000);
  assert.deepEqual(known.spot, { price: 7n, lastUpdateMs: 10_000, fresh: true });
  known.setSpot({ ...price, lastUpdate: 12_001 }, 10_000);
  assert.deepEqual(known.spot, { price: 7n, lastUpdateMs: 12_001, fresh: false });
});
