import assert from "node:assert/strict";
import { z } from "zod";
import { exchangeSymbol, MARKETS } from "../../lib/protocol/markets.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import {
  type Frame,
  listOf,
  type ReceivedTrade,
} from "../../services/oracle/providers/provider.ts";
import { PROVIDERS } from "../../services/oracle/providers/mod.ts";
import { binance } from "../../services/oracle/providers/binance.ts";
import { coinbase } from "../../services/oracle/providers/coinbase.ts";
import { kraken } from "../../services/oracle/providers/kraken.ts";
import { okx } from "../../services/oracle/providers/okx.ts";

const ADAPTERS = [binance, coinbase, kraken, okx];

const TIME = 1_672_515_782_136;

function trades(...list: ReceivedTrade[]): Frame {
  return { kind: "trades", trades: list };
}

const UNKNOWN: Frame = { kind: "dropped", reason: "unknown_shape" };

/** Frames from the exchanges' documents, and the expected result. */
const frames: Record<ProviderName, [frame: string, meaning: Frame][]> = {
  provider_a: [
    [
      '{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade","E":1672515782136,"s":"BTCUSDT","a":12345,"p":"16578.50","q":"0.01","f":100,"l":105,"T":1672515782136,"m":true,"M":true}}',
      trades({
        symbol: "BTCUSDT",
        price: 16_578_500_000n,
        exchangeTimeMs: TIME,
        sequence: 12_345,
      }),
    ],
    [
      '{"e":"aggTrade","E":1672515782136,"s":"BTCUSDT","a":12346,"p":"0.00000638","q":"1","f":1,"l":1,"T":1672515782136,"m":true,"M":true}',
      trades({ symbol: "BTCUSDT", price: 6n, exchangeTimeMs: TIME, sequence: 12_346 }),
    ],
    ['{"result":null,"id":1}', { kind: "acknowledged" }],
    [
      '{"code":2,"msg":"Invalid request: unknown"}',
      { kind: "refused", reason: "2 Invalid request: unknown" },
    ],
    [
      '{"error":{"code":2,"msg":"Invalid request"},"id":1}',
      { kind: "refused", reason: "2 Invalid request" },
    ],
    ['{"e":"serverShutdown","E":1}', { kind: "closing", reason: "serverShutdown" }],
    ['{"data":{"e":"serverShutdown"}}', { kind: "closing", reason: "serverShutdown" }],
    ['{"e":"trade","s":"BTCUSDT","a":1,"p":"1","T":1}', UNKNOWN],
    ['{"e":"aggTrade","s":"BTCUSDT","a":1.5,"p":"1","T":1}', UNKNOWN],
    ['{"result":["btcusdt@aggTrade"],"id":1}', UNKNOWN],
    ['{"code":"2","msg":"Invalid"}', UNKNOWN],
    ['{"e":"shutdown"}', UNKNOWN],
    [
      '{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade","s":"BTCUSDT","a":1,"p":"0","T":1}}',
      { kind: "dropped", reason: "bad_price" },
    ],
    [
      '{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade","s":"BTCUSDT","a":1,"p":16578.5,"T":1}}',
      { kind: "dropped", reason: "unknown_shape" },
    ],
  ],
  provider_b: [
    [
      '{"type":"ticker","sequence":37475248783,"product_id":"BTC-USDT","price":"1285.22","best_bid":"1285.04","best_ask":"1285.27","side":"buy","time":"2022-10-19T23:28:22.061769Z","trade_id":370843401,"last_size":"11.4396987"}',
      trades({
        symbol: "BTC-USDT",
        price: 1_285_220_000n,
        exchangeTimeMs: Date.UTC(2022, 9, 19, 23, 28, 22, 61),
        sequence: 370_843_401,
      }),
    ],
    [
      '{"type":"heartbeat","sequence":90,"last_trade_id":20,"product_id":"BTC-USDT","time":"2022-10-19T23:28:22.061769Z"}',
      { kind: "alive", newest: { symbol: "BTC-USDT", sequence: 20 } },
    ],
    [
      '{"type":"subscriptions","channels":[{"name":"heartbeat","product_ids":["ETH-USDT"]},{"name":"ticker","product_ids":["BTC-USDT"]}]}',
      { kind: "acknowledged", symbols: ["BTC-USDT"] },
    ],
    [
      '{"type":"error","message":"Failed to subscribe","reason":"X-Y is not a valid product"}',
      { kind: "refused", reason: "X-Y is not a valid product" },
    ],
    ['{"type":"error","message":"Malformed"}', { kind: "refused", reason: "Malformed" }],
    ['{"type":"heartbeat","product_id":"BTC-USDT"}', UNKNOWN],
    ['{"type":"subscriptions","channels":[{"name":"ticker"}]}', UNKNOWN],
    ['{"type":"error"}', UNKNOWN],
    [
      '{"type":"ticker","product_id":"BTC-USDT","price":"1","time":"yesterday","trade_id":1}',
      { kind: "dropped", reason: "unknown_shape" },
    ],
  ],
  provider_c: [
    [
      '{"channel":"trade","type":"update","data":[{"symbol":"BTC/USDT","side":"buy","price":105944.20,"qty":0.00027625,"ord_type":"limit","trade_id":10218208,"timestamp":"2023-10-06T17:35:55.440295Z"},{"symbol":"BTC/USDT","side":"buy","price": 9007199254.740993,"qty":1e-7,"ord_type":"limit","trade_id":10218209,"timestamp":"2023-10-06T17:35:55.440295Z"}]}',
      trades(
        {
          symbol: "BTC/USDT",
          price: 105_944_200_000n,
          exchangeTimeMs: Date.UTC(2023, 9, 6, 17, 35, 55, 440),
          sequence: 10_218_208,
        },
        {
          symbol: "BTC/USDT",
          // As a float this number ends in 992.
          price: 9_007_199_254_740_993n,
          exchangeTimeMs: Date.UTC(2023, 9, 6, 17, 35, 55, 440),
          sequence: 10_218_209,
        },
      ),
    ],
    ['{"channel":"heartbeat"}', { kind: "alive", idle: true }],
    [
      '{"method":"subscribe","result":{"channel":"trade","symbol":"BTC/USDT","snapshot":false},"success":true,"time_in":"t","time_out":"t","req_id":1}',
      { kind: "acknowledged", symbols: ["BTC/USDT"] },
    ],
    [
      '{"error":"Currency pair not supported X/Y","method":"subscribe","success":false,"symbol":"X/Y"}',
      { kind: "refused", reason: "Currency pair not supported X/Y", symbols: ["X/Y"] },
    ],
    [
      '{"error":"Malformed request","method":"subscribe","success":false}',
      { kind: "refused", reason: "Malformed request", symbols: undefined },
    ],
    [
      '{"channel":"status","type":"update","data":[{"system":"online","version":"2.0.0"}]}',
      { kind: "alive" },
    ],
    [
      '{"channel":"status","type":"update","data":[{"system":"online"},{"system":"cancel_only"}]}',
      { kind: "closing", reason: "status cancel_only" },
    ],
    ['{"channel":"status","data":[]}', UNKNOWN],
    [
      '{"channel":"trade","type":"update","data":[{"symbol":"BTC/USDT","price" : 1e2,"trade_id":1,"timestamp":"2023-10-06T17:35:55Z"}]}',
      trades({
        symbol: "BTC/USDT",
        price: 100_000_000n,
        exchangeTimeMs: Date.UTC(2023, 9, 6, 17, 35, 55),
        sequence: 1,
      }),
    ],
    [
      '{"channel":"trade","type":"snapshot","data":[{"symbol":"BTC/USDT","price":1,"trade_id":1,"timestamp":"2023-10-06T17:35:55Z"}]}',
      UNKNOWN,
    ],
    ['{"channel":"book","type":"update","data":[]}', UNKNOWN],
    [
      '{"method":"subscribe","result":{"channel":"book","symbol":"BTC/USDT"},"success":true}',
      UNKNOWN,
    ],
    ['{"method":"unsubscribe","error":"No","success":false}', UNKNOWN],
    [
      '{"channel":"status","type":"update","data":[{"system":"maintenance"}]}',
      { kind: "closing", reason: "status maintenance" },
    ],
    [
      '{"channel":"trade","type":"update","data":[{"symbol":"BTC/USDT","price":-1.5,"trade_id":1,"timestamp":"2023-10-06T17:35:55Z"}]}',
      { kind: "dropped", reason: "bad_price" },
    ],
  ],
  provider_d: [
    [
      '{"arg":{"channel":"tickers","instId":"BTC-USDT"},"data":[{"instType":"SPOT","instId":"BTC-USDT","last":"9999.99","lastSz":"0.1","askPx":"9999.99","bidPx":"8888.88","ts":"1597026383085"}]}',
      trades({ symbol: "BTC-USDT", price: 9_999_990_000n, exchangeTimeMs: 1_597_026_383_085 }),
    ],
    ["pong", { kind: "alive" }],
    ['"pong"', UNKNOWN],
    ...["a1", "1 ", "", "-1", "1".repeat(16)].map((ts): [string, Frame] => [
      JSON.stringify({
        arg: { channel: "tickers", instId: "BTC-USDT" },
        data: [{ instId: "BTC-USDT", last: "1", ts }],
      }),
      UNKNOWN,
    ]),
    ['{"arg":{"channel":"books","instId":"BTC-USDT"},"data":[]}', UNKNOWN],
    ['{"event":"unsubscribe","arg":{"channel":"tickers","instId":"BTC-USDT"}}', UNKNOWN],
    ['{"event":"error","code":60012,"msg":"Invalid"}', UNKNOWN],
    ['{"event":"notice"}', UNKNOWN],
    [
      '{"id":"1","event":"subscribe","arg":{"channel":"tickers","instId":"BTC-USDT"},"connId":"a4d3ae55"}',
      { kind: "acknowledged", symbols: ["BTC-USDT"] },
    ],
    [
      '{"event":"error","code":"60012","msg":"Invalid request"}',
      { kind: "refused", reason: "60012 Invalid request" },
    ],
    ['{"event":"notice","code":"64008","msg":"soon"}', { kind: "closing", reason: "notice 64008" }],
    [
      '{"arg":{"channel":"tickers","instId":"BTC-USDT"},"data":[{"instId":"BTC-USDT","last":"","ts":"1"}]}',
      { kind: "dropped", reason: "bad_price" },
    ],
  ],
};

for (const provider of ADAPTERS) {
  Deno.test(`Provider ${provider.name}: reads each of its frames`, () => {
    for (const [frame, meaning] of frames[provider.name]) {
      assert.deepEqual(provider.parse(frame), meaning, frame);
    }
  });

  Deno.test(`Provider ${provider.name}: an unknown frame is dropped with a reason`, () => {
    for (const frame of ["", "{", "nonsense", '{"a":']) {
      assert.deepEqual(provider.parse(frame), { kind: "dropped", reason: "not_json" }, frame);
    }
    for (const frame of ["null", "1", "[]", "{}", '{"data":null}', '{"type":"match"}']) {
      assert.deepEqual(provider.parse(frame), { kind: "dropped", reason: "unknown_shape" }, frame);
    }
  });
}

Deno.test("Providers: a list is refused at its first wrong item, without reading the others", () => {
  const unread = {
    get price(): string {
      return assert.fail("It was read");
    },
  };
  const { error } = listOf(z.object({ price: z.string() })).safeParse([{}, unread]);
  assert.equal(error?.issues.length, 1);
});

Deno.test("Providers: subscribe to the channels of the spec in each exchange's format (oracle spec, Providers)", () => {
  const asked = ADAPTERS.map((provider) =>
    provider.subscribeFrames(MARKETS.slice(0, 2).map((one) => exchangeSymbol(one, provider.name)))
      .map((frame) => JSON.parse(frame))
  );
  assert.deepEqual(asked, [
    [{ method: "SUBSCRIBE", params: ["btcusdt@aggTrade", "ethusdt@aggTrade"], id: 1 }],
    [
      { type: "subscribe", product_ids: ["BTC-USDT"], channels: ["ticker", "heartbeat"] },
      { type: "subscribe", product_ids: ["ETH-USDT"], channels: ["ticker", "heartbeat"] },
    ],
    [{
      method: "subscribe",
      params: { channel: "trade", symbol: ["BTC/USDT", "ETH/USDT"], snapshot: false },
      req_id: 1,
    }],
    [{
      id: "1",
      op: "subscribe",
      args: [
        { channel: "tickers", instId: "BTC-USDT" },
        { channel: "tickers", instId: "ETH-USDT" },
      ],
    }],
  ]);
});

/** Connections or subscriptions that an exchange allows in a time, if not 300 in five minutes. */
const LIMITS: Partial<Record<ProviderName, [windowMs: number, most: number]>> = {
  provider_c: [600_000, 150],
  provider_d: [3_600_000, 480],
};

Deno.test("Providers: the time limits of each exchange are consistent, and its rate limit is kept", () => {
  assert.deepEqual(Object.values(PROVIDERS), ADAPTERS);
  for (const provider of ADAPTERS) {
    const { silenceMs, streamSilenceMs, ping } = provider.liveness;
    assert.equal(PROVIDERS[provider.name], provider);
    assert(silenceMs >= 5_000 && silenceMs < streamSilenceMs);
    assert((ping?.afterMs ?? 0) < silenceMs);
    // With the longest burst, each exchange's documented limit holds.
    const { burst, refillMs } = provider.retry.limit;
    const [windowMs, most] = LIMITS[provider.name] ?? [300_000, 300];
    assert(burst + windowMs / refillMs <= most, provider.name);
  }
  assert(binance.lifetimeMs! < 24 * 3_600_000);
});
