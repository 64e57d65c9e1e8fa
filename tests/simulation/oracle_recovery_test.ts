/** How soon a provider is used again after its exchange was away, and how often it asked meanwhile. */
import assert from "node:assert/strict";
import { MARKETS } from "../../lib/protocol/markets.ts";
import type { RandomSource } from "../../lib/random.ts";
import type { SocketLike } from "../../lib/net/reconnecting_socket.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../lib/protocol/providers.ts";
import { ProviderConnection } from "../../services/oracle/provider_connection.ts";
import { PROVIDERS } from "../../services/oracle/providers/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { withSeed } from "../support/random.ts";

const OUTAGES = 200;
const OUTAGE_MS_MAX = 40_000;
const LATENCY_MS = 30;

/** Effect of an outage on a connection; an affected connection stays so after the outage. */
type Outage = "refuses" | "hangs" | "closes" | "stalls";
const OUTAGE_KINDS: Outage[] = ["refuses", "hangs", "closes", "stalls"];

/** The exchange's acknowledgement of one market. */
const ACKNOWLEDGEMENTS: Record<ProviderName, string> = {
  provider_a: '{"result":null,"id":1}',
  provider_b: '{"type":"subscriptions","channels":[{"name":"ticker","product_ids":["BTC-USDT"]}]}',
  provider_c:
    '{"method":"subscribe","success":true,"result":{"channel":"trade","symbol":"BTC/USDT"}}',
  provider_d: '{"event":"subscribe","arg":{"channel":"tickers","instId":"BTC-USDT"}}',
};

/** Any frame that shows that the connection lives. */
const HEARTBEAT = '{"channel":"heartbeat"}';

/** An exchange with outages; it counts requests. */
class Exchange {
  outage: Outage | undefined;
  readonly attemptsAtMs: number[] = [];
  readonly subscriptionsAtMs: number[] = [];
  readonly #clock: FakeClock;
  readonly #acknowledgement: string;

  constructor(clock: FakeClock, acknowledgement: string) {
    this.#clock = clock;
    this.#acknowledgement = acknowledgement;
  }

  readonly connect = (): SocketLike => {
    this.attemptsAtMs.push(this.#clock.now());
    const later = (task: () => void) => void this.#clock.after(LATENCY_MS, task);
    let stalled = false;
    const close = () => socket.onclose?.(new CloseEvent("close", { code: 1012 }));
    const socket: SocketLike = {
      binaryType: "blob",
      onopen: null,
      onmessage: null,
      onclose: null,
      onerror: null,
      send: () => {
        this.subscriptionsAtMs.push(this.#clock.now());
        later(() => stalled || socket.onmessage?.(message(this.#acknowledgement)));
      },
      close() {},
    };
    const beat = () => {
      if (socket.onmessage === null) return;
      if (this.outage === "stalls") stalled = true;
      else if (this.outage !== undefined) return close();
      if (!stalled) socket.onmessage?.(message(HEARTBEAT));
      this.#clock.after(1_000, beat);
    };
    if (this.outage === "refuses") later(() => socket.onerror?.(new ErrorEvent("error")));
    else if (this.outage !== "hangs") {
      later(() => {
        stalled = this.outage === "stalls";
        socket.onopen?.(new Event("open"));
        if (this.outage === "closes") later(close);
        else beat();
      });
    }
    return socket;
  };
}

function message(data: string): MessageEvent {
  return new MessageEvent("message", { data });
}

function setUp(name: ProviderName, random: RandomSource) {
  const clock = new FakeClock();
  const exchange = new Exchange(clock, ACKNOWLEDGEMENTS[name]);
  const connection = new ProviderConnection({
    provider: PROVIDERS[name],
    url: "ws://exchange",
    markets: MARKETS.slice(0, 1),
    clock,
    random,
    connect: exchange.connect,
    handlers: { onTrade() {}, onLost() {} },
  });
  connection.start();
  return { clock, exchange, connection };
}

/** Lets time pass until the provider is subscribed. @returns How long it took, in milliseconds. */
function untilSubscribed(connection: ProviderConnection, clock: FakeClock): number {
  const fromMs = clock.now();
  while (!connection.session?.isSubscribed) clock.advance(10);
  return clock.now() - fromMs;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}

/** The largest number of events in any window of this length. */
function most(timesMs: readonly number[], windowMs: number): number {
  let first = 0;
  return timesMs.reduce((most, timeMs, index) => {
    while (timeMs - (timesMs[first] ?? timeMs) >= windowMs) first += 1;
    return Math.max(most, index - first + 1);
  }, 0);
}

for (const name of PROVIDER_NAMES) {
  for (const kind of OUTAGE_KINDS) {
    Deno.test(`ProviderConnection: ${name} is subscribed within 2 s (median) after an exchange that ${kind} is back`, () =>
      withSeed((random) => {
        const took = Array.from({ length: OUTAGES }, () => {
          const { clock, exchange, connection } = setUp(name, random);
          untilSubscribed(connection, clock);
          clock.advance(60_000);
          exchange.outage = kind;
          clock.advance(Math.ceil(12_000 + random() * OUTAGE_MS_MAX));
          exchange.outage = undefined;
          const ms = untilSubscribed(connection, clock);
          connection.stop();
          return ms;
        });
        assert(median(took) <= 2_000, `median ${median(took)} ms`);
        assert(Math.max(...took) <= 8_000, `longest ${Math.max(...took)} ms`);
      }));
  }
}

/** Most of an event in a time, in milliseconds: the exchanges' own limits. */
type Limit = [event: "attemptsAtMs" | "subscriptionsAtMs", count: number, windowMs: number];
const LIMITS: Record<ProviderName, Limit[]> = {
  provider_a: [["attemptsAtMs", 300, 300_000]],
  provider_b: [["attemptsAtMs", 300, 300_000]],
  provider_c: [["attemptsAtMs", 1, 1_000], ["attemptsAtMs", 150, 600_000]],
  provider_d: [["attemptsAtMs", 3, 1_000], ["subscriptionsAtMs", 480, 3_600_000]],
};

for (const name of PROVIDER_NAMES) {
  Deno.test(`ProviderConnection: ${name} stays within the exchange's limits during two hours of outage`, () =>
    withSeed((random) => {
      for (const kind of OUTAGE_KINDS) {
        const { clock, exchange, connection } = setUp(name, random);
        untilSubscribed(connection, clock);
        exchange.outage = kind;
        for (let minute = 0; minute < 120; minute++) clock.advance(60_000);
        connection.stop();
        for (const [event, count, windowMs] of LIMITS[name]) {
          const found = most(exchange[event], windowMs);
          assert(found <= count, `${kind}: ${found} ${event} in ${windowMs} ms`);
        }
      }
    }));
}
