import { Hono } from "hono";
import { z } from "zod";
import { RangemakerError } from "../../lib/errors.ts";
import {
  allowReadsFrom,
  createBodyReader,
  failureResponse,
  handleErrors,
  handshakeExpected,
} from "../../lib/http/json_api.ts";
import { pathOf } from "../../lib/http/listener.ts";
import { upgradeWebSocket, wantsWebSocket } from "../../lib/http/web_socket.ts";
import { positiveUint64Schema } from "../../lib/protocol/scalars.ts";
import { describeInput } from "../../lib/protocol/describe_input.ts";
import { aggregateTrade } from "./dialects/binance.ts";
import type { Exchange } from "./exchange.ts";
import type { TradeLog } from "./trade_log.ts";

const numberSchema = z.string().regex(/^\d{1,15}$/, "Expected a number").transform(Number);

/** The query of `GET /api/v3/aggTrades`. */
const querySchema = z.object({
  symbol: z.string({ error: "Expected a symbol" }),
  fromId: numberSchema.optional(),
  startTime: numberSchema.optional(),
  endTime: numberSchema.optional(),
  limit: numberSchema.default(500).transform((limit) => Math.min(Math.max(limit, 1), 1_000)),
});

/** An answer of the history endpoint in Binance's format. */
interface HistoryAnswer {
  status: 200 | 400;
  body: unknown;
}

/**
 * Answers Binance's `GET /api/v3/aggTrades`: by `fromId`, by `startTime` and `endTime` (both
 * included), or the newest trades.
 */
export function aggTrades(
  query: Record<string, string>,
  logOf: (symbol: string) => TradeLog | undefined,
): HistoryAnswer {
  const parsed = querySchema.safeParse(query);
  if (!parsed.success) return refusal(-1100, describeInput(parsed.error, query));
  const { symbol, fromId, startTime, endTime, limit } = parsed.data;
  const log = logOf(symbol);
  if (log === undefined) return refusal(-1121, "Invalid symbol.");
  if (fromId !== undefined && (startTime !== undefined || endTime !== undefined)) {
    return refusal(-1128, "Combination of optional parameters invalid.");
  }
  const trades = fromId !== undefined
    ? log.fromId(fromId, limit)
    : startTime !== undefined || endTime !== undefined
    ? log.between(startTime ?? 0, endTime ?? Infinity, limit)
    : log.fromId((log.newest?.id ?? 0) - limit + 1, limit);
  return { status: 200, body: trades.map(aggregateTrade) };
}

function refusal(code: number, msg: string): HistoryAnswer {
  return { status: 400, body: { code, msg } };
}

/** Prices to pin, by market; null returns to the prices of the simulation or tape. */
const pinsSchema = (markets: readonly string[]) =>
  z.partialRecord(
    z.enum(markets),
    z.nullable(positiveUint64Schema("Expected a price above 0")),
  );

interface ExchangesApiOptions {
  /** Symbols of the markets, such as `ETH/USDT`. */
  markets: readonly string[];
  /** Past trades by the symbol of the exchange, such as `ETHUSDT`. */
  historyOf(symbol: string): TradeLog | undefined;
  /** Makes every exchange trade a market at one price; null ends that. */
  pinPrice(market: string, price: bigint | null): void;
  corsOrigins?: readonly string[] | undefined;
}

/**
 * HTTP routes: the history that a backfill reads, and pinned prices for tests. New trades are sent
 * over WebSockets. Web pages cannot set prices: a browser sends a preflight before a `PUT`, and
 * only `GET` is allowed.
 */
export function createExchangesApi(
  { markets, historyOf, pinPrice, corsOrigins }: ExchangesApiOptions,
): Hono {
  const readBody = createBodyReader(corsOrigins ?? []);
  const app = new Hono();
  allowReadsFrom(app, corsOrigins);
  app.get("/api/v3/aggTrades", (c) => {
    const { status, body } = aggTrades(c.req.query(), historyOf);
    return c.json(body, status);
  });
  const schema = pinsSchema(markets);
  app.put("/prices", async (c) => {
    for (const [market, price] of Object.entries(await readBody(c, schema))) {
      if (price !== undefined) pinPrice(market, price);
    }
    return c.json({ success: true });
  });
  handleErrors(app, "exchanges");
  return app;
}

/** A client with more unsent bytes than this is disconnected. */
const UNSENT_BYTES_MAX = 4 * 1024 * 1024;

/** Seconds without a frame after which a client is pinged, as Binance does. */
const PING_AFTER_S = 20;

/**
 * Upgrades a request to the WebSocket of the exchange with this path.
 *
 * @returns Undefined for an unknown path; a refusal for a request without a WebSocket handshake.
 */
export function upgradeToExchange(
  request: Request,
  exchanges: readonly Exchange[],
): Response | undefined {
  const exchange = exchanges.find((exchange) => exchange.dialect.path === pathOf(request.url));
  if (exchange === undefined) return undefined;
  if (!wantsWebSocket(request)) {
    return failureResponse(handshakeExpected(exchange.dialect.path), { upgrade: "websocket" });
  }
  const upgrade = upgradeWebSocket(request, { idleTimeout: PING_AFTER_S });
  if (typeof upgrade === "string") {
    return failureResponse(new RangemakerError("INVALID_REQUEST", upgrade));
  }
  upgrade.socket.onopen = () => serve(upgrade.socket, exchange);
  return upgrade.response;
}

function serve(socket: WebSocket, exchange: Exchange): void {
  const connection = exchange.open({
    send(text) {
      if (socket.readyState !== WebSocket.OPEN) return;
      if (socket.bufferedAmount > UNSENT_BYTES_MAX) connection.close(1008, "Client too slow");
      else socket.send(text);
    },
    close: (code, reason) => socket.close(code, reason),
  });
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") connection.receive(data);
    else connection.close(1003, "Expected text");
  };
  socket.onclose = () => connection.closed();
  // A close event follows every error.
  socket.onerror = () => {};
}
