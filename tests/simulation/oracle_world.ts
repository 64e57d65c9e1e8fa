/** Four exchanges, an oracle and the wire between them, in one process on a fake clock. */
import type { RandomSource } from "../../lib/random.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../lib/protocol/providers.ts";
import type { SocketLike } from "../../lib/net/reconnecting_socket.ts";
import type { ExchangeConnection } from "../../services/exchanges/connection.ts";
import type { Exchange } from "../../services/exchanges/exchange.ts";
import type { FakeClock } from "../support/fake_clock.ts";

/** Time that a frame, or the opening of a connection, takes on the wire. */
const LATENCY_MS = 3;

/** Share of connections that never open. */
const HANGING = 0.05;

/** After this time prices replace a missing acknowledgement. */
const ACKNOWLEDGE_MS = 2_500;

/** Longest time that a price is used without a trade. */
const QUIET_MS = 30_000;

/** One connection as someone sees it who reads along on the wire, at the client's end. */
export interface Line {
  provider: ProviderName;
  /** Numbers seen, by market: the same again is no news. */
  seen: Set<string>;
  /** The latest time seen, by market, for trades without numbers: an older one is ignored. */
  latest: Map<string, number>;
  acknowledged: Set<string>;
  /** Markets with a price before the time to acknowledge was over. */
  traded: Set<string>;
  /** Number of the last trade that was news, by market. */
  lastIds: Map<string, string>;
  openedAtMs: number;
}

/** Sees events on the wire before the client does. */
export interface Eavesdropper {
  onAttempt(line: Line): void;
  onFrame(line: Line, text: string): void;
  /** The connection is gone, from either side. */
  onGone(line: Line): void;
}

/** Connects client sockets to exchanges by the path of their URL. */
export class Wire {
  /** Reasons with which exchanges closed connections. */
  readonly closes: string[] = [];
  readonly #clock: FakeClock;
  readonly #random: RandomSource;
  readonly #exchanges: readonly Exchange[];
  readonly #ear: Eavesdropper;

  constructor(
    clock: FakeClock,
    random: RandomSource,
    exchanges: readonly Exchange[],
    ear: Eavesdropper,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#exchanges = exchanges;
    this.#ear = ear;
  }

  readonly connect = (url: string): SocketLike => {
    const exchange = this.#exchanges.find(({ dialect }) => url.endsWith(dialect.path));
    if (exchange === undefined) throw new Error(`No exchange at ${url}`);
    const line: Line = {
      provider: exchange.dialect.provider,
      seen: new Set(),
      latest: new Map(),
      acknowledged: new Set(),
      traded: new Set(),
      lastIds: new Map(),
      openedAtMs: this.#clock.now() + LATENCY_MS,
    };
    this.#ear.onAttempt(line);
    let connection: ExchangeConnection | undefined;
    let gone = false;
    const end = () => {
      if (gone) return false;
      gone = true;
      this.#ear.onGone(line);
      return true;
    };
    const travel = (task: () => void) => this.#clock.after(LATENCY_MS, task);
    const socket: SocketLike = {
      binaryType: "blob",
      onopen: null,
      onmessage: null,
      onclose: null,
      onerror: null,
      send: (text) => void travel(() => connection?.receive(text)),
      close() {
        end();
        travel(() => connection?.closed());
      },
    };
    if (this.#random() < HANGING) return socket;
    travel(() => {
      if (gone) return;
      connection = exchange.open({
        send: (text) =>
          void travel(() => {
            if (gone) return;
            this.#ear.onFrame(line, text);
            socket.onmessage?.(new MessageEvent("message", { data: text }));
          }),
        close: (code, reason) => {
          this.closes.push(`${exchange.dialect.provider}: ${reason}`);
          travel(() => {
            if (end()) socket.onclose?.(new CloseEvent("close", { code, reason }));
          });
        },
      });
      socket.onopen?.(new Event("open"));
    });
    return socket;
  };
}

/** The content of one frame, read in the simplest way: no schema, no parser of the program. */
function readNaively(
  provider: ProviderName,
  text: string,
): {
  acknowledged: string[];
  symbol?: string;
  digits?: string;
  id?: string;
  ts?: string;
  newest?: string;
  idle?: boolean;
} {
  const symbols = [...text.matchAll(/(BTC|ETH|SOL)[-/]?USDT/gi)].map((match) => `${match[1]}/USDT`);
  const isTrade = {
    provider_a: "aggTrade",
    provider_b: '"ticker"',
    provider_c: '"update"',
    provider_d: '"last"',
  };
  const isAnswer = {
    provider_a: '"result":null',
    provider_b: '"subscriptions"',
    provider_c: '"success":true',
    provider_d: '"event":"subscribe"',
  };
  if (text.includes(isAnswer[provider])) {
    return {
      acknowledged: provider === "provider_a" ? MARKETS.map((market) => market.symbol) : symbols,
    };
  }
  if (text.includes('"heartbeat"')) {
    const newest = /"last_trade_id":(\d+)/.exec(text)?.[1];
    return { acknowledged: [], symbol: symbols[0], newest, idle: newest === undefined };
  }
  if (!text.includes(isTrade[provider]) || text.includes("broken")) return { acknowledged: [] };
  return {
    acknowledged: [],
    symbol: symbols[0]?.toUpperCase(),
    digits: /"(?:p|price|last)":"?([\d.]+)/.exec(text)?.[1],
    id: /"(?:a|trade_id)":(\d+)/.exec(text)?.[1],
    ts: /"ts":"(\d+)"/.exec(text)?.[1],
  };
}

/** Digits with 6 decimals, as the simulated exchanges send them, as an integer. */
function micros(digits: string): bigint {
  return BigInt(digits.replace(".", ""));
}

/** The newest price of one provider in one market. */
interface KnownPrice {
  price: bigint;
  atMs: number;
  confirmedAtMs: number;
  aliveAtMs: number;
}

/** A price as the oracle should serve it. */
interface ServedPrice {
  price: string;
  lastUpdate: number | undefined;
  sources: ProviderName[];
}

/**
 * The prices that the oracle should serve, computed from the traffic: the newest price of each
 * provider's oldest connection, while that connection is open or until its replacement has
 * subscribed, and the price is not too old.
 */
export class NaiveModel implements Eavesdropper {
  readonly #clock: FakeClock;
  readonly #lines: Line[] = [];
  readonly #prices = new Map<string, KnownPrice>();
  readonly #onEvent: () => void;

  constructor(clock: FakeClock, onEvent: () => void) {
    this.#clock = clock;
    this.#onEvent = onEvent;
  }

  onAttempt(line: Line): void {
    this.#lines.push(line);
  }

  onFrame(line: Line, text: string): void {
    const { provider } = line;
    const { acknowledged, symbol, digits, id, ts, newest, idle } = readNaively(provider, text);
    for (const one of acknowledged) line.acknowledged.add(one);
    if (idle || newest !== undefined) return this.#heartbeat(line, symbol, newest);
    if (symbol === undefined || digits === undefined) return;
    if (id !== undefined && line.seen.has(`${symbol} ${id}`)) return;
    line.seen.add(`${symbol} ${id}`);
    if (Number(ts) < (line.latest.get(symbol) ?? 0)) return;
    line.latest.set(symbol, Number(ts));
    if (id !== undefined) line.lastIds.set(symbol, id);
    const atMs = this.#clock.now();
    if (atMs <= line.openedAtMs + ACKNOWLEDGE_MS) line.traded.add(symbol);
    if (line !== this.#oldest(provider)) return;
    const price = micros(digits);
    this.#prices.set(`${provider} ${symbol}`, {
      price,
      atMs,
      confirmedAtMs: atMs,
      aliveAtMs: atMs,
    });
    this.#onEvent();
  }

  /** A heartbeat confirms only the price of the trade that it names. */
  #heartbeat(line: Line, symbol: string | undefined, newest: string | undefined): void {
    if (line !== this.#oldest(line.provider)) return;
    const nowMs = this.#clock.now();
    for (const market of MARKETS) {
      const known = this.#prices.get(`${line.provider} ${market.symbol}`);
      if (known === undefined) continue;
      if (newest === undefined) known.aliveAtMs = nowMs;
      else if (
        market.symbol === symbol && line.lastIds.get(symbol) === newest &&
        nowMs - known.atMs <= QUIET_MS
      ) known.confirmedAtMs = known.aliveAtMs = nowMs;
    }
    this.#onEvent();
  }

  onGone(line: Line): void {
    const wasOldest = this.#oldest(line.provider) === line;
    this.#lines.splice(this.#lines.indexOf(line), 1);
    const kept = wasOldest ? this.#takenOver(this.#oldest(line.provider)) : undefined;
    for (const { symbol } of wasOldest ? MARKETS : []) {
      if (!kept?.has(symbol)) this.#prices.delete(`${line.provider} ${symbol}`);
    }
    this.#onEvent();
  }

  /** Markets that a second connection takes over; undefined until it has subscribed. */
  #takenOver(heir: Line | undefined): Set<string> | undefined {
    if (heir === undefined) return undefined;
    if (heir.acknowledged.size === MARKETS.length) return heir.acknowledged;
    const overdue = this.#clock.now() >= heir.openedAtMs + ACKNOWLEDGE_MS;
    return overdue ? heir.acknowledged.union(heir.traded) : undefined;
  }

  /** What should be served now: the median of each pair, as text, with its sources. */
  served(minSources: number, maxSourceAgeMs: number): Record<string, ServedPrice> {
    const served: Record<string, ServedPrice> = {};
    for (const { symbol } of MARKETS) {
      const live = this.#contributing(symbol, maxSourceAgeMs);
      if (live.length < minSources) continue;
      const sorted = live.map(({ price }) => price).sort((a, b) => Number(a - b));
      const sum = (sorted[(sorted.length - 1) >> 1] ?? 0n) + (sorted[sorted.length >> 1] ?? 0n);
      const times = live.map(({ confirmedAtMs }) => confirmedAtMs).sort((a, b) => a - b);
      served[symbol] = {
        price: ((sum + 1n) / 2n).toString(),
        lastUpdate: times[Math.ceil(times.length / 2) - 1],
        sources: live.map(({ provider }) => provider),
      };
    }
    return served;
  }

  /** The fresh sources of a market, and fewer quiet ones, newest first, in the order of the spec. */
  #contributing(symbol: string, maxSourceAgeMs: number) {
    const nowMs = this.#clock.now();
    const known = PROVIDER_NAMES.flatMap((provider) => {
      const price = this.#prices.get(`${provider} ${symbol}`);
      return price === undefined ? [] : [{ provider, ...price }];
    });
    const fresh = known.filter((one) => nowMs - one.confirmedAtMs <= maxSourceAgeMs);
    const quiet = known
      .filter((one) => !fresh.includes(one) && nowMs - one.aliveAtMs <= maxSourceAgeMs)
      .filter((one) => nowMs - one.atMs <= QUIET_MS)
      .sort((a, b) => b.atMs - a.atMs)
      .filter((_, index) => index + 1 < fresh.length);
    return known.filter((one) => fresh.includes(one) || quiet.includes(one));
  }

  #oldest(provider: ProviderName): Line | undefined {
    return this.#lines.find((line) => line.provider === provider);
  }
}
