import { PROVIDER_NAMES } from "../../lib/protocol/providers.ts";
import { gaussian, type RandomSource } from "../../lib/random.ts";
import { YEAR_MS } from "../../lib/time.ts";
import type { TradeStream } from "./playback.ts";

/** Start price and moves of a market. */
interface MarketProfile {
  startPrice: number;
  /** Standard deviation of the logarithm of the price over a year. */
  volatility: number;
}

const PROFILES: Readonly<Record<string, MarketProfile>> = {
  "BTC/USDT": { startPrice: 60_000, volatility: 0.5 },
  "ETH/USDT": { startPrice: 3_000, volatility: 0.65 },
  "SOL/USDT": { startPrice: 150, volatility: 0.9 },
};

const DEFAULT_PROFILE: MarketProfile = { startPrice: 100, volatility: 0.6 };

/** Mean time between two jumps of a market. */
const JUMP_EVERY_MS = 15 * 60_000;

/** Standard deviation of a jump, as a share of the price. */
const JUMP_SHARE = 0.002;

/** Standard deviation of an exchange's constant offset from the true price, as a share of it. */
const EXCHANGE_SHARE = 0.000_2;

/** Standard deviation of one trade from its exchange's price, as a share of that price. */
const TRADE_SHARE = 0.000_05;

/** Prices are whole cents: 10^4 of the 6 decimals. */
const TICK = 10_000n;

interface SimulationOptions {
  /** One at least. */
  markets: readonly string[];
  random: RandomSource;
  startMs: number;
  /** Mean trades a second in each market at each exchange. */
  tradesPerSecond: number;
}

/**
 * A market's true price at a time: a geometric Brownian motion with rare jumps. Times count from
 * the start, so that the same seed always gives the same prices.
 */
interface Path {
  price: number;
  atMs: number;
  volatility: number;
}

/**
 * Trades at all exchanges; the same seed of `random` gives the same trades. Each market has one true
 * price; each exchange has a small offset from it and trades at its own times.
 */
export function* simulatedTrades(
  { markets, random, startMs, tradesPerSecond }: SimulationOptions,
): TradeStream {
  const meanGapMs = 1_000 / tradesPerSecond;
  /** Time to a stream's next trade: exponential, as for independent trades. */
  const gapMs = () => -Math.log(1 - random()) * meanGapMs;
  const streams = markets.flatMap((market) => {
    const { startPrice, volatility } = PROFILES[market] ?? DEFAULT_PROFILE;
    const path: Path = { price: startPrice, atMs: 0, volatility };
    return PROVIDER_NAMES.map((provider) => ({
      provider,
      market,
      path,
      /** The exchange's price as a share of the true one. */
      level: 1 + EXCHANGE_SHARE * gaussian(random),
      /** Time of the next trade, counted from the start. */
      nextAtMs: gapMs(),
    }));
  });
  for (;;) {
    const stream = streams.reduce((a, b) => b.nextAtMs < a.nextAtMs ? b : a);
    const { provider, market, path, level, nextAtMs: atMs } = stream;
    stream.nextAtMs += gapMs();
    move(path, atMs, random);
    const price = path.price * level * (1 + TRADE_SHARE * gaussian(random));
    yield {
      provider,
      market,
      timeMs: startMs + Math.floor(atMs),
      price: toTicks(price),
      amount: (0.001 + random()).toFixed(4),
      side: random() < 0.5 ? "buy" : "sell",
    };
  }
}

function move(path: Path, atMs: number, random: RandomSource): void {
  const elapsedMs = atMs - path.atMs;
  const variance = path.volatility ** 2 * elapsedMs / YEAR_MS;
  let logMove = Math.sqrt(variance) * gaussian(random) - variance / 2;
  if (random() < elapsedMs / JUMP_EVERY_MS) logMove += JUMP_SHARE * gaussian(random);
  path.price *= Math.exp(logMove);
  path.atMs = atMs;
}

function toTicks(price: number): bigint {
  const ticks = BigInt(Math.round(price * 100));
  return (ticks > 0n ? ticks : 1n) * TICK;
}
