/** Four venues, an oracle, and the wire between them, all in one process on a clock that stands still. */
import type { RandomSource } from "../../lib/clock.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../lib/protocol/providers.ts";
import type { SocketLike } from "../../lib/net/reconnecting_socket.ts";
import type { VenueConnection } from "../../services/exchanges/connection.ts";
import type { Venue } from "../../services/exchanges/venue.ts";
import type { FakeClock } from "../support/fake_clock.ts";

/** Time that a frame, or the opening of a connection, takes on the wire. */
const LATENCY_MS = 3;

/** Share of connections that never open. */
const HANGING = 0.05;

/** One connection as someone sees it who reads along on the wire, at the client's end. */
export interface Line {
  provider: ProviderName;
  /** Numbers seen, by market: the same again is no news. */
  seen: Set<string>;
  /** The latest time seen, by market, where trades have no numbers: an older one is no news. */
  latest: Map<string, number>;
  acknowledged: Set<string>;
}

/** Hears what happens on the wire before the client does. */
export interface Eavesdropper {
  onAttempt(line: Line): void;
  onFrame(line: Line, text: string): void;
  /** The line is gone, whoever ended it. */
  onGone(line: Line): void;
}

/** Connects client sockets to venues by the path of their URL. */
export class Wire {
  /** Reasons with which venues closed connections. */
  readonly closes: string[] = [];
  readonly #clock: FakeClock;
  readonly #random: RandomSource;
  readonly #venues: readonly Venue[];
  readonly #ear: Eavesdropper;

  constructor(
    clock: FakeClock,
    random: RandomSource,
    venues: readonly Venue[],
    ear: Eavesdropper,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#venues = venues;
    this.#ear = ear;
  }

  readonly connect = (url: string): SocketLike => {
    const venue = this.#venues.find(({ dialect }) => url.endsWith(dialect.path));
    if (venue === undefined) throw new Error(`No venue at ${url}`);
    const line: Line = {
      provider: venue.dialect.provider,
      seen: new Set(),
      latest: new Map(),
      acknowledged: new Set(),
    };
    this.#ear.onAttempt(line);
    let connection: VenueConnection | undefined;
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
      connection = venue.open({
        send: (text) =>
          void travel(() => {
            if (gone) return;
            this.#ear.onFrame(line, text);
            socket.onmessage?.(new MessageEvent("message", { data: text }));
          }),
        close: (code, reason) => {
          this.closes.push(`${venue.dialect.provider}: ${reason}`);
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

/** What one frame says, read in the simplest way: no schema, no parser of the program. */
function readNaively(
  provider: ProviderName,
  text: string,
): { acknowledged: string[]; symbol?: string; digits?: string; id?: string; ts?: string } {
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
  if (!text.includes(isTrade[provider]) || text.includes("broken")) return { acknowledged: [] };
  return {
    acknowledged: [],
    symbol: symbols[0]?.toUpperCase(),
    digits: /"(?:p|price|last)":"?([\d.]+)/.exec(text)?.[1],
    id: /"(?:a|trade_id)":(\d+)/.exec(text)?.[1],
    ts: /"ts":"(\d+)"/.exec(text)?.[1],
  };
}

/** Digits with 6 decimals, as the stand-ins send them, as an integer. */
function micros(digits: string): bigint {
  return BigInt(digits.replace(".", ""));
}

/**
 * What the oracle should serve, worked out from what went over the wire: the newest price of each
 * provider's oldest connection, for as long as that connection stands or was replaced by one that was
 * fully subscribed, and the price is not too old.
 */
export class NaiveModel implements Eavesdropper {
  readonly #clock: FakeClock;
  readonly #lines: Line[] = [];
  readonly #prices = new Map<string, { price: bigint; atMs: number }>();
  readonly #onEvent: () => void;

  constructor(clock: FakeClock, onEvent: () => void) {
    this.#clock = clock;
    this.#onEvent = onEvent;
  }

  onAttempt(line: Line): void {
    this.#lines.push(line);
  }

  onFrame(line: Line, text: string): void {
    const { acknowledged, symbol, digits, id, ts } = readNaively(line.provider, text);
    for (const one of acknowledged) line.acknowledged.add(one);
    if (symbol === undefined || digits === undefined) return;
    if (id !== undefined && line.seen.has(`${symbol} ${id}`)) return;
    line.seen.add(`${symbol} ${id}`);
    if (Number(ts) < (line.latest.get(symbol) ?? 0)) return;
    line.latest.set(symbol, Number(ts));
    if (line !== this.#oldest(line.provider)) return;
    this.#prices.set(`${line.provider} ${symbol}`, {
      price: micros(digits),
      atMs: this.#clock.now(),
    });
    this.#onEvent();
  }

  onGone(line: Line): void {
    const wasOldest = this.#oldest(line.provider) === line;
    this.#lines.splice(this.#lines.indexOf(line), 1);
    const heir = this.#oldest(line.provider);
    if (wasOldest && heir?.acknowledged.size !== MARKETS.length) {
      for (const { symbol } of MARKETS) this.#prices.delete(`${line.provider} ${symbol}`);
    }
    this.#onEvent();
  }

  /** What should be served now: the median of each pair, as text, with its sources. */
  served(minSources: number, maxSourceAgeMs: number): Record<string, unknown> {
    const served: Record<string, unknown> = {};
    for (const { symbol } of MARKETS) {
      const live = PROVIDER_NAMES.flatMap((provider) => {
        const found = this.#prices.get(`${provider} ${symbol}`);
        return found !== undefined && this.#clock.now() - found.atMs <= maxSourceAgeMs
          ? [{ provider, ...found }]
          : [];
      });
      if (live.length < minSources) continue;
      const sorted = live.map(({ price }) => price).sort((a, b) => Number(a - b));
      const sum = (sorted[(sorted.length - 1) >> 1] ?? 0n) + (sorted[sorted.length >> 1] ?? 0n);
      served[symbol] = {
        price: ((sum + 1n) / 2n).toString(),
        lastUpdate: Math.max(...live.map(({ atMs }) => atMs)),
        sources: live.map(({ provider }) => provider),
      };
    }
    return served;
  }

  #oldest(provider: ProviderName): Line | undefined {
    return this.#lines.find((line) => line.provider === provider);
  }
}
