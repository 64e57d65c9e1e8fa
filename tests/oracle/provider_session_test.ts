import assert from "node:assert/strict";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { binance } from "../../services/oracle/providers/binance.ts";
import { coinbase } from "../../services/oracle/providers/coinbase.ts";
import { kraken } from "../../services/oracle/providers/kraken.ts";
import { okx } from "../../services/oracle/providers/okx.ts";
import type { Provider } from "../../services/oracle/providers/provider.ts";
import { ProviderSession } from "../../services/oracle/provider_session.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { ACK, aggTrade, krakenAnswer } from "./frames.ts";

const EXCHANGE_FRAME_CHARS_MAX = 65_536;
const RETRY_REFUSED_MS = 300_000;
const ACKNOWLEDGE_MS = 2_500;

function setUp(provider: Provider, markets = ["BTC/USDT", "ETH/USDT"]) {
  const clock = new FakeClock();
  const sent: string[] = [];
  const events: string[] = [];
  const session: ProviderSession = new ProviderSession({
    provider,
    markets: MARKETS.filter(({ symbol }) => markets.includes(symbol)),
    clock,
    send: (text) => sent.push(text),
    handlers: {
      onTrade: (market, price) => events.push(`${market} ${price}`),
      onConfirmed: (market) => events.push(`confirmed ${market}`),
      onIdle: () => events.push("idle"),
      onSubscribed: () => events.push("subscribed"),
      onFault(fault, remedy, detail) {
        events.push(`${fault} ${remedy}: ${detail}`);
        if (remedy === "drop") session.end();
      },
      onFrameDropped: (reason) => events.push(`dropped ${reason}`),
    },
  });
  session.start();
  const news = () => events.splice(0);
  return { clock, sent, session, news };
}

function krakenTrade(id: number, timeMs: number) {
  return `{"channel":"trade","type":"update","data":[{"symbol":"BTC/USDT","price":5,` +
    `"trade_id":${id},"timestamp":"${new Date(timeMs).toISOString()}"}]}`;
}

Deno.test("ProviderSession: subscribes, waits for the acknowledgement, and forwards prices", () => {
  const { session, sent, news, clock } = setUp(binance);
  assert.deepEqual(sent, [
    '{"method":"SUBSCRIBE","params":["btcusdt@aggTrade","ethusdt@aggTrade"],"id":1}',
  ]);
  assert(!session.isSubscribed);
  session.receive(ACK);
  assert(session.isSubscribed);
  session.receive(aggTrade(1, clock.now(), "100.5"));
  const openedAtMs = clock.now();
  clock.advance(7);
  session.receive(aggTrade(7, clock.now(), "3.25", "ETHUSDT"));
  assert.deepEqual([session.openedAtMs, session.lastFrameAtMs], [openedAtMs, openedAtMs + 7]);
  assert.deepEqual(news(), ["subscribed", "BTC/USDT 100500000", "ETH/USDT 3250000"]);
  session.end();
  assert.equal(clock.pending, 0);
});

const unsubscribed: [name: string, Provider, frames: string[], faults: string[]][] = [
  ["is not answered", kraken, [], [
    "not_acknowledged drop: BTC/USDT, ETH/USDT: no answer in 2500 ms",
  ]],
  ["is refused for an unnamed market", okx, ['{"event":"error","code":"60018","msg":"wrong"}'], [
    "refused log: 60018 wrong",
    "not_acknowledged drop: BTC/USDT, ETH/USDT: 60018 wrong",
  ]],
];
for (const [name, provider, frames, faults] of unsubscribed) {
  Deno.test(`ProviderSession: with a subscription that ${name}, the connection ends after 2.5 s`, () => {
    const { session, clock, news } = setUp(provider);
    for (const frame of frames) session.receive(frame);
    clock.advance(ACKNOWLEDGE_MS - 1);
    assert.deepEqual(news(), faults.slice(0, -1));
    clock.advance(1);
    assert.deepEqual(news(), faults.slice(-1));
  });
}

Deno.test("ProviderSession: a refused market is reported and requested every five minutes, others continue", () => {
  const { session, clock, news, sent } = setUp(kraken);
  session.receive(krakenAnswer("DOGE/USDT", false)); // nobody asked for it
  assert.deepEqual(news(), ["refused log: not supported DOGE/USDT"]);
  session.receive(krakenAnswer("ETH/USDT", false));
  session.receive(krakenAnswer("BTC/USDT", true));
  assert.deepEqual(news(), [
    "refused log: not supported ETH/USDT",
    "not_acknowledged log: ETH/USDT: not supported ETH/USDT",
    "subscribed",
  ]);
  clock.advance(ACKNOWLEDGE_MS);
  assert.deepEqual(news(), []);
  sent.length = 0;
  let id = 0;
  const pass = (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 1_000) {
      clock.advance(1_000);
      session.receive(krakenTrade(id += 1, clock.now()));
    }
    return sent.splice(0).map((frame) => JSON.parse(frame).params.symbol);
  };
  assert.deepEqual(pass(RETRY_REFUSED_MS), [["ETH/USDT"]]);
  session.receive(krakenAnswer("ETH/USDT", false));
  assert.deepEqual(pass(RETRY_REFUSED_MS), [["ETH/USDT"]]);
  session.receive(krakenAnswer("ETH/USDT", true));
  assert.deepEqual(pass(RETRY_REFUSED_MS - 1_000), [], "it is acknowledged");
  assert(session.streams.every(({ isAcknowledged }) => isAcknowledged));
});

Deno.test("ProviderSession: if all markets are refused, the connection ends", () => {
  const { session, news } = setUp(kraken);
  session.receive(krakenAnswer("BTC/USDT", false));
  session.receive(krakenAnswer("ETH/USDT", false));
  assert.deepEqual(news(), [
    "refused log: not supported BTC/USDT",
    "refused log: not supported ETH/USDT",
    "not_acknowledged drop: BTC/USDT, ETH/USDT: not supported ETH/USDT",
  ]);
});

Deno.test("ProviderSession: a price is accepted as the acknowledgement of its market", () => {
  const { session, clock, news } = setUp(binance);
  session.receive(aggTrade(1, clock.now(), "5"));
  clock.advance(ACKNOWLEDGE_MS);
  assert.deepEqual(news(), [
    "BTC/USDT 5000000",
    "not_acknowledged log: ETH/USDT: no answer in 2500 ms",
    "subscribed",
  ]);
});

Deno.test("ProviderSession: a silent market is requested again, and finally the connection ends", () => {
  const { session, clock, news, sent } = setUp(kraken);
  for (const symbol of ["BTC/USDT", "ETH/USDT"]) session.receive(krakenAnswer(symbol, true));
  news();
  sent.length = 0;
  let id = 0;
  const pass = (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1_000);
      session.receive(krakenTrade(id += 1, clock.now()));
    }
    const symbols = sent.splice(0).map((frame) => JSON.parse(frame).params.symbol);
    return [news().filter((event) => event.includes("silent")), symbols];
  };
  assert.deepEqual(pass(299), [[], []]);
  assert.deepEqual(pass(1), [["stream_silent log: ETH/USDT for 300000 ms"], [["ETH/USDT"]]]);
  const [faults] = pass(599);
  assert(faults?.every((fault) => fault.startsWith("stream_silent log: ETH/USDT")), `${faults}`);
  const [[last = ""] = [], symbols] = pass(300);
  assert.match(last, /^stream_silent drop: ETH\/USDT for \d+ ms$/);
  assert.deepEqual(symbols, []);
  assert.equal(clock.pending, 0);
});

Deno.test("ProviderSession: if the exchange's time is stuck, the connection ends and the rest of the frame is ignored", () => {
  const { session, clock, news } = setUp(kraken);
  session.receive(krakenAnswer("BTC/USDT", true));
  session.receive(krakenAnswer("ETH/USDT", true));
  const timestamp = new Date(clock.now()).toISOString();
  const frame = (id: number) =>
    JSON.stringify({
      channel: "trade",
      type: "update",
      data: [id, id + 1].map((trade_id) => ({
        symbol: "BTC/USDT",
        price: trade_id,
        trade_id,
        timestamp,
      })),
    });
  session.receive(frame(1));
  clock.advance(10_000);
  news();
  session.receive(frame(3));
  assert.deepEqual(news(), [
    "BTC/USDT 3000000",
    `stuck_time drop: BTC/USDT stays at ${Date.parse(timestamp)}`,
  ]);
});

Deno.test("ProviderSession: Coinbase's heartbeat confirms only the price of the trade that it names", () => {
  const { session, clock, news } = setUp(coinbase, ["BTC/USDT"]);
  const beat = (last_trade_id: number, product_id = "BTC-USDT") =>
    session.receive(JSON.stringify({ type: "heartbeat", product_id, last_trade_id }));
  const ticker = (trade_id: number) =>
    session.receive(JSON.stringify({
      type: "ticker",
      product_id: "BTC-USDT",
      price: "5",
      time: new Date(clock.now()).toISOString(),
      trade_id,
    }));
  beat(7);
  ticker(7);
  assert.deepEqual(news(), ["BTC/USDT 5000000"], "nothing to confirm before the first price");
  beat(7);
  assert.deepEqual(news(), ["confirmed BTC/USDT"]);
  beat(7, "DOGE-USDT");
  beat(8);
  assert.deepEqual(news(), [], "the price of a lost trade is not the one that was passed on");
});

Deno.test("ProviderSession: a connection ends shortly before the exchange's limit of 24 hours", () => {
  const { session, clock, news } = setUp(binance, ["BTC/USDT"]);
  session.receive(ACK);
  const hours = 3_600_000;
  for (let half = 1; half < 2 * 23 * 60; half++) {
    session.receive(aggTrade(half, clock.now()));
    clock.advance(30_000);
  }
  news();
  clock.advance(29_999);
  assert.deepEqual(news(), []);
  clock.advance(1);
  assert.deepEqual(news(), [`lifetime drop: connected for ${23 * hours} ms`]);
});

Deno.test("ProviderSession: sends a ping only after silence, and only to exchanges that answer it", () => {
  const { session, clock, sent } = setUp(okx, ["BTC/USDT"]);
  session.receive('{"event":"subscribe","arg":{"channel":"tickers","instId":"BTC-USDT"}}');
  sent.length = 0;
  for (let second = 0; second < 12; second++) {
    clock.advance(1_000);
    session.receive("pong");
  }
  assert.deepEqual(sent, []);
  clock.advance(4_999);
  assert.deepEqual(sent, []);
  clock.advance(1);
  assert.deepEqual(sent, ["ping"]);
  clock.setBy(-3_600_000);
  clock.advance(5_000);
  assert.deepEqual(sent, ["ping", "ping"]);
});

Deno.test("ProviderSession: frames without a price are dropped with a reason", () => {
  const { session, clock, news } = setUp(binance);
  session.receive(ACK.padEnd(EXCHANGE_FRAME_CHARS_MAX + 1));
  session.receive("{");
  session.receive('{"hello":1}');
  session.receive(aggTrade(1, clock.now(), "0"));
  session.receive(aggTrade(1, clock.now(), "5", "DOGEUSDT"));
  session.receive(aggTrade(1, clock.now()).padEnd(EXCHANGE_FRAME_CHARS_MAX));
  session.receive(aggTrade(1, clock.now()));
  assert.deepEqual(news(), [
    "dropped too_long",
    "dropped not_json",
    "dropped unknown_shape",
    "dropped bad_price",
    "dropped unknown_market",
    "BTC/USDT 100000000",
    "dropped late",
  ]);
});
