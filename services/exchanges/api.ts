import { Hono } from "hono";
import { aggTrades } from "./history.ts";
import type { TradeLog } from "./trade_log.ts";
import type { Venue } from "./venue.ts";

/** HTTP routes: the history that a backfill reads. Prints themselves go over WebSockets. */
export function exchangesApi(historyOf: (symbol: string) => TradeLog | undefined): Hono {
  const app = new Hono();
  app.get("/api/v3/aggTrades", (c) => {
    const { status, body } = aggTrades(c.req.query(), historyOf);
    return c.json(body, status);
  });
  app.notFound((c) => c.json({ error: `No route ${c.req.method} ${c.req.path}` }, 404));
  return app;
}

/** A client whose socket holds this many unsent bytes is cut off. */
const UNSENT_BYTES_MAX = 4 * 1024 * 1024;

/** Upgrades a request to the WebSocket of the venue whose path it asks for. */
export function upgradeToVenue(request: Request, venues: readonly Venue[]): Response | undefined {
  const { pathname } = new URL(request.url);
  const venue = venues.find((venue) => venue.dialect.path === pathname);
  if (venue === undefined) return undefined;
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
    return new Response("Expected a WebSocket\n", {
      status: 426,
      headers: { upgrade: "websocket" },
    });
  }
  const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 20 });
  socket.onopen = () => {
    const connection = venue.open({
      send(text) {
        if (socket.readyState !== WebSocket.OPEN) return;
        if (socket.bufferedAmount > UNSENT_BYTES_MAX) connection.close(1008, "Client too slow");
        else socket.send(text);
      },
      close: (code, reason) => socket.close(code, reason),
    });
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") connection.receive(data);
    };
    socket.onclose = () => connection.closed();
    // The close event follows and says all there is to do.
    socket.onerror = () => {};
  };
  return response;
}
