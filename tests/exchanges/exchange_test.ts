import assert from "node:assert/strict";
import { exchangeSymbol, MARKETS } from "../../lib/protocol/markets.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import { binance } from "../../services/exchanges/dialects/binance.ts";
import { DIALECTS } from "../../services/exchanges/dialects/mod.ts";
import {
  plannedFaultSchema,
  scheduleFaults,
  SHUTDOWN_NOTICE_MS,
  SLOW_MS,
  WRONG_CLOCK_MS,
} from "../../services/exchanges/faults.ts";
import { Exchange } from "../../services/exchanges/exchange.ts";
import { PROVIDERS } from "../../services/oracle/providers/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";

const TRADED = MARKETS.slice(0, 2);

function setUp(name: ProviderName, clock = new FakeClock()) {
  const dialect = DIALECTS.find((dialect) => dialect.provider === name);
  assert(dialect !== undefined);
  const exchange = new Exchange({ dialect, markets: TRADED, clock });
  const symbols = TRADED.map((market) => exchangeSymbol(market, name));
  const frames = PROVIDERS[name].subscribeFrames(symbols);
  const trade = (price = 5n) =>
    exchange.trade({
      provider: name,
      market: "BTC/USDT",
      timeMs: clock.now(),
      price: price * 1_000_001n,
      amount: "1",
      side: "buy",
    });
  const connect = () => {
    const heard: string[] = [];
    const connection = exchange.open({
      send: (text) => heard.push(text),
      close: (code, reason) => heard.push(`closed ${code} ${reason}`),
    });
    const subscribe = () => frames.forEach((frame) => connection.receive(frame));
    /** The frames since the last call, late ones included. */
    const news = (waitMs = dialect.delayMs) => {
      clock.advance(waitMs);
      return heard.splice(0);
    };
    return { connection, subscribe, news };
  };
  return { clock, exchange, trade, connect };
}

function kinds(name: ProviderName, frames: string[]): string[] {
  return frames.map((frame) =>
    frame.startsWith("closed") ? frame : PROVIDERS[name].parse(frame).kind
  );
}

for (const dialect of DIALECTS) {
  const { provider: name, delayMs, sendsNewest } = dialect;

  Deno.test(`Exchange ${name}: frames that are no subscription and no ping are invalid`, () => {
    for (const frame of ["", "{", "null", "[1]", "{}", '{"op":"subscribe","args":[]}']) {
      assert.equal(dialect.read(frame).kind, "invalid", frame);
    }
  });

  Deno.test(`Exchange ${name}: acknowledges a subscription, then sends every trade after its latency`, () => {
    const { connect, trade, exchange, clock } = setUp(name);
    trade(3n);
    const { subscribe, news, connection } = connect();
    trade(4n);
    assert.deepEqual(news(), [], "not subscribed");
    subscribe();
    assert.deepEqual(news(delayMs - 1), []);
    const first = kinds(name, news(1));
    assert.equal(first[0], "acknowledged");
    assert.equal(first.filter((kind) => kind === "trades").length, sendsNewest ? 1 : 0);
    trade(5n);
    assert.deepEqual(news().map(PROVIDERS[name].parse), [{
      kind: "trades",
      trades: [{
        symbol: exchangeSymbol(TRADED[0]!, name),
        price: 5_000_005n,
        exchangeTimeMs: clock.now() - delayMs,
        ...name !== "provider_d" && { sequence: 3 },
      }],
    }]);
    assert.equal(exchange.connections, 1);
    connection.closed();
    assert.equal(exchange.connections, 0);
  });

  Deno.test(`Exchange ${name}: every fault takes effect, and ends when cleared`, () => {
    const { connect, trade, exchange, clock } = setUp(name);
    const { subscribe, news } = connect();
    subscribe();
    news();
    const told = () => {
      trade();
      return kinds(name, news()).filter((kind) => kind !== "alive");
    };
    for (const fault of ["stall", "mute"] as const) {
      exchange.inject(fault);
      assert.deepEqual(told(), [], fault);
      exchange.clear(fault);
      assert.deepEqual(told(), ["trades"], fault);
    }
    exchange.inject("garbage");
    assert.deepEqual(told(), ["dropped", "trades"]);
    exchange.clear("garbage");
    exchange.inject("duplicate");
    assert.deepEqual(told(), ["trades", "trades"]);
    assert.deepEqual(told(), ["trades", "trades"]);
    exchange.clear("duplicate");
    exchange.inject("gap");
    assert.equal(Array.from({ length: 10 }, told).flat().length, 8);
    exchange.clear("gap");
    exchange.inject("slow");
    assert.deepEqual(told(), []);
    exchange.clear("slow");
    assert.equal(kinds(name, news(SLOW_MS)).filter((kind) => kind === "trades").length, 1);
    const times = () => {
      trade();
      return news().map((frame) => PROVIDERS[name].parse(frame))
        .flatMap((frame) => frame.kind === "trades" ? frame.trades : [])
        .map((trade) => trade.exchangeTimeMs);
    };
    exchange.inject("wrong_clock");
    assert.deepEqual(times(), [clock.now() - delayMs + WRONG_CLOCK_MS]);
    exchange.clear("wrong_clock");
    exchange.inject("stuck_time");
    const [stuck] = times();
    clock.advance(100);
    assert.deepEqual(times(), [stuck]);
    exchange.clear("stuck_time");
    assert.deepEqual(times(), [clock.now() - delayMs]);
  });

  Deno.test(`Exchange ${name}: faults can refuse subscriptions or leave them unanswered`, () => {
    const { connect, exchange, trade } = setUp(name);
    exchange.inject("refuse");
    const refused = connect();
    refused.subscribe();
    for (const frame of refused.news().map(PROVIDERS[name].parse)) {
      assert(
        frame.kind === "refused" && frame.reason.endsWith(" is not a valid product"),
        frame.kind,
      );
    }
    exchange.clear("refuse");
    exchange.inject("no_ack");
    const ignored = connect();
    ignored.subscribe();
    trade();
    assert.deepEqual(ignored.news(), []);
  });

  Deno.test(`Exchange ${name}: faults can close connections, at once or after a notice`, () => {
    const { connect, exchange, clock } = setUp(name);
    const first = connect();
    exchange.inject("close");
    assert.deepEqual(first.news(), ["closed 1011 Fault on demand"]);
    assert.deepEqual(connect().news(), ["closed 1011 Fault on demand"]);
    exchange.clear("close");
    clock.advance(1_000);
    const second = connect();
    second.subscribe();
    second.news();
    exchange.inject("shutdown");
    const notice = kinds(name, second.news());
    assert.deepEqual(notice, name === "provider_b" ? [] : ["closing"]);
    const rest = kinds(name, second.news(SHUTDOWN_NOTICE_MS)).filter((kind) => kind !== "alive");
    assert.deepEqual(rest, ["closed 1012 Service restart"]);
    assert.equal(exchange.connections, 0);
  });
}

Deno.test("Exchange: unknown markets are refused, the others acknowledged", () => {
  const { connect } = setUp("provider_c");
  const { connection, news } = connect();
  connection.receive(
    '{"method":"subscribe","params":{"channel":"trade","symbol":["BTC/USDT","X/Y"],"snapshot":false}}',
  );
  assert.deepEqual(kinds("provider_c", news()), ["refused", "acknowledged"]);
});

Deno.test("Exchange: a frame too long to be a request ends the connection", () => {
  const { connect } = setUp("provider_d");
  const { connection, news } = connect();
  connection.receive(" ".repeat(16 * 1024 + 1));
  assert.deepEqual(news(), ["closed 1009 Frame too long"]);
});

Deno.test("Exchange: frames keep their order after a slow one", () => {
  const { connect, trade, exchange } = setUp("provider_a");
  const { subscribe, news } = connect();
  subscribe();
  news();
  const numbers = (waitMs?: number) => news(waitMs).map((frame) => JSON.parse(frame).data.a);
  exchange.inject("slow");
  trade();
  exchange.clear("slow");
  trade();
  assert.deepEqual(numbers(SLOW_MS + binance.delayMs - 1), []);
  assert.deepEqual(numbers(1), [1, 2]);
  trade();
  assert.deepEqual(numbers(), [3], "on time again");
});

Deno.test("Exchange: a client too slow for 50,000 frames is disconnected", () => {
  const clock = new FakeClock();
  clock.after = () => () => {}; // no frame is ever due
  const { connect, trade } = setUp("provider_a", clock);
  const { subscribe, news } = connect();
  subscribe();
  for (let count = 0; count < 49_999; count++) trade();
  assert.deepEqual(news(), []);
  trade();
  assert.deepEqual(news(), ["closed 1008 Client too slow"]);
});

Deno.test("Exchange: refuses more than 1,000 clients at a time", () => {
  const { connect } = setUp("provider_b");
  const clients = Array.from({ length: 1_000 }, connect);
  assert.deepEqual(connect().news(0), ["closed 1008 Too many connections"]);
  clients[0]?.connection.closed();
  assert.deepEqual(connect().news(0), []);
});

Deno.test("Exchange: Binance limits messages to 5 a second and connections to 300 in 5 minutes", () => {
  const { connect, clock } = setUp("provider_a");
  const { connection, news } = connect();
  for (let count = 0; count < 6; count++) connection.receive("{}");
  assert.deepEqual(news().slice(-1), ["closed 1008 Too many messages"]);
  for (let count = 0; count < 299; count++) connect();
  assert.deepEqual(connect().news(0), ["closed 1008 Too many connections"]);
  clock.advance(300_000);
  assert.deepEqual(connect().news(0), []);
});

Deno.test("Exchange: Binance ends a connection after 24 hours", () => {
  const { connect } = setUp("provider_a");
  assert.deepEqual(connect().news(86_400_000), ["closed 1001 Too old"]);
});

Deno.test("Exchange: Coinbase requires a subscription within 5 s, and sends a heartbeat a second", () => {
  const { connect, trade } = setUp("provider_b");
  assert.deepEqual(connect().news(5_000), ["closed 1008 Not subscribed in time"]);
  const { subscribe, news } = connect();
  trade();
  subscribe();
  news();
  const beats = news(1_000).map((frame) => JSON.parse(frame));
  assert.deepEqual(beats.map((beat) => [beat.type, beat.product_id, beat.last_trade_id]), [
    ["heartbeat", "BTC-USDT", 1],
    ["heartbeat", "ETH-USDT", 0],
  ]);
});

Deno.test("Exchange: Kraken sends a heartbeat only when idle", () => {
  const { connect, trade, clock } = setUp("provider_c");
  const { subscribe, news } = connect();
  subscribe();
  news();
  assert.deepEqual(news(1_000), []);
  assert.deepEqual(news(1_000), ['{"channel":"heartbeat"}']);
  for (let count = 0; count < 30; count++) {
    trade();
    assert.deepEqual(kinds("provider_c", news(100)), ["trades"]);
  }
  clock.setBy(-3_600_000);
  assert.equal(news(2 * SLOW_MS)[0], '{"channel":"heartbeat"}');
});

Deno.test("Exchange: OKX answers pings, closes idle connections, and limits connections and subscriptions", () => {
  const { connect, clock } = setUp("provider_d");
  const first = connect();
  first.connection.receive("ping");
  assert.deepEqual(first.news(), ["pong"]);
  assert.deepEqual(first.news(30_000), ["closed 1001 Idle"]);
  connect();
  connect();
  connect();
  assert.deepEqual(connect().news(0), ["closed 1008 Too many connections"]);
  clock.advance(1_000);
  const busy = connect();
  for (let count = 0; count < 480; count++) busy.subscribe();
  busy.news();
  busy.subscribe();
  assert.deepEqual(kinds("provider_d", busy.news()), ["refused"]);
});

Deno.test("plannedFaultSchema: reads exchange, fault, start and duration", () => {
  const cases: [string, unknown][] = [
    ["okx=stall", { provider: "provider_d", fault: "stall", afterMs: 0, forMs: undefined }],
    ["provider_a=gap@500", {
      provider: "provider_a",
      fault: "gap",
      afterMs: 500,
      forMs: undefined,
    }],
    ["kraken=slow@1+2", { provider: "provider_c", fault: "slow", afterMs: 1, forMs: 2 }],
  ];
  for (const [text, planned] of cases) assert.deepEqual(plannedFaultSchema.parse(text), planned);
  const texts = ["okx", "okx=fire", "mtgox=stall", "okx=stall@", "okx=stall+5", "okx=stall@-1"];
  for (const text of texts) {
    assert(!plannedFaultSchema.safeParse(text).success, text);
  }
});

Deno.test("scheduleFaults: faults begin and end on time, unless cancelled", () => {
  const clock = new FakeClock();
  const exchange = new Exchange({ dialect: binance, markets: TRADED, clock });
  const plan = ["binance=stall@1000+500", "binance=gap@2000"].map((text) =>
    plannedFaultSchema.parse(text)
  );
  const callOff = scheduleFaults(plan, () => exchange, clock);
  const has = () => [exchange.hasFault("stall"), exchange.hasFault("gap")];
  clock.advance(999);
  assert.deepEqual(has(), [false, false]);
  clock.advance(1);
  assert.deepEqual(has(), [true, false]);
  clock.advance(500);
  assert.deepEqual(has(), [false, false]);
  callOff();
  clock.advance(10_000);
  assert.deepEqual(has(), [false, false]);
});

Deno.test("Exchange: after the clock was set back, trades arrive within two seconds", () => {
  const { clock, connect, trade } = setUp("provider_a");
  const { subscribe, news } = connect();
  subscribe();
  assert.equal(news().length, 1);
  clock.setBy(-3_600_000);
  trade();
  assert.deepEqual(kinds("provider_a", news(2 * SLOW_MS)), ["trades"]);
  trade();
  assert.deepEqual(kinds("provider_a", news()), ["trades"]);
});

Deno.test("Exchange: after the clock was set back, clients may connect as before", () => {
  const { clock, connect } = setUp("provider_c");
  connect();
  connect();
  clock.setBy(-3_600_000);
  const { subscribe, news } = connect();
  subscribe();
  assert.deepEqual(kinds("provider_c", news()), ["acknowledged", "acknowledged"]);
});
