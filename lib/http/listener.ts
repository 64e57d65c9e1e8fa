import { messageOf, RangemakerError } from "../errors.ts";
import { NetworkError, request } from "../net/http_request.ts";
import { monotonicClock, withinMs } from "../clock.ts";
import { AllowedHosts } from "./allowed_hosts.ts";
import { failureResponse, internalError } from "./json_api.ts";
import { serviceLog } from "../log/logging.ts";
import { Turns } from "../timing/turns.ts";
import { hasHungUp, wantsWebSocket } from "./web_socket.ts";

/**
 * Further requests are answered at once: a client of HTTP/2 may send requests and take them back at
 * any rate.
 */
const WAITING_MAX = 8_192;

/** Counted for a handshake: its answer comes after a wait, and its time is not measured. */
const HANDSHAKE_MS = 0.2;

/** The longest URL of a request; the longest of a route has under 300 characters. */
const URL_CHARS_MAX = 4_096;

/** How long open requests and sockets get to finish before they are abandoned. */
const DRAIN_DEADLINE_MS = 3_000;

/** Pause before a failed listener is reopened, such as after running out of file descriptors. */
const REOPEN_AFTER_MS = 500;

/** The timeout of asking the program on a taken port for its name. */
const OWNER_ANSWER_MS = 1_000;

const OWNER_ANSWER_BYTES_MAX = 64 * 1024;

/** The address cannot be bound. */
export class ListenError extends RangemakerError {
  /** The port is taken; the program that uses it may answer there. */
  readonly isTaken: boolean;

  /**
   * @param portFlag The option that gives the port, for the message.
   * @param owner The program that uses the port, if known.
   */
  constructor(
    readonly host: string,
    readonly port: number,
    cause: unknown,
    readonly portFlag: string,
    owner?: string,
  ) {
    const reason = owner === undefined ? messageOf(cause) : `${owner} listens there`;
    const remedy = `: stop what listens there, or give the service another port with ${portFlag}`;
    super("LISTEN", `Cannot listen on ${host}:${port}: ${reason}${isTaken(cause) ? remedy : ""}`, {
      cause,
    });
    this.isTaken = isTaken(cause);
  }
}

/** Whether the port is taken, as Deno or `node:net` report it. */
function isTaken(cause: unknown): boolean {
  return cause instanceof Deno.errors.AddrInUse ||
    cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
}

/** Facts about a request that is being served. */
export interface ServedRequest {
  /** Settles when the answer has been sent, or cannot be. */
  readonly completed: Promise<void>;
}

/** Answers one request; `remote` is the address of the peer. */
export type RequestHandler = (
  request: Request,
  remote: string,
  served: ServedRequest,
) => Response | Promise<Response>;

interface ListenOptions {
  /** The option that gives the port, for the message where it is taken. */
  portFlag?: string;
  /** Whether several processes may listen on the port: Linux spreads connections among them. */
  reusePort?: boolean;
  /** Names under which it answers, see {@link AllowedHosts}. */
  allowedHosts?: readonly string[];
}

/**
 * Checks that a port is free, before a service does work that a taken port would waste.
 *
 * @throws {ListenError} Like {@link listen}.
 */
export function requireFreePort(host: string, port: number, portFlag = "--port"): void {
  try {
    Deno.listen({ hostname: host, port }).close();
  } catch (cause) {
    throw new ListenError(host, port, cause, portFlag);
  }
}

/** Listens for HTTP. @throws {ListenError} If the address is taken or not this machine's. */
export function listen(
  host: string,
  port: number,
  handler: RequestHandler,
  options: ListenOptions = {},
): Listener {
  try {
    return new Listener(host, port, handler, options);
  } catch (cause) {
    throw new ListenError(host, port, cause, options.portFlag ?? "--port");
  }
}

/** An HTTP server, made by {@link listen}. */
class Listener implements AsyncDisposable {
  /** Base URL with the actual port, without a trailing slash. */
  readonly url: string;
  /** Base URL with the bound address, which may be 0.0.0.0. */
  readonly boundUrl: string;
  readonly #log = serviceLog("http");
  readonly #allowedHosts: AllowedHosts;
  readonly #turns = new Turns(monotonicClock);
  readonly #serve: (port: number) => Deno.HttpServer<Deno.NetAddr>;
  #server: Deno.HttpServer<Deno.NetAddr>;
  #isStopping = false;
  #reopening: ReturnType<typeof setTimeout> | undefined;

  constructor(host: string, port: number, handler: RequestHandler, options: ListenOptions) {
    const { reusePort = false } = options;
    this.#serve = (port) =>
      Deno.serve({
        hostname: host,
        port,
        reusePort,
        onListen: () => {},
        onError: (thrown) => this.#answerFault(thrown),
      }, (request, info) => {
        const refused = this.#allowedHosts.refusalOf(request.headers) ?? refusalOfUrl(request.url);
        if (refused) return failureResponse(refused);
        const remote = info.remoteAddr.hostname;
        const handle = () => handler(request, remote, info);
        const isHandshake = wantsWebSocket(request);
        const answer = isHandshake ? () => answerUnlessGone(request, handle) : handle;
        if (this.#turns.size >= WAITING_MAX) return answer();
        return this.#turns.run([remote], answer, isHandshake ? HANDSHAKE_MS : 0);
      });
    this.#server = this.#serve(port);
    const bound = this.#server.addr;
    this.#allowedHosts = new AllowedHosts(bound.hostname, options.allowedHosts);
    this.url = reachableUrl(bound.hostname, bound.port);
    this.boundUrl = urlOf(bound.hostname, bound.port);
    this.#watch();
  }

  /**
   * Accepts no new connections and waits for open ones up to a deadline. Connections still open
   * then are abandoned: they get no further answer and end with the process.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#reopening);
    // shutdown() waits forever for a peer that reads nothing, and in Deno 2.9 the serve signal
    // cannot be aborted once shutdown has begun (BadResource), so the wait itself is bounded. A
    // failed server has nothing to wait for.
    const ended = this.#server.shutdown().then(() => true, () => true);
    const hasEnded = await withinMs(ended, DRAIN_DEADLINE_MS, false);
    this.#turns.stop();
    if (hasEnded) return;
    this.#log.warn("Connections still open after {ms} ms were abandoned", {
      ms: DRAIN_DEADLINE_MS,
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #answerFault(error: unknown): Response {
    this.#log.error("Request failed: {error}", { error });
    return failureResponse(internalError());
  }

  /** `Deno.serve` stops after one failed accept (EMFILE). */
  #watch(): void {
    this.#server.finished.catch((error: unknown) => {
      if (this.#isStopping) return;
      this.#log.error("Listening failed, reopening: {reason}", { reason: messageOf(error) });
      this.#reopen();
    });
  }

  #reopen(): void {
    this.#reopening = setTimeout(() => {
      try {
        this.#server = this.#serve(this.#server.addr.port);
      } catch (error) {
        this.#log.error("Listening still fails: {reason}", { reason: messageOf(error) });
        return this.#reopen();
      }
      this.#watch();
    }, REOPEN_AFTER_MS);
  }
}

/** Answers a handshake whose turn has come, unless its peer has gone meanwhile. */
async function answerUnlessGone(
  request: Request,
  handle: () => Response | Promise<Response>,
): Promise<Response> {
  if (await hasHungUp(request)) return new Response(null, { status: 400 }); // nobody reads it
  return await handle();
}

/** The base URL of an address, without a trailing slash. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A base URL at which a listener answers on this machine; it may listen on every interface. */
function reachableUrl(host: string, port: number): string {
  return urlOf(host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host, port);
}

/** The WebSocket URL of a server that answers both on one port. */
export function webSocketUrlOf(httpUrl: string): string {
  return httpUrl.replace(/^http/i, "ws");
}

/** Name of the program on a port; services of this program send their name at `GET /`. */
export async function describePortOwner(host: string, port: number): Promise<string> {
  try {
    const bounds = { timeoutMs: OWNER_ANSWER_MS, maxBytes: OWNER_ANSWER_BYTES_MAX };
    const { text } = await request(reachableUrl(host, port), bounds);
    const [, service] = /\brangemaker ([\w-]+) \d/.exec(text) ?? [];
    if (service !== undefined) return `a running rangemaker ${service}`;
  } catch (thrown) {
    if (thrown instanceof NetworkError && thrown.code === "SERVICE_TIMEOUT") {
      return "a program that does not answer"; // any, also a busy service
    }
    // It speaks no HTTP, or this process may not call it.
  }
  return "another program";
}

/**
 * The reason to refuse a URL that would take long: the router needs 20 µs for each `%` that it cannot
 * decode, and a URL of the runtime may have 64 KiB.
 */
function refusalOfUrl(url: string): RangemakerError | undefined {
  const refuse = (message: string) => new RangemakerError("INVALID_REQUEST", message);
  if (url.length > URL_CHARS_MAX) {
    return refuse(`URL has over ${URL_CHARS_MAX} characters: send a shorter one`);
  }
  try {
    if (url.includes("%")) decodeURI(url);
    return undefined;
  } catch {
    return refuse("URL has a % that encodes no UTF-8: write a percent sign as %25");
  }
}

/** The path of an absolute URL. Unlike `URL`, it accepts the host that a caller wrote. */
export function pathOf(url: string): string {
  const start = url.indexOf("/", "https://".length);
  const query = url.indexOf("?", start);
  return query === -1 ? url.slice(start) : url.slice(start, query);
}
