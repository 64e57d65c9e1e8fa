import { formatPrice } from "../../lib/protocol/price.ts";
import { listen } from "../../lib/http/listener.ts";
import type { PastTrade } from "../../services/backfill/trade_history.ts";

/** When the trades of these tests begin. */
export const START = 1_700_000_000_000;

export function trade(offsetMs: number, price: bigint): PastTrade {
  return { time: START + offsetMs, price };
}

export async function* from(trades: readonly PastTrade[]): AsyncGenerator<PastTrade> {
  yield* trades;
}

/** A trade history that answers as Binance's `GET /api/v3/aggTrades` does, over real HTTP. */
export function startFakeHistory(trades: readonly PastTrade[]) {
  const queries: URLSearchParams[] = [];
  const history = {
    trades: [...trades],
    queries,
    /** It returns no more rows at once, whatever is asked for. */
    pageMax: Infinity,
  };
  const listener = listen("127.0.0.1", 0, (request) => {
    const url = new URL(request.url);
    const query = url.searchParams;
    queries.push(query);
    if (url.pathname !== "/api/v3/aggTrades") return new Response("", { status: 404 });
    const rows = history.trades.map(({ time, price }, index) => ({
      a: index + 1,
      p: formatPrice(price),
      q: "1",
      f: index,
      l: index,
      T: time,
      m: true,
      M: true,
    }));
    const number = (name: string, otherwise: number) => Number(query.get(name) ?? otherwise);
    const fitting = query.has("fromId")
      ? rows.filter(({ a }) => a >= number("fromId", 0))
      : rows.filter(({ T }) => T >= number("startTime", 0) && T <= number("endTime", Infinity));
    return Response.json(fitting.slice(0, Math.min(history.pageMax, number("limit", 500))));
  });
  const stop = () => listener.stop();
  return Object.assign(history, { url: listener.url, stop, [Symbol.asyncDispose]: stop });
}
