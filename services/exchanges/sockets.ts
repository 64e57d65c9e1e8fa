import { RangemakerError } from "../../lib/errors.ts";
import { failureResponse, handshakeExpected } from "../../lib/http/json_api.ts";
import { pathOf } from "../../lib/http/listener.ts";
import { upgradeWebSocket, wantsWebSocket } from "../../lib/http/web_socket.ts";
import type { Exchange } from "./exchange.ts";

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
