import assert from "node:assert/strict";
import fc from "fast-check";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { oraclePricesSchema, type PriceEntry } from "../../lib/protocol/price.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../lib/protocol/providers.ts";
import { average, median } from "../../services/oracle/aggregation.ts";
import { PriceBoard, type PriceBoardOptions } from "../../services/oracle/price_board.ts";

function board(options: Partial<PriceBoardOptions> = {}): PriceBoard {
  return new PriceBoard({
    markets: MARKETS,
    aggregation: "median",
    minSources: 1,
    maxSourceAgeMs: 10_000,
    ...options,
  });
}

function served(board: PriceBoard) {
  return oraclePricesSchema.parse(JSON.parse(board.body));
}

Deno.test("PriceBoard: the answer has the form of the specification (oracle spec, Price entry)", () => {
  const prices = board();
  assert.equal(prices.body, '{"timestamp":0,"prices":{}}');
  prices.update("provider_b", "ETH/USDT", 1_666_870_001n, T);
  prices.update("provider_a", "ETH/USDT", 1_666_870_000n, T + 5);
  assert.deepEqual(JSON.parse(prices.body), {
    timestamp: T + 5,
    prices: {
      "ETH/USDT": {
        base: "0x0000000000000000000000000000000000000002",
        quote: "0x0000000000000000000000000000000000000100",
        price: "1666870001",
        decimals: 6,
        lastUpdate: T,
        sources: ["provider_a", "provider_b"],
      },
    },
  });
});

Deno.test("PriceBoard: removeProvider removes all prices of a provider", () => {
  const prices = board();
  for (const { symbol } of MARKETS) prices.update("provider_a", symbol, 5n, T);
  assert.equal(prices.pricesOf("provider_a"), 3);
  prices.removeProvider("provider_b", T);
  assert.equal(prices.pairsWithPrices, 3);
  prices.removeProvider("provider_a", T);
  assert.equal(prices.pairsWithPrices, 0);
  assert.equal(prices.lastPriceUpdateMs, 0);
});

Deno.test("PriceBoard: a source older than its limit no longer contributes", () => {
  const prices = board();
  assert.equal(prices.expire(T), undefined);
  prices.update("provider_a", "BTC/USDT", 100n, T);
  prices.update("provider_b", "BTC/USDT", 200n, T + 4_000);
  assert.equal(prices.expire(T + 10_000), T + 10_001);
  assert.equal(prices.entry("BTC/USDT")?.price, 150n);
  assert.equal(prices.expire(T + 10_001), T + 14_001);
  assert.equal(prices.entry("BTC/USDT")?.price, 200n);
  assert.equal(prices.expire(T + 14_001), undefined);
  assert.equal(prices.entry("BTC/USDT"), undefined);
});

Deno.test("PriceBoard: a receipt time in the future is replaced by now", () => {
  const prices = board();
  prices.update("provider_a", "BTC/USDT", 100n, T + 3_600_000);
  assert.equal(prices.expire(T), T + 10_001);
  assert.equal(served(prices).prices["BTC/USDT"]?.lastUpdate, T);
  prices.expire(T + 10_001);
  assert.equal(prices.entry("BTC/USDT"), undefined);
});

Deno.test("PriceBoard: a price of an unknown market is ignored", () => {
  const prices = board();
  prices.update("provider_a", "DOGE/USDT", 100n, T);
  assert.equal(prices.body, '{"timestamp":0,"prices":{}}');
  assert.deepEqual(prices.sources("DOGE/USDT"), []);
});

/** The providers that contribute to BTC/USDT, by letter. */
function contributing(prices: PriceBoard): string {
  return prices.sources("BTC/USDT").map(({ provider }) => provider.at(-1)).join("");
}

Deno.test("PriceBoard: a confirmation keeps a price fresh, at most 30 s after its trade", () => {
  const prices = board();
  prices.confirm("provider_a", "DOGE/USDT", T);
  prices.confirm("provider_a", "BTC/USDT", T);
  assert.equal(served(prices).timestamp, 0, "nothing to confirm");
  prices.update("provider_a", "BTC/USDT", 5n, T);
  prices.confirm("provider_b", "BTC/USDT", T + 1);
  assert.equal(served(prices).timestamp, T);
  prices.confirm("provider_a", "BTC/USDT", T + 9_000);
  assert.deepEqual([served(prices).timestamp, prices.lastPriceUpdateMs], [T + 9_000, T + 9_000]);
  assert.equal(prices.expire(T + 10_001), T + 19_001);
  prices.confirm("provider_a", "BTC/USDT", T + 19_000);
  prices.confirm("provider_a", "BTC/USDT", T + 29_000);
  prices.confirm("provider_a", "BTC/USDT", T + 30_000);
  prices.confirm("provider_a", "BTC/USDT", T + 30_001);
  assert.equal(prices.lastPriceUpdateMs, T + 30_000);
  assert.equal(prices.expire(T + 40_000), T + 40_001);
  assert.equal(prices.expire(T + 40_001), undefined);
});

Deno.test("PriceBoard: quiet sources contribute to a median as long as more sources are fresh", () => {
  for (const aggregation of ["median", "average"] as const) {
    const prices = board({ aggregation });
    prices.keepAlive("provider_a", T - 1);
    for (const [n, provider] of (["provider_a", "provider_b"] as const).entries()) {
      prices.update(provider, "BTC/USDT", 5n, T + n);
      prices.keepAlive(provider, T + 9_000);
    }
    const isMedian = aggregation === "median";
    const at = (ms: number, ...fresh: ProviderName[]) => {
      for (const provider of fresh) prices.update(provider, "BTC/USDT", 7n, T + ms);
      const dueAtMs = prices.expire(T + ms);
      return [contributing(prices), dueAtMs === undefined ? undefined : dueAtMs - T];
    };
    // A source is stale by its trade from 10 s on, and quiet until 10 s after its last sign of life.
    assert.deepEqual(at(11_000), ["", isMedian ? 19_001 : undefined]);
    assert.deepEqual(at(11_000, "provider_c"), ["c", isMedian ? 19_001 : 21_001]);
    assert.deepEqual(at(11_000, "provider_d"), [
      isMedian ? "bcd" : "cd",
      isMedian ? 19_001 : 21_001,
    ]);
    assert.deepEqual(at(19_000), [isMedian ? "bcd" : "cd", isMedian ? 19_001 : 21_001]);
    assert.deepEqual(at(19_001), ["cd", 21_001]);
    prices.keepAlive("provider_a", T + 19_500);
    prices.keepAlive("provider_b", T + 19_500);
    assert.deepEqual(at(20_000, "provider_c"), [isMedian ? "bcd" : "cd", 21_001]);
    assert.deepEqual(at(29_500, "provider_c", "provider_d"), [
      isMedian ? "bcd" : "cd",
      isMedian ? 29_501 : 39_501,
    ]);
    for (const provider of ["provider_a", "provider_b"] as const) {
      prices.keepAlive(provider, T + 29_500);
    }
    assert.deepEqual(at(30_000), [isMedian ? "bcd" : "cd", isMedian ? 30_001 : 39_501]);
    assert.deepEqual(at(30_001), [isMedian ? "bcd" : "cd", isMedian ? 30_002 : 39_501]);
    assert.deepEqual(at(30_002), ["cd", 39_501], "thirty seconds after its trade");
  }
});

Deno.test("PriceBoard: the timestamp is that of the last change", () => {
  const prices = board();
  prices.update("provider_a", "BTC/USDT", 5n, T);
  prices.removeProvider("provider_b", T + 1);
  prices.expire(T + 2);
  prices.keepAlive("provider_a", T + 3);
  prices.update("provider_a", "DOGE/USDT", 5n, T + 4);
  assert.equal(served(prices).timestamp, T);
  prices.removeProvider("provider_a", T + 5);
  assert.equal(served(prices).timestamp, T + 5);
});

Deno.test("PriceBoard: a new price, or a clock set back, also removes outdated sources", () => {
  const prices = board();
  prices.update("provider_a", "BTC/USDT", 5n, T);
  prices.update("provider_b", "BTC/USDT", 7n, T + 4_000);
  prices.update("provider_b", "BTC/USDT", 7n, T + 10_000);
  assert.equal(contributing(prices), "ab");
  prices.update("provider_b", "BTC/USDT", 7n, T + 10_001);
  assert.equal(contributing(prices), "b");
  prices.update("provider_a", "BTC/USDT", 5n, T + 1_000);
  assert.deepEqual(prices.sources("BTC/USDT").map(({ confirmedAtMs }) => confirmedAtMs), [
    T + 1_000,
    T + 1_000,
  ]);
  prices.update("provider_a", "BTC/USDT", 5n, T + 50_000);
  assert.equal(contributing(prices), "a", "it joins again, and the other one is stale");
});

type Operation =
  | { kind: "update"; provider: ProviderName; symbol: string; price: bigint }
  | { kind: "drop"; provider: ProviderName }
  | { kind: "pass"; ms: number };

const provider = fc.constantFrom(...PROVIDER_NAMES);
const symbol = fc.constantFrom(...MARKETS.map((market) => market.symbol));
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("update" as const),
      provider,
      symbol,
      price: fc.bigInt(1n, 2n ** 64n - 1n),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("drop" as const), provider }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.nat(6_000) }) },
);

/** The expected answer, computed from scratch each time. */
function naivePrices(
  receipts: Map<string, { price: bigint; atMs: number }>,
  { aggregation, minSources }: PriceBoardOptions,
) {
  const prices: Record<string, PriceEntry> = {};
  for (const { symbol, base, quote } of MARKETS) {
    const live = PROVIDER_NAMES.flatMap((name) => {
      const receipt = receipts.get(`${name} ${symbol}`);
      return receipt === undefined ? [] : [{ name, ...receipt }];
    });
    if (live.length < minSources) continue;
    const sorted = live.map((receipt) => receipt.price).sort((a, b) => a < b ? -1 : 1);
    const low = aggregation === "median" ? sorted[Math.ceil(sorted.length / 2) - 1] ?? 0n : 0n;
    const high = aggregation === "median" ? sorted[Math.floor(sorted.length / 2)] ?? 0n : 0n;
    const [sum, count] = aggregation === "median"
      ? [low + high, 2n]
      : [sorted.reduce((a, b) => a + b), BigInt(sorted.length)];
    const timesMs = live.map((receipt) => receipt.atMs).sort((a, b) => a - b);
    // By then half of the sources had their price: all of them for an average.
    const lastUpdate =
      (aggregation === "median" ? timesMs[Math.ceil(timesMs.length / 2) - 1] : timesMs[0]) ?? 0;
    prices[symbol] = {
      base,
      quote,
      price: sum / count + (2n * (sum % count) >= count ? 1n : 0n),
      decimals: 6,
      lastUpdate,
      sources: live.map(({ name }) => name),
    };
  }
  return prices;
}

Deno.test("PriceBoard: equals a naive model after every step", () => {
  let withheld = 0;
  let steps = 0;
  fc.assert(fc.property(
    fc.array(operation, { maxLength: 60 }),
    fc.constantFrom("median" as const, "average" as const),
    fc.integer({ min: 1, max: 4 }),
    (operations, aggregation, minSources) => {
      const options = { markets: MARKETS, aggregation, minSources, maxSourceAgeMs: 10_000 };
      const prices = new PriceBoard(options);
      const receipts = new Map<string, { price: bigint; atMs: number }>();
      const mostSources = new Map<string, number>();
      let nowMs = T;
      for (const step of operations) {
        if (step.kind === "update") {
          prices.update(step.provider, step.symbol, step.price, nowMs);
          receipts.set(`${step.provider} ${step.symbol}`, { price: step.price, atMs: nowMs });
        } else if (step.kind === "drop") {
          prices.removeProvider(step.provider, nowMs);
          for (const key of receipts.keys()) {
            if (key.startsWith(`${step.provider} `)) receipts.delete(key);
          }
        } else {
          nowMs += step.ms;
          prices.expire(nowMs);
          for (const [key, { atMs }] of receipts) {
            if (nowMs - atMs > options.maxSourceAgeMs) receipts.delete(key);
          }
        }
        const expected = naivePrices(receipts, options);
        for (const [symbol, { sources }] of Object.entries(expected)) {
          const most = mostSources.get(symbol) ?? 0;
          mostSources.set(symbol, Math.max(most, sources.length));
          if (!prices.isWithheld(symbol)) continue;
          assert(sources.length < most, `${symbol} is withheld with all of ${most} sources`);
          withheld += 1;
          delete expected[symbol];
        }
        steps += 1;
        assert.deepEqual(served(prices).prices, expected);
      }
    },
  ));
  assert(withheld < steps / 10, `withheld ${withheld} times in ${steps} steps`);
});

const T = 1_700_000_000_000;

const prices = fc.array(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), {
  minLength: 1,
  maxLength: 9,
});

Deno.test("median: the middle price, or the mean of the two in the middle (oracle spec, Aggregation)", () => {
  assert.equal(median([5n]), 5n);
  assert.equal(median([3n, 1n, 2n]), 2n);
  assert.equal(median([10n, 20n]), 15n);
  assert.equal(median([1n, 4n, 100n, 2n]), 3n);
  assert.equal(median([100n, 101n, 102n, 1_000_000n]), 102n, "101.5 rounds away from zero");
});

Deno.test("average: the arithmetic mean, rounded half away from zero (oracle spec, Aggregation)", () => {
  assert.equal(average([1n, 2n]), 2n);
  assert.equal(average([1n, 1n, 2n]), 1n);
  assert.equal(average([1n, 2n, 2n]), 2n);
  assert.equal(average([7n]), 7n);
});

Deno.test("median: one source of three or more cannot move it beyond the others", () => {
  fc.assert(
    fc.property(
      prices.filter((list) => list.length >= 3),
      fc.bigInt(1n, 2n ** 64n),
      (list, wild) => {
        const others = list.slice(1);
        const result = median([wild, ...others]);
        const sorted = [...others].sort((a, b) => a < b ? -1 : 1);
        assert(result >= (sorted[0] ?? 0n) && result <= (sorted.at(-1) ?? 0n));
      },
    ),
  );
});

Deno.test("median and average: exact, in any order of the sources", () => {
  fc.assert(fc.property(prices, (list) => {
    const sum = list.reduce((a, b) => a + b);
    const count = BigInt(list.length);
    // Twice the error of the mean is at most one unit either way; a half goes up.
    const error = 2n * (average(list) * count - sum);
    assert(error > -count && error <= count);
    assert.equal(median([...list].reverse()), median(list));
    assert.equal(average([...list].reverse()), average(list));
  }));
});
