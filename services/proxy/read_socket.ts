import { getLogger } from "@logtape/logtape";
import { Backoff } from "../../lib/backoff.ts";
import type { CancelTimer, Clock, RandomSource } from "../../lib/clock.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { LOG_ROOT } from "../../lib/service/logging.ts";
import { ReconnectingSocket } from "../../lib/socket.ts";
import type { Call } from "./calls.ts";
import { nodeTimeout } from "./failures.ts";
import { memberSpan, memberText, replaceMember, type Span } from "./json_text.ts";
import type { ProxyMetrics } from "./metrics.ts";
import type { NodeReply } from "./node_reply.ts";
import { NodeSocket } from "./node_socket.ts";

const log = getLogger([LOG_ROOT, "proxy"]);

/** Reads under way on the socket; those beyond go over HTTP, so that nothing queues here. */
const OPEN_READS_MAX = 1_024;

/** How most nodes begin an answer: the id is found without reading the rest. */
const USUAL_START = /^\{"jsonrpc":"2\.0","id":(\d+)[,}]/;

/** The socket was lost before the answer came. A read may be sent again another way. */
export class ReadSocketLostError extends RangemakerError {
  constructor(reason: string) {
    super("READ_SOCKET_LOST", `The socket for reads was lost: ${reason}`);
  }
}

/** What a {@link ReadSocket} works with. */
export interface ReadSocketOptions {
  /** WebSocket URL of the read node. */
  url: string;
  clock: Clock;
  random: RandomSource;
  timeoutMs: number;
  reconnectInitialMs: number;
  reconnectMaxMs: number;
  metrics: ProxyMetrics;
}

interface OpenRead {
  /** The caller's own id, as it was written. */
  id: string;
  askedAtMs: number;
  resolve: (reply: NodeReply) => void;
  reject: (error: Error) => void;
}

/**
 * Sends plain reads over a WebSocket of their own, many at once: a third of the cost of a request
 * each over HTTP (see `tests/bench/proxy_http_bench.ts`). It is not the socket of the hub, so that a
 * huge answer cannot hold up notifications, nor take their connection down.
 */
export class ReadSocket {
  readonly #options: ReadSocketOptions;
  readonly #socket: ReconnectingSocket;
  readonly #open = new Map<number, OpenRead>();
  #lastId = 0;
  #cancelTimer: CancelTimer | undefined;

  constructor(options: ReadSocketOptions) {
    this.#options = options;
    const { url, clock, random } = options;
    const { reconnectInitialMs: initialMs, reconnectMaxMs: maxMs } = options;
    this.#socket = new ReconnectingSocket({
      url,
      connect: (url) => new NodeSocket(url, clock),
      clock,
      backoff: new Backoff({ initialMs, maxMs, random }),
      handlers: {
        onOpen: () => log.debug("Socket for reads is open to {url}", { url }),
        onText: (text) => this.#answered(text),
        onDown: (reason) => this.#lost(reason),
      },
    });
  }

  /** Whether a read can be sent now; otherwise HTTP is the way. */
  get usable(): boolean {
    return this.#socket.connected && this.#open.size < OPEN_READS_MAX;
  }

  start(): void {
    this.#socket.start();
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#socket.stop();
    this.#lost("stopped");
  }

  /**
   * Sends a call that has an id.
   *
   * @throws {ReadSocketLostError} If the socket closes first.
   * @throws {ProxyError} 504 / -32002 if the node takes too long.
   */
  async ask(call: Call): Promise<NodeReply> {
    const { clock, metrics } = this.#options;
    const id = this.#lastId += 1;
    const reply = new Promise<NodeReply>((resolve, reject) => {
      const ownId = memberText(call.text, "id") ?? "null";
      this.#open.set(id, { id: ownId, askedAtMs: clock.now(), resolve, reject });
    });
    const startedAtMs = performance.now();
    this.#socket.send(replaceMember(call.text, "id", String(id)));
    this.#watch();
    try {
      return await reply;
    } catch (thrown) {
      metrics.upstreamErrors.inc({ target: "read" });
      throw thrown;
    } finally {
      metrics.observeUpstream("read", performance.now() - startedAtMs);
    }
  }

  #answered(text: string): void {
    const span = idSpan(text);
    if (span === undefined) return;
    const id = Number(text.slice(span.start, span.end));
    const read = this.#open.get(id);
    if (read === undefined) return; // too late: its caller was told
    this.#open.delete(id);
    read.resolve({ status: 200, body: text.slice(0, span.start) + read.id + text.slice(span.end) });
  }

  #lost(reason: string): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const read of open) read.reject(new ReadSocketLostError(reason));
  }

  /** One timer for all: the oldest read, which comes first in the map, is the first to be overdue. */
  #watch(): void {
    const [oldest] = this.#open.values();
    if (this.#cancelTimer !== undefined || oldest === undefined) return;
    const { clock, timeoutMs } = this.#options;
    const leftMs = Math.max(0, oldest.askedAtMs + timeoutMs - clock.now());
    this.#cancelTimer = clock.after(leftMs, () => {
      this.#cancelTimer = undefined;
      this.#expire(clock.now() - timeoutMs);
      this.#watch();
    });
  }

  #expire(askedBeforeMs: number): void {
    for (const [id, read] of this.#open) {
      if (read.askedAtMs > askedBeforeMs) return;
      this.#open.delete(id);
      read.reject(nodeTimeout("read", this.#options.timeoutMs));
      // A peer that vanished without a word shows by nothing else.
      if (this.#socket.lastFrameAtMs <= read.askedAtMs) this.#socket.drop("silent");
    }
  }
}

function idSpan(text: string): Span | undefined {
  const usual = USUAL_START.exec(text);
  if (usual?.[1] === undefined) return memberSpan(text, "id");
  const end = usual[0].length - 1;
  return { start: end - usual[1].length, end };
}
