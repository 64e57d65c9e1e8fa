import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { openIntentStore } from "../../../lib/intents/open_store.ts";
import { StoreError } from "../../../lib/intents/errors.ts";
import type { ServiceRecords } from "../../../lib/intents/service_records.ts";
import type { IntentStore } from "../../../lib/intents/store.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { NodeUnreachableError } from "../../../lib/net/core_reader.ts";
import { ExchangeHistory } from "../../../lib/net/exchange_history.ts";
import type { HistoryPage } from "../../../lib/protocol/methods/reads.ts";
import { Markets, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { DAY_MS, MINUTE_MS } from "../../../lib/time.ts";
import { MarketData } from "../../../services/solver/market/market_data.ts";
import {
  readSavedVolatility,
  VolatilityKeeper,
} from "../../../services/solver/market/volatility_keeper.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { market } from "../support.ts";
import { startFakeCandles } from "./fake_candles.ts";

const settings = { volatilityFloor: 0.01, volatilityHistoryMs: 60_000 };

function page(prices: HistoryPage["prices"], nextCursor: string | null): Promise<HistoryPage> {
  return Promise.resolve({ prices, missing: [], nextCursor });
}

const noPrices = () => page([], null);

/** One run of a solver on a store: what it loads, and the market data that it continues with. */
async function run(
  { records }: { records: Pick<ServiceRecords, "saveValue" | "findValue"> },
  { clock = new FakeClock(), historyUrl, dryRun = false, readPrices = noPrices }: {
    clock?: FakeClock;
    historyUrl?: string;
    dryRun?: boolean;
    readPrices?: CoreClient["getPriceHistory"];
  } = {},
  markets = SPEC_MARKETS,
) {
  const history = historyUrl === undefined
    ? undefined
    : new ExchangeHistory(historyUrl, clock, { attemptsMax: 2 });
  const node = { getPriceHistory: readPrices };
  const saved = await readSavedVolatility({ records, clock }, markets, settings);
  const marketData = new MarketData(settings, markets, saved);
  const keeper = new VolatilityKeeper({ records, clock, node, history, dryRun, marketData });
  const { volatility } = marketData.stateOf(market);
  const forecast = () => volatility.forecast(clock.now(), clock.now() + 3_600_000);
  return { keeper, clock, volatility, forecast };
}

/** Adds minutes that end now, whose price swings. */
function addMinutes({ volatility, clock }: Awaited<ReturnType<typeof run>>, count: number): void {
  const end = Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS;
  for (let minute = count; minute > 0; minute--) {
    volatility.addCandle({
      timeMs: end - minute * MINUTE_MS,
      durationMs: MINUTE_MS,
      open: 3e9,
      high: 3.003e9,
      low: 3e9,
      close: 3e9,
    });
  }
}

function memoryStore(): Promise<IntentStore> {
  return openIntentStore(":memory:", "solver");
}

/** A run that is over, and has saved so many minutes. */
async function savedRun(store: IntentStore, minutes: number) {
  const first = await run(store);
  await first.keeper.start();
  addMinutes(first, minutes);
  await first.keeper.stop();
  return first;
}

Deno.test("VolatilityKeeper: saves every minute, so a killed process loses a minute", async () => {
  await using store = await memoryStore();
  const { clock, ...first } = await run(store);
  await first.keeper.start();
  addMinutes({ clock, ...first }, 10);
  clock.advance(59_999);
  await setImmediate();
  assert.equal(await store.records.findValue("volatility"), undefined);
  clock.advance(1);
  await eventually("a saved state", () => store.records.findValue("volatility"));
  const second = await run(store, { clock });
  assert.equal(second.volatility.candlesEndMs, first.volatility.candlesEndMs);
  await first.keeper.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("VolatilityKeeper: a dry run uses the saved state, and saves nothing", async () => {
  await using store = await memoryStore();
  const first = await savedRun(store, 10);
  const saved = await store.records.findValue("volatility");
  first.clock.advance(5 * MINUTE_MS);
  const dry = await run(store, { clock: first.clock, dryRun: true });
  assert.equal(dry.volatility.candlesEndMs, first.volatility.candlesEndMs);
  await dry.keeper.start();
  addMinutes(dry, 2);
  dry.clock.advance(2 * MINUTE_MS);
  await dry.keeper.stop();
  assert.deepEqual(await store.records.findValue("volatility"), saved);
});

Deno.test("VolatilityKeeper: a state older than a week, or over a minute from the future, is ignored", async () => {
  await using store = await memoryStore();
  const first = await savedRun(store, 100);
  const endMs = first.volatility.candlesEndMs;
  const cases = [[-60_001, false], [-60_000, true], [7 * DAY_MS, true], [7 * DAY_MS + 1, false]];
  for (const [passedMs, isKnown] of cases) {
    const later = await run(store, { clock: new FakeClock(endMs + Number(passedMs)) });
    assert.equal(later.volatility.candlesEndMs, isKnown ? endMs : 0, `${passedMs}`);
  }
  const patient = { ...settings, volatilityHistoryMs: DAY_MS };
  const read = await readSavedVolatility({ ...store, clock: first.clock }, SPEC_MARKETS, patient);
  assert.deepEqual([...read.keys()], [market], "less history than quotes need is kept");
});

Deno.test("VolatilityKeeper: without prices or before its start, it saves and logs nothing", () =>
  withLogs("info", async (records) => {
    await using store = await memoryStore();
    await (await run(store)).keeper.stop();
    const { keeper } = await run(store);
    await keeper.start();
    await keeper.stop();
    assert.deepEqual([await store.records.findValue("volatility"), records.length], [undefined, 0]);
  }));

/** A good state of one market, and ways to spoil it. */
async function goodState(): Promise<string> {
  await using store = await memoryStore();
  await savedRun(store, 10);
  const { value } = await store.records.findValue("volatility") ??
    assert.fail("Nothing was saved");
  return value;
}

const spoiled: [name: string, spoil: (good: string) => string, logs: RegExp][] = [
  ["no JSON", () => "{", /JSON/],
  [
    "another version of a market",
    (good) => good.replace('"version":6', '"version":5'),
    /version 6/,
  ],
  ["a negative weight", (good) => good.replace('"weight":', '"weight":-'), /weight/],
  ["no number", (good) => good.replace('"sum":', '"sum":null,"x":'), /sum/],
  ["a season beyond all markets", (good) => good.replace('"ratios":[1', '"ratios":[1e9'), /ratios/],
];

for (const [name, spoil, logs] of spoiled) {
  Deno.test(`VolatilityKeeper: starts without history from a saved state with ${name}`, async () => {
    const value = spoil(await goodState());
    const findValue = () => Promise.resolve({ value, savedAtMs: 0 });
    await withLogs("info", async (records) => {
      const { forecast } = await run({
        records: { findValue, saveValue: () => Promise.resolve() },
      });
      assert.equal(forecast(), undefined);
      assert.equal(records.length, 1);
      assert.match(String(records[0]?.properties.reason), logs);
    });
  });
}

Deno.test("VolatilityKeeper: if the store fails, it starts without history and logs that once", async () => {
  const failing = {
    findValue: () => Promise.reject(new StoreError("Database is away")),
    saveValue: (): Promise<void> => failing.findValue(),
  };
  await withLogs("info", async (records) => {
    const first = await run({ records: failing });
    await first.keeper.start();
    addMinutes(first, 2);
    const minutes = async (count: number) => {
      for (let minute = 0; minute < count; minute++) {
        first.clock.advance(MINUTE_MS);
        await setImmediate();
      }
    };
    await minutes(3);
    const { saveValue } = failing;
    failing.saveValue = () => Promise.resolve();
    await minutes(2);
    failing.saveValue = saveValue;
    await first.keeper.stop();
    const logged = records.map(({ category, level, properties: { reason } }) =>
      [category[1], level, reason].join(" ").trim()
    );
    const failure = "solver warning Database is away";
    assert.deepEqual(logged, [failure, failure, "solver info", failure], "to load, save and stop");
  });
});

Deno.test("VolatilityKeeper: reads a week of candles at the first start, and later only missing ones", async () => {
  await using exchange = startFakeCandles();
  await using store = await memoryStore();
  const first = await run(store, { historyUrl: exchange.url });
  await withLogs("info", async (records) => {
    await first.keeper.start();
    const logged = records.map(({ level, properties: { count } }) => [level, count]);
    assert.deepEqual(logged, [["info", 3 * 7 * 1_440]]);
  });
  assert.equal(first.volatility.historyMs, 7 * DAY_MS);
  const ofEth = exchange.queries.filter((query) => query.get("symbol") === "ETHUSDT");
  assert.equal(ofEth.length, 11, "10,080 candles in pages of 1,000");
  await first.keeper.stop();
  exchange.queries.length = 0;
  first.clock.advance(90 * MINUTE_MS);
  const second = await run(store, { clock: first.clock, historyUrl: exchange.url });
  await second.keeper.start();
  assert.equal(exchange.queries.length, SPEC_MARKETS.list.length);
  const from = Math.floor(first.clock.now() / MINUTE_MS) * MINUTE_MS - 90 * MINUTE_MS;
  for (const query of exchange.queries) assert.equal(query.get("startTime"), String(from));
  assert.equal(second.volatility.historyMs, 7 * DAY_MS + 90 * MINUTE_MS);
  await second.keeper.stop();
});

Deno.test("VolatilityKeeper: candles end where the node's prices begin", async () => {
  await using exchange = startFakeCandles();
  const clock = new FakeClock(100 * DAY_MS);
  const firstMs = clock.now() - 30 * MINUTE_MS;
  const oldestMs = clock.now() - 65_536 * 100;
  const cases: [CoreClient["getPriceHistory"], endMs: number][] = [
    [({ cursor }) => cursor ? page([{ time: firstMs, price: 1n }], null) : page([], "1"), firstMs],
    [() => Promise.reject(new NodeUnreachableError("http://node", "test")), oldestMs],
    [noPrices, clock.now()],
  ];
  for (const [readPrices, endMs] of cases) {
    const given = { clock, historyUrl: exchange.url, readPrices };
    const { keeper, volatility } = await run(await memoryStore(), given, new Markets([market]));
    await keeper.start();
    assert.equal(volatility.candlesEndMs, Math.floor(endMs / MINUTE_MS) * MINUTE_MS);
    await keeper.stop();
  }
});

Deno.test("VolatilityKeeper: candles that cannot be read are logged in one line, with the reason", async () => {
  await using exchange = startFakeCandles();
  exchange.failures = SPEC_MARKETS.list.map(() => new Response("no", { status: 403 }));
  await withLogs("info", async (records) => {
    const { keeper, forecast } = await run(await memoryStore(), { historyUrl: exchange.url });
    await keeper.start();
    assert.equal(forecast(), undefined);
    const logged = records.map(({ level, properties: { count } }) => [level, count]);
    assert.deepEqual(logged, [["warning", 0]]);
    assert.match(String(records[0]?.properties.reason), /status 403/);
    await keeper.stop();
  });
});

/** Three markets are requested; the remaining answers are for retries. */
const slow: [name: string, answer: (later: Promise<Response>) => Response | Promise<Response>][] = [
  ["is silent", (later) => later],
  [
    "asks for a pause",
    () => new Response("slow down", { status: 429, headers: { "retry-after": "60" } }),
  ],
];

for (const [name, answer] of slow) {
  Deno.test(`VolatilityKeeper: an exchange that ${name} delays a start by 15 s, and a stop not at all`, async () => {
    for (const stops of [false, true]) {
      await using exchange = startFakeCandles();
      const { promise, resolve } = Promise.withResolvers<Response>();
      exchange.failures = Array.from({ length: 9 }, () => answer(promise));
      const { keeper, clock } = await run(await memoryStore(), { historyUrl: exchange.url });
      const starting = keeper.start();
      await eventually("the questions", () => exchange.queries.length >= 3 ? true : undefined);
      if (stops) await keeper.stop();
      else clock.advance(15_000);
      await starting;
      assert.equal(clock.pending, stops ? 0 : 1, "saving goes on, unless stopped");
      await keeper.stop();
      assert.equal(clock.pending, 0);
      resolve(new Response());
    }
  });
}
