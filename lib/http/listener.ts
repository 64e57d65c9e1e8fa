import { getLogger } from "@logtape/logtape";
import { messageOf, RangemakerError } from "../errors.ts";
import { LOG_ROOT } from "./logging.ts";

/** How long open requests and sockets may take to end before they are left behind. */
export const DRAIN_DEADLINE_MS = 3_000;

/** How long a listener that failed rests: what it lacked may be back by then. */
const REOPEN_AFTER_MS = 500;

/** The port cannot be listened on. */
export class ListenError extends RangemakerError {
  /** @param portFlag The option that gives the port, for the message. */
  constructor(host: string, port: number, cause: unknown, portFlag: string) {
    const remedy = isTaken(cause)
      ? `: stop what listens there, or give the service another port with ${portFlag}`
      : "";
    super("LISTEN", `Cannot listen on ${host}:${port}: ${messageOf(cause)}${remedy}`, { cause });
  }
}

/** Whether a port is another's, as Deno or as `node:net` tells of it. */
function isTaken(cause: unknown): boolean {
  return cause instanceof Deno.errors.AddrInUse ||
    cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
}

/** A listening HTTP server. */
export interface Listener {
  /** Base URL with the port it really has, without a trailing slash. */
  readonly url: string;
  /** The same with the address that it is bound to, which may be every interface of the machine. */
  readonly boundUrl: string;
  /** Whether it is bound to every interface. */
  readonly isOnEveryInterface: boolean;
  /**
   * Takes no new connections and waits for open ones up to the deadline. A peer that still holds its
   * connection then is left behind: nothing more is answered to it, and it goes with the process.
   */
  stop(): Promise<void>;
}

/** What the server knows about a request that it serves. */
export interface Served {
  /** Settles when the answer has been sent, or cannot be. */
  readonly completed: Promise<void>;
}

/** Answers one request; `remote` is the address of the peer. */
export type RequestHandler = (
  request: Request,
  remote: string,
  served: Served,
) => Response | Promise<Response>;

/** What a listener may be told beside its address. */
export interface ListenOptions {
  /** How long {@link Listener.stop} waits for open connections. */
  drainDeadlineMs?: number;
  /** The option that gives the port, for the message where it is taken. */
  portFlag?: string;
}

/**
 * Listens for HTTP.
 *
 * @throws {ListenError} If the address is taken or not this machine's.
 */
export function listen(
  host: string,
  port: number,
  handler: RequestHandler,
  { drainDeadlineMs = DRAIN_DEADLINE_MS, portFlag = "--port" }: ListenOptions = {},
): Listener {
  const log = getLogger([LOG_ROOT, "http"]);
  const serve = (onPort: number): Deno.HttpServer<Deno.NetAddr> =>
    Deno.serve({
      hostname: host,
      port: onPort,
      onListen: () => {},
      onError(thrown) {
        log.error("Request failed: {error}", { error: thrown });
        return new Response("Internal Server Error", { status: 500 });
      },
    }, (request, info) => handler(request, info.remoteAddr.hostname, info));
  let server: Deno.HttpServer<Deno.NetAddr>;
  let stopping = false;
  let reopening: ReturnType<typeof setTimeout> | undefined;
  // It accepts no more once an accept has failed, as it does where there are no file descriptors left.
  const watch = () => {
    server.finished.catch((error: unknown) => {
      if (stopping) return;
      log.error("Listening failed, and is tried again: {reason}", { reason: messageOf(error) });
      reopen();
    });
  };
  const reopen = () => {
    reopening = setTimeout(() => {
      try {
        server = serve(boundPort);
      } catch (error) {
        log.error("Listening fails still: {reason}", { reason: messageOf(error) });
        return reopen();
      }
      watch();
    }, REOPEN_AFTER_MS);
  };
  try {
    server = serve(port);
  } catch (cause) {
    throw new ListenError(host, port, cause, portFlag);
  }
  watch();
  const stop = async () => {
    stopping = true;
    clearTimeout(reopening);
    if (await shutDown(server, drainDeadlineMs)) return;
    log.warn("Left a peer behind that did not end within {ms} ms", { ms: drainDeadlineMs });
  };
  const { hostname, port: boundPort } = server.addr;
  const isOnEveryInterface = hostname === "0.0.0.0" || hostname === "::";
  return {
    url: urlOf(isOnEveryInterface ? "127.0.0.1" : hostname, boundPort),
    boundUrl: urlOf(hostname, boundPort),
    isOnEveryInterface,
    stop,
  };
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
    // A server that has failed has nothing left to wait for.
    const ended = server.shutdown().then(() => true, () => true);
    return await Promise.race([ended, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The base URL of an address, without a trailing slash. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
