import { messageOf } from "../errors.ts";

/** Close codes of WebSockets (RFC 6455, section 7.4, and its registry). */
export const CloseCode = {
  tooBig: 1009,
  internalError: 1011,
  serviceRestart: 1012,
  tryAgainLater: 1013,
} as const;

/** Whether a request asks to become a WebSocket. */
export function wantsWebSocket({ headers }: Request): boolean {
  return headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** Upgrades a request to a WebSocket. @returns The reason if its handshake lacks a header. */
export function upgradeWebSocket(
  request: Request,
  options?: Deno.UpgradeWebSocketOptions,
): Deno.WebSocketUpgrade | string {
  try {
    return Deno.upgradeWebSocket(request, options);
  } catch (thrown) {
    return `Invalid handshake: ${messageOf(thrown)}; connect with a WebSocket client`;
  }
}
