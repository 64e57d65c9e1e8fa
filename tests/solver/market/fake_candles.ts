import { listen } from "../../../lib/http/listener.ts";

const MINUTE_MS = 60_000;

/**
 * An exchange's history that answers as Binance's `GET /api/v3/klines` does, over real HTTP. Each minute
 * the price swings by 0.1 % around 3,000 and comes back.
 */
export function startFakeCandles() {
  const history = {
    queries: [] as URLSearchParams[],
    /** Answers given before the real ones: to play a failing endpoint. */
    failures: [] as (Response | Promise<Response>)[],
  };
  const listener = listen("127.0.0.1", 0, (request) => {
    const { pathname, searchParams: query } = new URL(request.url);
    history.queries.push(query);
    const failure = history.failures.shift();
    if (failure !== undefined) return failure;
    if (pathname !== "/api/v3/klines") return new Response("", { status: 404 });
    const number = (name: string) => Number(query.get(name));
    const from = Math.ceil(number("startTime") / MINUTE_MS);
    const to = Math.min(Math.floor(number("endTime") / MINUTE_MS), from + number("limit") - 1);
    const rows = Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => {
      const time = (from + index) * MINUTE_MS;
      return [time, "3000.00", "3003.00", "3000.00", "3000.00", "1", time + MINUTE_MS - 1];
    });
    return Response.json(rows);
  });
  return Object.assign(history, { url: listener.url, stop: () => listener.stop() });
}

/** The annualised volatility of these candles by the range of each. */
export const FAKE_CANDLES_VOLATILITY = Math.log(3003 / 3000) * Math.sqrt(0.5 * 365 * 1_440);
