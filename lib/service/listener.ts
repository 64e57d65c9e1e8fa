import { getLogger } from "@logtape/logtape";
import { messageOf, RangemakerError } from "../errors.ts";
import { LOG_ROOT } from "./logging.ts";

/** How long open requests and sockets may take to end before they are left behind. */
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
  /**
   * Takes no new connections and waits for open ones up to the deadline. A peer that still holds its
   * connection then is left behind: nothing more is answered to it, and it goes with the process.
   */
  stop(): Promise<void>;
}

/** Answers one request; `remote` is the address of the peer. */
export type RequestHandler = (request: Request, remote: string) => Response | Promise<Response>;

/**
 * Listens for HTTP.
 *
 * @param drainDeadlineMs How long {@link Listener.stop} waits for open connections.
 * @throws {ListenError} If the address is taken or not this machine's.
 */
export function listen(
  host: string,
  port: number,
  handler: RequestHandler,
  drainDeadlineMs: number = DRAIN_DEADLINE_MS,
): Listener {
  const log = getLogger([LOG_ROOT, "http"]);
  let server: Deno.HttpServer<Deno.NetAddr>;
  try {
    server = Deno.serve({
      hostname: host,
      port,
      onListen: () => {},
      onError(thrown) {
        log.error("Request failed: {error}", { error: thrown });
        return new Response("Internal Server Error", { status: 500 });
      },
    }, (request, info) => handler(request, info.remoteAddr.hostname));
  } catch (cause) {
    throw new ListenError(host, port, cause);
  }
  const stop = async () => {
    if (await shutDown(server, drainDeadlineMs)) return;
    log.warn("Left a peer behind that did not end within {ms} ms", { ms: drainDeadlineMs });
  };
  return { url: urlOf(server.addr), stop };
}

/** @returns False if a connection outlived the deadline. */
async function shutDown(server: Deno.HttpServer, deadlineMs: number): Promise<boolean> {
  // shutdown() waits for ever for a peer that reads nothing, and in Deno 2.9 the serve signal cannot
  // be aborted any more once it has begun (BadResource), so the wait itself is what has to end.
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), deadlineMs);
  });
  try {
    return await Promise.race([server.shutdown().then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

function urlOf(address: Deno.NetAddr): string {
  const anyHost = address.hostname === "0.0.0.0" || address.hostname === "::";
  const host = anyHost ? "127.0.0.1" : address.hostname;
  return `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}
