import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Markets } from "../../lib/protocol/markets.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import { seededRandom } from "../../lib/random.ts";
import { createServiceCommand } from "../../lib/cli/command.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { UsageError } from "../../lib/cli/options.ts";
import { webSocketUrlOf } from "../../lib/http/listener.ts";
import { createRegistry, metricsIn } from "../../lib/http/metrics.ts";
import { type RunningService, startService } from "../../lib/http/service.ts";
import { readTape } from "../../lib/prices/tape.ts";
import { createExchangesApi, upgradeToExchange } from "./api.ts";
import type { Trade } from "./dialects/dialect.ts";
import { DIALECTS } from "./dialects/mod.ts";
import { type ExchangeFault, scheduleFaults } from "./faults.ts";
import { type ExchangesOptions, options } from "./options.ts";
import { tapeTrades, TradePlayer, type TradeStream } from "./playback.ts";
import { simulatedTrades } from "./simulation.ts";
import { Exchange } from "./exchange.ts";

export { type ExchangesOptions, options };

/** The exchange whose history is served, because its history has the finest resolution. */
const HISTORY_PROVIDER = "provider_a";

/**
 * Trades kept for history, for all markets together. With three markets, that is nearly three hours
 * at the default rate: more than the node's ring.
 */
const TRADES_KEPT = 150_000;

interface RunningExchanges extends RunningService {
  /** Full WebSocket URL of each exchange, for the oracle's `--provider-url`. */
  readonly providerUrls: Record<ProviderName, string>;
  /** Injects a fault into an exchange, which stays until the stop. */
  inject(provider: ProviderName, fault: ExchangeFault): void;
}

/**
 * Starts stand-ins for the four exchanges on one port.
 *
 * @throws {TapeError} If the tape cannot be played.
 * @throws {ListenError} If the port is taken.
 */
export async function startExchanges(options: ExchangesOptions): Promise<RunningExchanges> {
  const clock = systemClock;
  const markets = await readMarkets(options.markets);
  const sources = await createSources(options, markets, clock.now());
  const exchanges = createExchanges(markets, clock);
  const byProvider = new Map(exchanges.map((exchange) => [exchange.dialect.provider, exchange]));
  const registry = createRegistry();
  const { counter, scrapedGauges } = metricsIn(registry);
  scrapedGauges(
    "exchanges_connections",
    "Open connections, by provider.",
    ["provider"],
    () => exchanges.map(({ dialect: { provider }, connections }) => [{ provider }, connections]),
  );
  const trades = counter(
    "exchanges_trades_total",
    "Trades that happened, by provider.",
    "provider",
  );
  const pins = new Map<string, bigint>();
  const play = (trade: Trade) => {
    const price = pins.get(trade.market) ?? trade.price;
    byProvider.get(trade.provider)?.trade({ ...trade, price });
    trades.inc({ provider: trade.provider });
  };
  const player = new TradePlayer(sources, clock, play);
  let cancelFaults = () => {};
  const service = startService({
    name: "exchanges",
    host: options.host,
    allowedHosts: options.allowedHosts,
    port: options.port,
    app: createExchangesApi({
      markets: markets.symbols,
      historyOf: (symbol) => byProvider.get(HISTORY_PROVIDER)?.log(symbol),
      pinPrice(market, price) {
        pins.delete(market);
        if (price === null) return;
        pins.set(market, price);
        // Trade immediately, and not only with the next simulated trade.
        for (const provider of byProvider.keys()) {
          play({ provider, market, price, timeMs: clock.now(), amount: "1", side: "buy" });
        }
      },
      corsOrigins: options.corsOrigins,
    }),
    beforeRoutes: (request) => upgradeToExchange(request, exchanges),
    health: () => Response.json({ status: "healthy" }),
    registry,
    drain() {
      cancelFaults();
      player.stop();
      for (const exchange of exchanges) exchange.stop();
    },
  });
  player.start();
  cancelFaults = scheduleFaults(options.faults, (provider) => byProvider.get(provider), clock);
  return {
    ...service,
    providerUrls: urlsOf(exchanges, service.url),
    inject: (provider, fault) => byProvider.get(provider)?.inject(fault),
  };
}

function createExchanges({ list }: Markets, clock: Clock): Exchange[] {
  const tradesKept = Math.ceil(TRADES_KEPT / list.length);
  return DIALECTS.map((dialect) =>
    new Exchange({
      dialect,
      markets: list,
      tradesKept: dialect.provider === HISTORY_PROVIDER ? tradesKept : undefined,
      clock,
    })
  );
}

/** The simulation, in which the tape replaces one market. */
async function createSources(
  options: ExchangesOptions,
  { symbols }: Markets,
  startMs: number,
): Promise<TradeStream[]> {
  const { tape, tapeMarket, seed, rate } = options;
  if (tape !== undefined && !symbols.includes(tapeMarket)) {
    throw new UsageError(
      `Invalid --tape-market: Expected one of ${symbols.join(", ")}: received ${tapeMarket}`,
    );
  }
  const rows = tape === undefined ? undefined : await readTape(tape);
  const markets = symbols.filter((symbol) => rows === undefined || symbol !== tapeMarket);
  const simulation = { markets, random: seededRandom(seed), startMs, tradesPerSecond: rate };
  return [
    ...markets.length === 0 ? [] : [simulatedTrades(simulation)],
    ...rows === undefined ? [] : [tapeTrades(rows, tapeMarket, startMs)],
  ];
}

function urlsOf(exchanges: readonly Exchange[], url: string): Record<ProviderName, string> {
  const base = webSocketUrlOf(url);
  // Every provider has an exchange.
  return Object.fromEntries(
    exchanges.map(({ dialect }) => [dialect.provider, base + dialect.path]),
  ) as Record<ProviderName, string>;
}

export const run = createServiceCommand({
  name: "exchanges",
  description:
    "Stand-ins for Binance, Coinbase, Kraken and OKX in their own wire formats, from a seeded " +
    "simulation or a recorded tape of trades.",
  options,
  examples: [
    ["rangemaker exchanges --seed 7", "a simulation that can be repeated"],
    ["rangemaker exchanges --tape trades.csv", "recorded ETH/USDT trades, the rest simulated"],
    ["rangemaker exchanges --fault okx=stall@5000+20000", "OKX falls silent after 5 s, for 20 s"],
  ],
}, startExchanges);
