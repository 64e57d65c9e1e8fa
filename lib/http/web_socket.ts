import { messageOf } from "../errors.ts";

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
