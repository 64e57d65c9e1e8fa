import { listen } from "../../../lib/http/listener.ts";
import { MINUTE_MS } from "../../../lib/time.ts";

/**
 * An exchange's history that answers as Binance's `GET /api/v3/klines` does, over real HTTP. The
 * price wanders around 3,000 by some 0.1 % a minute.
 */
export function startFakeCandles() {
  const history = {
    queries: [] as URLSearchParams[],
    /** Answers returned before the real ones, to simulate a failing endpoint. */
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
      const [open, close] = [priceAt(from + index), priceAt(from + index + 1)];
      const prices = [open, Math.max(open, close) + 1, Math.min(open, close) - 1, close];
      return [time, ...prices.map((price) => price.toFixed(2)), "1", time + MINUTE_MS - 1];
    });
    return Response.json(rows);
  });
  return Object.assign(history, {
    url: listener.url,
    [Symbol.asyncDispose]: () => listener.stop(),
  });
}

/**
 * Waves of many lengths, the longer the higher, go as far as a random walk: like the root of time.
 */
function priceAt(minute: number): number {
  let log = 0;
  for (let length = 2.7; length < 20_000; length *= 3) {
    log += 5e-4 * Math.sqrt(length) * Math.sin(2 * Math.PI * minute / length + length);
  }
  return 3_000 * Math.exp(log);
}
