import { getLogger } from "@logtape/logtape";
import { messageOf, RangemakerError } from "../errors.ts";
import { LOG_ROOT } from "./logging.ts";

/** How long open requests and sockets may take to end before they are cut. */
export const DRAIN_DEADLINE_MS = 3_000;

/** The port cannot be listened on. */
export class ListenError extends RangemakerError {
  constructor(host: string, port: number, cause: unknown) {
    super("LISTEN", `Cannot listen on ${host}:${port}: ${messageOf(cause)}`, { cause });
  }
}

/** A listening HTTP server. */
export interface Listener {
  /** Base URL with the port it really has, without a trailing slash. */
  readonly url: string;
  /** Takes no new connections, waits for open ones up to {@link DRAIN_DEADLINE_MS}, cuts the rest. */
  stop(): Promise<void>;
}

/** Answers one request; `remote` is the address of the peer. */
export type RequestHandler = (request: Request, remote: string) => Response | Promise<Response>;

/**
 * Listens for HTTP.
 *
 * @throws {ListenError} If the address is taken or not this machine's.
 */
export function listen(host: string, port: number, handler: RequestHandler): Listener {
  const log = getLogger([LOG_ROOT, "http"]);
  const cut = new AbortController();
  let server: Deno.HttpServer<Deno.NetAddr>;
  try {
    server = Deno.serve({
      hostname: host,
      port,
      signal: cut.signal,
      onListen: () => {},
      onError(thrown) {
        log.error("Request failed: {error}", { error: thrown });
        return new Response("Internal Server Error", { status: 500 });
      },
    }, (request, info) => handler(request, info.remoteAddr.hostname));
  } catch (cause) {
    throw new ListenError(host, port, cause);
  }
  return { url: urlOf(server.addr), stop: () => shutDown(server, cut) };
}

async function shutDown(server: Deno.HttpServer, cut: AbortController): Promise<void> {
  // A peer that reads nothing would keep shutdown() waiting for ever: only the signal ends it.
  const deadline = setTimeout(() => cut.abort(), DRAIN_DEADLINE_MS);
  try {
    await server.shutdown();
    await server.finished;
  } finally {
    clearTimeout(deadline);
  }
}

function urlOf(address: Deno.NetAddr): string {
  const anyHost = address.hostname === "0.0.0.0" || address.hostname === "::";
  const host = anyHost ? "127.0.0.1" : address.hostname;
  return `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}
