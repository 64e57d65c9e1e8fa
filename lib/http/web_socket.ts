import { messageOf } from "../errors.ts";

/** Close codes of WebSockets (RFC 6455, section 7.4, and its registry). */
export const CloseCode = {
  tooBig: 1009,
  internalError: 1011,
  serviceRestart: 1012,
  tryAgainLater: 1013,
} as const;

/** Deno 2.9.6 needs three. */
const ABORT_MICROTASKS = 8;

/** Whether a request asks to become a WebSocket. */
export function wantsWebSocket({ method, headers }: Request): boolean {
  return method === "GET" && headers.get("upgrade")?.toLowerCase() === "websocket";
}

/**
 * Whether the peer of a request that has waited has ended its connection: the runtime would keep a
 * WebSocket for it until the process ends. It still keeps one whose peer resets the connection
 * between this look and the answer.
 */
export async function hasHungUp({ signal }: Request): Promise<boolean> {
  // The runtime answers the first look at the signal a few microtasks later.
  for (let step = 0; step < ABORT_MICROTASKS; step += 1) await undefined;
  return signal.aborted;
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
