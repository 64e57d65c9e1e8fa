import { Backoff } from "../../lib/net/backoff.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { formatPrice } from "../../lib/protocol/price.ts";
import { EXCHANGE_OF } from "../../lib/protocol/providers.ts";
import { command, type CommandContext, ExitCode } from "../../lib/cli/command.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import type { OptionsOf, OptionTable } from "../../lib/cli/options.ts";
import { ReconnectingSocket, type SocketLike } from "../../lib/net/reconnecting_socket.ts";
import { connectToExchange } from "./exchange_socket.ts";
import { options as oracleOptions, requireSources } from "./options.ts";
import type { Provider } from "./provider.ts";
import { endpoints } from "./providers.ts";
import { Session } from "./session.ts";

/** Options of `rangemaker oracle probe`: those of the oracle that select providers. */
export const probeOptions = {
  providers: oracleOptions.providers,
  markets: oracleOptions.markets,
  minSources: oracleOptions.minSources,
  providerUrls: oracleOptions.providerUrls,
  timeoutMs: {
    flags: "--timeout-ms",
    kind: kinds.duration(100, 600_000),
    description: "how long each provider may take to send a price of every pair",
    default: "15000",
  },
} satisfies OptionTable;

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

/** The results as a table, one line for each provider. */
export function probeTable(results: readonly ProbeResult[], symbols: readonly string[]): string[] {
  const header = ["provider", "exchange", "connected", "subscribed", "first price", ...symbols];
  const took = (ms: number | undefined) => ms === undefined ? "no" : `${ms} ms`;
  const rows = results.map((result) => [
    result.provider.name,
    EXCHANGE_OF[result.provider.name],
    took(result.connectedMs),
    took(result.subscribedMs),
    took(result.firstPriceMs),
    ...symbols.map((symbol) => {
      const price = result.prices.get(symbol);
      return price === undefined ? "-" : formatPrice(price);
    }),
    result.problem ?? "",
  ]);
  const table = [[...header, "problem"], ...rows];
  const widths = header.map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0))
  );
  return table.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()
  );
}

/** The pairs with too few prices, each as a line. */
export function shortfalls(
  results: readonly ProbeResult[],
  symbols: readonly string[],
  minSources: number,
): string[] {
  return symbols.flatMap((symbol) => {
    const count = sourcesOf(results, symbol);
    return count >= minSources ? [] : [`${symbol}: ${count} of ${minSources} sources`];
  });
}

/** Number of providers that sent a price of a pair. */
export function sourcesOf(results: readonly ProbeResult[], symbol: string): number {
  return results.filter(({ prices }) => prices.has(symbol)).length;
}

async function probe(
  options: OptionsOf<typeof probeOptions>,
  { print, progress }: Pick<CommandContext, "print" | "progress">,
): Promise<number> {
  requireSources(options);
  const markets = await readMarkets(options.markets);
  const { symbols } = markets;
  const { timeoutMs, minSources } = options;
  const waiting = new Set(options.providers);
  const showWaiting = () =>
    progress(waiting.size === 0 ? "" : `Waiting for ${[...waiting].join(", ")}`);
  showWaiting();
  const results = await Promise.all(
    endpoints(options, markets).map(async ({ provider, url }) => {
      const result = await probeProvider({ provider, url, symbols, timeoutMs, clock: systemClock });
      waiting.delete(provider.name);
      showWaiting();
      return result;
    }),
  );
  for (const line of probeTable(results, symbols)) print(line);
  const missing = shortfalls(results, symbols, minSources);
  for (const line of missing) print(line);
  print(missing.length === 0 ? "Ready: every pair has enough sources" : "Not ready");
  return missing.length === 0 ? ExitCode.ok : ExitCode.failed;
}

/** `rangemaker oracle probe`: 0 only if every pair reaches `--min-sources`. */
export const run = command({
  name: "oracle probe",
  description: "Connects once to each provider and shows its prices.",
  options: probeOptions,
  examples: [
    ["rangemaker oracle probe --min-sources 2", "checks that the exchanges can be reached"],
  ],
  defaultLogLevel: "warning",
  run: probe,
});
