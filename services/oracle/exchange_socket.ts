import { BoundedSocket } from "../../lib/net/bounded_socket.ts";
import type { SocketLike } from "../../lib/net/reconnecting_socket.ts";

/** The longest message of an exchange; the largest real one has under 2,000 characters. */
export const MESSAGE_BYTES_MAX = 1024 * 1024;

/** With one of these the runtime connects to `wss:` through an HTTP proxy. */
export const PROXY_VARIABLES = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/**
 * Connects to an exchange. A longer message than {@link MESSAGE_BYTES_MAX} closes the connection, so
 * that a hostile exchange cannot fill the memory. Behind an HTTP proxy this is the runtime's socket,
 * which has no such bound: only it connects through the proxy.
 *
 * @param variable Reads a variable of the environment.
 */
export function connectToExchange(
  url: string,
  variable: (name: string) => string | undefined = readVariable,
): SocketLike {
  const isBehindProxy = PROXY_VARIABLES.some((name) => (variable(name) ?? "") !== "");
  if (isBehindProxy && url.startsWith("wss:")) return new WebSocket(url);
  return new BoundedSocket(url, { maxMessageBytes: MESSAGE_BYTES_MAX });
}

/** A variable that this process may not read counts as not set. */
function readVariable(name: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? Deno.env.get(name) : undefined;
}
