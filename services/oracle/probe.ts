import type { Clock } from "../../lib/clock.ts";
import { Backoff } from "../../lib/net/backoff.ts";
import { ReconnectingSocket, type SocketLike } from "../../lib/net/reconnecting_socket.ts";
import { connectToExchange } from "./exchange_socket.ts";
import type { Provider } from "./provider.ts";
import { Session } from "./session.ts";

/** Result of one connection to one provider; times in milliseconds from the start. */
export interface ProbeResult {
  provider: Provider;
  connectedMs?: number;
  subscribedMs?: number;
  firstPriceMs?: number;
  /** First price of each pair. */
  prices: Map<string, bigint>;
  /** The first thing that went wrong. */
  problem?: string;
}

/** The provider to probe, and the timeout. */
export interface ProbeTarget {
  provider: Provider;
  url: string;
  symbols: readonly string[];
  timeoutMs: number;
  clock: Clock;
  connect?: (url: string) => SocketLike;
}

/** Connects once, and ends with a price of every pair, an error or a timeout. */
export function probeProvider(target: ProbeTarget): Promise<ProbeResult> {
  const { provider, url, symbols, timeoutMs, clock, connect = connectToExchange } = target;
  const startMs = clock.now();
  const result: ProbeResult = { provider, prices: new Map() };
  return new Promise((resolve) => {
    let session: Session | undefined;
    const finish = (problem?: string) => {
      result.problem ??= problem;
      cancelTimeout();
      session?.end();
      socket.stop();
      resolve(result);
    };
    const cancelTimeout = clock.after(timeoutMs, () => {
      const missing = symbols.filter((symbol) => !result.prices.has(symbol));
      finish(`no price of ${missing.join(", ")} after ${timeoutMs} ms`);
    });
    const openSession = () =>
      new Session({
        provider,
        markets: symbols,
        clock,
        send: (text) => socket.send(text),
        handlers: {
          onPrint(symbol, price) {
            result.firstPriceMs ??= clock.now() - startMs;
            if (!result.prices.has(symbol)) result.prices.set(symbol, price);
            if (result.prices.size === symbols.length) finish();
          },
          onSubscribed: () => result.subscribedMs = clock.now() - startMs,
          onFault(fault, remedy, detail) {
            result.problem ??= `${fault}: ${detail}`;
            if (remedy === "drop") finish();
          },
          onDropped: (reason) => result.problem ??= `a frame was dropped: ${reason}`,
        },
      });
    const socket = new ReconnectingSocket({
      url,
      clock,
      connect,
      // The first disconnect ends the probe, so the backoff is never used.
      backoff: new Backoff({ initialMs: timeoutMs, maxMs: timeoutMs, random: () => 1 }),
      silenceMs: provider.liveness.silenceMs,
      connectTimeoutMs: timeoutMs,
      handlers: {
        onOpen() {
          result.connectedMs = clock.now() - startMs;
          session = openSession();
          session.start();
        },
        onText: (text) => session?.receive(text),
        onDown: (reason) => finish(reason),
      },
    });
    socket.start();
  });
}
