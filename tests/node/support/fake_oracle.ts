import { MARKETS } from "../../../lib/protocol/markets.ts";
import { listen } from "../../../lib/http/listener.ts";

const PRICES: Readonly<Record<string, bigint>> = {
  "BTC/USDT": 60_000_000_000n,
  "ETH/USDT": 3_000_000_000n,
  "SOL/USDT": 150_000_000n,
};

export function pricesBody(
  lastUpdate: number,
  prices: Readonly<Record<string, bigint>> = PRICES,
): { timestamp: number; prices: Record<string, unknown> } {
  const entries = MARKETS.map(({ symbol, base, quote }): [string, unknown] => [symbol, {
    base,
    quote,
    price: (prices[symbol] ?? 1n).toString(),
    decimals: 6,
    lastUpdate,
    sources: ["provider_a"],
  }]);
  return { timestamp: lastUpdate, prices: Object.fromEntries(entries) };
}

/**
 * An oracle over real HTTP whose answers a test can change.
 *
 * @param now The time at which its prices were updated: the moment of each request by default.
 */
export function startFakeOracle(now: () => number = Date.now) {
  const oracle = {
    prices: { ...PRICES },
    requests: 0,
    answer: (_request: Request): Response | Promise<Response> =>
      Response.json(pricesBody(now(), oracle.prices)),
  };
  const listener = listen("127.0.0.1", 0, (request) => {
    oracle.requests += 1;
    return oracle.answer(request);
  });
  const stop = () => listener.stop();
  return Object.assign(oracle, { url: listener.url, stop, [Symbol.asyncDispose]: stop });
}
