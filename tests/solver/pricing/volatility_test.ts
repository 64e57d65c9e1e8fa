import assert from "node:assert/strict";
import { gaussian, type RandomSource, seededRandom } from "../../../lib/random.ts";
import { HOUR_MS, MINUTE_MS, YEAR_MS } from "../../../lib/time.ts";
import { type Candle, CANDLE_MS } from "../../../services/solver/pricing/candle.ts";
import { StillPrices } from "../../../services/solver/pricing/still_prices.ts";
import { RangeMemory } from "../../../services/solver/pricing/range_memory.ts";
import {
  MarketVolatility,
  volatilityStateSchema,
} from "../../../services/solver/pricing/volatility.ts";
import { SIMULATED_MARKETS, simulatedCandles } from "./simulated_markets.ts";
import { assertWithinShare } from "../../support/assert_within.ts";

const START_MS = 1_699_920_000_000;
const settings = { volatilityFloor: 0.01, volatilityHistoryMs: 60_000 };

interface Walk {
  volatility: (timeMs: number) => number;
  minutes: number;
  fromMs?: number;
  /** Moves of a minute. */
  steps?: number;
  /** Moves that are added at the start of a minute. */
  jumps?: ReadonlyMap<number, number>;
}

/** Candles of a price that moves without a trend. */
function candles(
  random: RandomSource,
  { volatility, minutes, fromMs, steps = 60, jumps }: Walk,
): Candle[] {
  let log = Math.log(3e9);
  return Array.from({ length: minutes }, (_, minute) => {
    const timeMs = (fromMs ?? START_MS) + minute * MINUTE_MS;
    const deviation = volatility(timeMs) * Math.sqrt(MINUTE_MS / steps / YEAR_MS);
    log += jumps?.get(minute) ?? 0;
    const path = Array.from({ length: steps }, () => Math.exp(log += deviation * gaussian(random)));
    return {
      timeMs,
      durationMs: MINUTE_MS,
      open: path[0] ?? 0,
      high: Math.max(...path),
      low: Math.min(...path),
      close: path.at(-1) ?? 0,
    };
  });
}

/** What is learned from candles. */
function learnedFrom(candles: Iterable<Candle>, given = settings): MarketVolatility {
  const volatility = new MarketVolatility(given);
  for (const candle of candles) volatility.addCandle(candle);
  return volatility;
}

/** Its state, as it is read from the store. */
function stateOf(volatility: MarketVolatility) {
  return volatilityStateSchema.parse(JSON.parse(JSON.stringify(volatility)));
}

function feedSlots(
  volatility: MarketVolatility,
  random: RandomSource,
  { slots, sigma, noise = 0, jumpAt, jump = 0, fromSlot = 0, close = 3e9 }: {
    slots: number;
    sigma: number;
    noise?: number;
    jumpAt?: number;
    jump?: number;
    fromSlot?: number;
    close?: number;
  },
): number {
  let log = Math.log(close);
  for (let slot = 0; slot < slots; slot++) {
    log += sigma * Math.sqrt(100 / YEAR_MS) * gaussian(random) + (slot === jumpAt ? jump : 0);
    const price = BigInt(Math.round(Math.exp(log + noise * gaussian(random))));
    volatility.addSlot(START_MS + (fromSlot + slot) * 100, price);
  }
  return START_MS + (fromSlot + slots) * 100;
}

function sigmaAt(volatility: MarketVolatility, nowMs: number, horizonMs: number): number {
  return volatility.forecast(nowMs, nowMs + horizonMs)?.volatility ??
    assert.fail("There is enough history");
}

Deno.test("Volatility: from a day of candles it estimates every horizon's volatility within 10 % on average", () => {
  const random = seededRandom(1);
  const [markets, minutes] = [12, 1_440];
  const nowMs = START_MS + minutes * MINUTE_MS;
  const horizonsMs = [MINUTE_MS, HOUR_MS, 4 * HOUR_MS, 24 * HOUR_MS];
  const sums = horizonsMs.map(() => 0);
  for (let market = 0; market < markets; market++) {
    const volatility = learnedFrom(candles(random, { volatility: () => 0.6, minutes }));
    horizonsMs.forEach((horizonMs, index) => {
      const sigma = sigmaAt(volatility, nowMs, horizonMs);
      assertWithinShare(sigma, 0.6, 0.5, `${horizonMs} ms in one market`);
      sums[index]! += sigma; // one sum a horizon
    });
  }
  horizonsMs.forEach((horizonMs, index) =>
    assertWithinShare(sums[index]! / markets, 0.6, 0.1, `${horizonMs} ms`)
  );
});

Deno.test("Volatility: a short horizon adapts to a change sooner than a long one", () => {
  const change = START_MS + 24 * HOUR_MS;
  const sigma = (timeMs: number) => timeMs < change ? 0.3 : 0.9;
  const past = candles(seededRandom(1), { volatility: sigma, minutes: 1_470 });
  const volatility = learnedFrom(past);
  const nowMs = change + 30 * MINUTE_MS;
  const [short, hour, day] = [5 * MINUTE_MS, HOUR_MS, 24 * HOUR_MS].map((horizonMs) =>
    sigmaAt(volatility, nowMs, horizonMs)
  );
  assert.ok(short! > hour! && hour! > day!, `${short}, ${hour}, ${day}`);
  assert.ok(short! > 0.55 && day! < 0.5, `${short}, ${day}`);
});

Deno.test("Volatility: one jump of 2 % raises an hour's forecast by less than two thirds", () => {
  const walk = { volatility: () => 0.5, minutes: 720 };
  const [calm, jumped] = [new Map(), new Map([[715, 0.02]])].map((jumps) => {
    const volatility = learnedFrom(candles(seededRandom(5), { ...walk, jumps }));
    return sigmaAt(volatility, START_MS + 720 * MINUTE_MS, HOUR_MS);
  });
  assert.ok(jumped! < 1.67 * calm!, `${jumped} after ${calm}`);
});

Deno.test("Volatility: the first seconds of prices give an unbiased estimate, from any moment of the minute", () => {
  const random = seededRandom(1);
  const checkedSlots = [25, 50, 150, 300, 700];
  const markets = 100;
  for (const still of [0, 0.85]) {
    const logs = checkedSlots.map(() => 0);
    for (let market = 0; market < markets; market++) {
      const volatility = new MarketVolatility({ ...settings, volatilityHistoryMs: 2_000 });
      const stillness = new StillPrices();
      const sigma = 0.3 * Math.exp(1.5 * random());
      const first = START_MS / 100 + Math.floor(600 * random());
      let log = Math.log(3e9);
      for (let slot = first; slot < first + 700; slot++) {
        if (random() >= still) {
          log += sigma * Math.sqrt(100 / YEAR_MS / (1 - still)) * gaussian(random);
        }
        const price = BigInt(Math.round(Math.exp(log)));
        stillness.add(slot, price);
        volatility.addSlot(slot * 100, price, stillness.share);
        const place = checkedSlots.indexOf(slot + 1 - first);
        if (place < 0) continue;
        logs[place]! += Math.log(sigmaAt(volatility, slot * 100 + 100, MINUTE_MS) / sigma); // found
      }
    }
    checkedSlots.forEach((slots, place) => {
      const bias = Math.exp(logs[place]! / markets); // one per place
      const least = still > 0 && slots < 100 ? 0.75 : 0.9;
      assert.ok(bias > least && bias < 1.1, `${bias} after ${slots} slots, ${still} still`);
    });
  }
});

Deno.test("Volatility: a minute whose start is unknown is weighted by its known part", () => {
  const volatility = new MarketVolatility(settings);
  const slots = { slots: 151, sigma: 0.5, fromSlot: 450 };
  feedSlots(volatility, seededRandom(1), slots);
  const { memory, historyMs, season } = volatility.toJSON();
  for (const { weight } of memory) assert.equal(weight, 0.25);
  assert.equal(historyMs, 15_000);
  assert.equal(season.day.cell.ms, 15_000);
});

Deno.test("Volatility: slots of the last minute have more weight than earlier ones", () => {
  const volatility = new MarketVolatility(settings);
  const random = seededRandom(1);
  feedSlots(volatility, random, { slots: 3_000, sigma: 1.2 });
  const nowMs = feedSlots(volatility, random, { slots: 1_800, sigma: 0.2, fromSlot: 3_000 });
  const forecast = sigmaAt(volatility, nowMs, 1_000);
  assert.ok(forecast > 0.2 && forecast < 0.4, `${forecast}`);
});

Deno.test("Volatility: one jump in a minute of slots at most doubles the forecast", () => {
  const random = seededRandom(1);
  const volatility = new MarketVolatility(settings);
  const slots = { slots: 720, sigma: 0.5, jumpAt: 400, jump: 0.005 };
  const nowMs = feedSlots(volatility, random, slots);
  const forecast = sigmaAt(volatility, nowMs, MINUTE_MS);
  // Squared returns would give 3.6: the jump alone is 0.005 in a minute.
  assert.ok(forecast > 0.25 && forecast < 1, `${forecast}`);
});

Deno.test("Volatility: after a gap, the first seconds count less than a whole minute would", () => {
  const forecastAfter = (slots: number) => {
    const volatility = new MarketVolatility(settings);
    feedSlots(volatility, seededRandom(1), { slots: 36_000, sigma: 0.5 });
    const walk = { slots, sigma: 1.5, fromSlot: 42_000 };
    return sigmaAt(volatility, feedSlots(volatility, seededRandom(2), walk), 5_000);
  };
  const [seconds, minutes] = [forecastAfter(60), forecastAfter(1_200)];
  assert.ok(seconds < 0.85 && minutes > 1, `${seconds}, ${minutes}`);
});

Deno.test("Volatility: an hour after a burst, the burst's last minute no longer counts", () => {
  const volatility = new MarketVolatility(settings);
  const random = seededRandom(1);
  feedSlots(volatility, random, { slots: 36_000, sigma: 0.5 });
  feedSlots(volatility, random, { slots: 900, sigma: 2, fromSlot: 42_000 });
  const nowMs = feedSlots(volatility, random, { slots: 30, sigma: 0.5, fromSlot: 79_000 });
  const forecast = sigmaAt(volatility, nowMs, 5_000);
  assert.ok(forecast < 0.9, `${forecast}`);
});

Deno.test("Volatility: noise of single prices does not raise the forecast", () => {
  const random = seededRandom(1);
  const volatility = new MarketVolatility(settings);
  const nowMs = feedSlots(volatility, random, { slots: 590, sigma: 0.5, noise: 1e-4 });
  const naive = Math.sqrt(2 * 1e-4 ** 2 * YEAR_MS / 100);
  assert.ok(naive > 2);
  const early = volatility.forecast(nowMs, nowMs + 5_000);
  assert.equal(early, undefined, "less than a minute of returns");
  const later = feedSlots(volatility, random, {
    slots: 300,
    sigma: 0.5,
    noise: 1e-4,
    fromSlot: 590,
  });
  assert.ok(sigmaAt(volatility, later, 5_000) < 1.5);
});

Deno.test("Volatility: slots are combined with earlier candles", () => {
  const minutes = 600;
  const fromMs = START_MS - minutes * MINUTE_MS;
  const past = candles(seededRandom(7), { volatility: () => 1.2, minutes, fromMs });
  const volatility = learnedFrom(past);
  const close = past.at(-1)?.close ?? 0;
  const nowMs = feedSlots(volatility, seededRandom(8), { slots: 1_300, sigma: 0.4, close });
  const [second, day] = [1_000, 24 * HOUR_MS].map((ms) => sigmaAt(volatility, nowMs, ms));
  assert.ok(second! < 0.75 && day! > 0.9, `${second}, ${day}`);
  assert.ok(volatility.historyMs >= minutes * MINUTE_MS);
  // Older candles come too late.
  const before = JSON.stringify(volatility);
  volatility.addCandle(past[0]!);
  assert.equal(JSON.stringify(volatility), before);
});

Deno.test("Volatility: the hour of the day has an effect after some days", () => {
  const hourOf = (timeMs: number) => Math.floor(timeMs / HOUR_MS) % 24;
  const sigma = (timeMs: number) => hourOf(timeMs) >= 12 && hourOf(timeMs) < 16 ? 0.9 : 0.45;
  const days = 12;
  const past = candles(seededRandom(3), { volatility: sigma, minutes: days * 1_440 });
  const volatility = learnedFrom(past);
  const midnight = START_MS + days * 24 * HOUR_MS;
  assert.equal(hourOf(midnight), 0);
  const atNoon = volatility.forecast(midnight, midnight + 16 * HOUR_MS)?.volatility ?? 0;
  const atNight = volatility.forecast(midnight, midnight + 4 * HOUR_MS)?.volatility ?? 0;
  assert.ok(atNoon > 1.15 * atNight, `${atNoon} against ${atNight}`);
  // A later window has the season of its own hours, not that of the time until it begins.
  const [before, first, last, after] = [11, 12, 15, 16].map((hour) => {
    const startMs = midnight + hour * HOUR_MS;
    return volatility.forecast(midnight, startMs + HOUR_MS, startMs)?.volatility ?? 0;
  });
  assert.ok(first! > 1.4 * before! && last! > 1.4 * after!, `${[before, first, last, after]}`);
  const endMs = midnight + HOUR_MS;
  const begun = volatility.forecast(midnight, endMs, midnight - 12 * HOUR_MS);
  assert.deepEqual(begun, volatility.forecast(midnight, endMs), "the rest of a window");
});

Deno.test("Volatility: the last minute counts by the season that its prices had", async (t) => {
  const sigma = (timeMs: number) => Math.floor(timeMs / MINUTE_MS) % 60 === 0 ? 1.2 : 0.4;
  const past = candles(seededRandom(4), { volatility: sigma, minutes: 10 * 1_440 });
  const learned = learnedFrom(past);
  const pastEndMs = START_MS + past.length * MINUTE_MS;
  const cases = [
    ["right after a busy minute", [[0, 61]], 0.4],
    ["after a gap that begins with a busy minute", [[0, 60], [61, 61.2]], 0.4],
    ["after a gap that ends with a busy minute", [[0, 50], [60, 60.2]], 1.2],
  ] as const;
  for (const [name, spans, expected] of cases) {
    await t.step(name, () => {
      const random = seededRandom(1);
      const volatility = new MarketVolatility(settings, stateOf(learned));
      let log = Math.log(past.at(-1)?.close ?? 0);
      for (const [from, to] of spans) {
        for (let ms = from * MINUTE_MS; ms < to * MINUTE_MS; ms += 100) {
          log += sigma(pastEndMs + ms) * Math.sqrt(100 / YEAR_MS) * gaussian(random);
          volatility.addSlot(pastEndMs + ms, BigInt(Math.round(Math.exp(log))));
        }
      }
      const nowMs = pastEndMs + spans.at(-1)![1] * MINUTE_MS; // at least one
      assertWithinShare(sigmaAt(volatility, nowMs, 10_000), expected, 0.15, name);
    });
  }
});

Deno.test("Volatility: after a restart, slots read again count no window twice, and newer slots count", () => {
  const slots = 4_000;
  const price = (slot: number) => BigInt(Math.round(3e9 * Math.exp(1e-4 * Math.sin(slot ** 2))));
  const addSlots = (volatility: MarketVolatility, from: number, to: number) => {
    for (let slot = from; slot < to; slot++) volatility.addSlot(START_MS + slot * 100, price(slot));
  };
  const windows = ({ calibrations }: MarketVolatility) =>
    calibrations.map(({ windows }) => windows);
  const first = new MarketVolatility(settings);
  addSlots(first, 0, slots);
  const second = new MarketVolatility(settings, stateOf(first));
  addSlots(second, 500, slots);
  assert.ok(windows(first)[0]! > 300, "windows of a second are counted");
  assert.deepEqual(stateOf(second), stateOf(first));
  for (const volatility of [first, second]) addSlots(volatility, slots, 2 * slots);
  assert.deepEqual(windows(second), windows(first));
  assert.ok(windows(first)[0]! > 700, "newer windows are counted");
  addSlots(second, 3 * slots, 3 * slots + 1);
  const ofSlots = (volatility: MarketVolatility) => windows(volatility).slice(0, 3);
  assert.deepEqual(ofSlots(second), ofSlots(first), "windows with a gap are not counted");
});

Deno.test("Volatility: undefined without enough history, the floor for a still price", () => {
  const volatility = new MarketVolatility({ volatilityFloor: 0.2, volatilityHistoryMs: 120_000 });
  const still = (minute: number): Candle => ({
    timeMs: START_MS + minute * MINUTE_MS,
    durationMs: MINUTE_MS,
    open: 5,
    high: 5,
    low: 5,
    close: 5,
  });
  volatility.addCandle(still(0));
  assert.equal(volatility.forecast(START_MS, START_MS + 1_000), undefined);
  volatility.addCandle(still(1));
  assert.equal(sigmaAt(volatility, START_MS, 1_000), 0.2);
});

Deno.test("Volatility: with less history than the horizon, the forecast is less certain", () => {
  const [short, long] = [10, 3_000].map((minutes) => {
    const volatility = learnedFrom(candles(seededRandom(4), { volatility: () => 0.5, minutes }));
    const nowMs = START_MS + minutes * MINUTE_MS;
    return volatility.forecast(nowMs, nowMs + 24 * HOUR_MS)?.spread ?? 0;
  });
  assert.ok(short! > long! + 0.5, `${short}, ${long}`);
});

Deno.test("Volatility: the end-to-range ratio is learned by horizon, and interpolated between horizons", () => {
  const volatility = new MarketVolatility(settings);
  for (const candle of candles(seededRandom(4), { volatility: () => 0.5, minutes: 1_000 })) {
    const { high, low } = candle;
    volatility.addCandle({ ...candle, high: high * 1.001, low: low / 1.001 });
  }
  const nowMs = START_MS + 1_000 * MINUTE_MS;
  const [one, two, four] = [1, 2, 4].map((minutes) =>
    volatility.forecast(nowMs, nowMs + minutes * MINUTE_MS)?.endToRangeRatio ?? 0
  );
  assert.ok(one! < four! - 0.05 && four! < 1, `${one}, ${four}`);
  assert.ok(Math.abs(two! - (one! + four!) / 2) < 1e-9, `${two}`);
});

Deno.test("Volatility: a step between adjacent candles is a move, a step over a gap is not", () => {
  for (const [laterMs, isMove] of [[MINUTE_MS, true], [2 * MINUTE_MS, false]] as const) {
    const volatility = new MarketVolatility(settings);
    for (const [timeMs, price] of [[START_MS, 100], [START_MS + laterMs, 102]] as const) {
      const prices = { open: price, high: price, low: price, close: price };
      volatility.addCandle({ timeMs, durationMs: MINUTE_MS, ...prices });
    }
    const endMs = START_MS + laterMs + MINUTE_MS;
    assert.equal(volatility.candlesEndMs, endMs);
    assert.equal(sigmaAt(volatility, endMs, MINUTE_MS) > settings.volatilityFloor, isMove);
  }
});

Deno.test("Volatility: from slots alone, boxes of a second and of a minute are won as often as forecast", () => {
  const random = seededRandom(1);
  const volatility = new MarketVolatility(settings);
  feedSlots(volatility, random, { slots: 36_000, sigma: 0.5 });
  for (const { horizonMs, windows, boxes } of volatility.calibrations) {
    if (windows < 50) continue;
    for (const { predicted, held, error } of boxes) {
      const off = Math.abs(held - predicted);
      assert.ok(off < 5 * error + 0.03, `${horizonMs} ms: ${held} of ${windows} windows`);
    }
  }
});

Deno.test("Volatility: the mean of the last minute is weighted by its number of moves", () => {
  const memory = new RangeMemory();
  for (let minute = 0; minute < 60; minute++) memory.add(60_000, 0.001, 1);
  const raisedBy = (moves: number) =>
    memory.logRangeOver(60_000, { mean: 0.002, halfLifeMs: 60_000, moves })! -
    memory.logRangeOver(60_000)!;
  assert.ok(raisedBy(10) < 0.1 && raisedBy(10) > 0, `${raisedBy(10)}`);
  assert.ok(raisedBy(900) > 0.25 && raisedBy(900) < Math.LN2, `${raisedBy(900)}`);
  const alone = new RangeMemory().logRangeOver(60_000, {
    mean: 0.002,
    halfLifeMs: 60_000,
    moves: 10,
  });
  assert.equal(alone?.toFixed(9), Math.log(0.002).toFixed(9), "without others nothing is withheld");
});

// Forecasts on simulated markets.

const DAYS = 12;

for (const [name, market] of Object.entries(SIMULATED_MARKETS)) {
  Deno.test(`Simulated market, ${name}: boxes are won as often as forecast, at every horizon`, () => {
    const past = simulatedCandles(seededRandom(1), market, DAYS * 1_440);
    const forecasts = learnedFrom(past, { volatilityFloor: 0.05, volatilityHistoryMs: CANDLE_MS });
    const seen = forecasts.calibrations.filter(({ windows }) => windows > 20);
    assert.ok(seen.length >= 4, "a minute to an hour");
    for (const { horizonMs, boxes } of seen) {
      for (const { predicted, held, error } of boxes) {
        const words = `${horizonMs / CANDLE_MS} m: ${held} ± ${error} held of ${predicted}`;
        assert.ok(Math.abs(held - predicted) < 0.03 + 3 * error, words);
      }
    }
  });
}

Deno.test("Volatility: five minutes of range 0.1 % give the forecast of the class's comment", () => {
  const volatility = new MarketVolatility({ volatilityFloor: 0, volatilityHistoryMs: 0 });
  const [startMs, minutes] = [1_700_000_040_000, 5];
  for (let minute = 0; minute < minutes; minute++) {
    const timeMs = startMs + minute * CANDLE_MS;
    const prices = { open: 100, high: 100.05, low: 99.95, close: 100 };
    volatility.addCandle({ timeMs, durationMs: CANDLE_MS, ...prices });
  }
  const nowMs = startMs + minutes * CANDLE_MS;
  const { nodes = [] } = volatility.forecast(nowMs, nowMs + 15 * CANDLE_MS) ?? {};
  assert.deepEqual(nodes.map(({ volatility }) => Math.round(100 * volatility)), [21, 47, 107]);
});
