import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { isTooComplex } from "../../../lib/json_text.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { ReconnectingSocket } from "../../../lib/net/reconnecting_socket.ts";
import { callerAddress } from "../../../lib/http/caller_address.ts";
import { AddressCounts } from "../shared/limits.ts";
import type { ProxyMetrics } from "../shared/metrics.ts";
import {
  type CallAnswer,
  callText,
  findIdSpan,
  idNumber,
  textAfterIdOf,
} from "../shared/envelopes.ts";
import { limitExceeded, nodeTimeout } from "../shared/failures.ts";
import type { ReadNodes } from "../node/read_nodes.ts";
import type { Read } from "../node/read_pool.ts";
import type { SocketSettings } from "../node/subscription_socket.ts";
import { OpenRead, OpenReads, type SentRead } from "./open_reads.ts";
import { PAUSE_MS, SocketHealth } from "./socket_health.ts";

const log = serviceLog("proxy");

/**
 * Reads that are open on the socket at once. rangemaker's node accepts 100 per socket. One caller
 * gets half of the slots at most, so that another one waits no longer than one turn.
 */
export const OPEN_READ_LIMITS = { slots: 64, perCaller: 32, waitingMax: 8_192 };

/**
 * Reads that go over HTTP because they waited too long for a slot: half of the connections to a
 * node for all callers together, a tenth for one caller.
 */
export const OVERFLOW_READS_MAX = { all: 512, perCaller: 100 };

/**
 * Interval at which reads without an answer are checked. Reads that waited this long for a slot go
 * over HTTP: they need more CPU there, but more of them run at once.
 */
export const TICK_INTERVAL_MS = 250;

/** Reads without an answer for this long also go over HTTP: the longest `eth_call` of geth. */
export const ALSO_OVER_HTTP_AFTER_MS = 5_000;

/** Longer reads go over HTTP: nodes close the WebSocket of all callers on a large message. */
const READ_LENGTH_MAX = 16 * 1024;

/**
 * More complex reads go over HTTP: nodes refuse them before they have read the id (at depth 64 .NET,
 * at 128 Rust), and a few errors without an id end the socket of all callers.
 */
const READ_BOUNDS = { depth: 32, parts: 1_000 };

/** Longer answers are not searched for an error, because errors are short. */
const ERROR_LENGTH_MAX = 512;

/** The check of {@link SocketHealth}: a small call that every node answers at once. */
const CHECK_CALL = {
  textAfterId: textAfterIdOf("eth_chainId", "[]"),
  caller: callerAddress(new Headers(), "127.0.0.1", false),
  hasLargeAnswer: false,
};

/** Its id on the socket: no read has it. */
const CHECK_CALL_ID = 0;

interface ReadSocketOptions {
  nodes: Pick<ReadNodes, "leader">;
  overHttp: (read: Read) => Promise<CallAnswer>;
  socket: SocketSettings;
  timeoutMs: number;
  metrics: ProxyMetrics;
}

/**
 * Sends plain reads to the leading read node over a WebSocket of their own. One write of the socket
 * sends many reads, while each HTTP request takes two system calls. Reads that the socket loses,
 * refuses or does not answer in time are sent over HTTP. A node that is slower over its WebSocket
 * gets all reads over HTTP for a while ({@link SocketHealth}). The first read opens the socket.
 */
export class ReadSocket {
  readonly #options: ReadSocketOptions;
  readonly #clock: Clock;
  readonly #socket: ReconnectingSocket;
  readonly #health: SocketHealth;
  readonly #reads = new OpenReads(OPEN_READ_LIMITS);
  /** Reads that go over HTTP because they waited too long, by caller and in all. */
  readonly #overflow = new AddressCounts(OVERFLOW_READS_MAX.perCaller, OVERFLOW_READS_MAX.all);
  #overflowing = 0;
  readonly #observe: (seconds: number) => void;
  #isStarted = false;
  #cancelTick: CancelTimer | undefined;

  constructor(options: ReadSocketOptions) {
    this.#options = options;
    const { nodes, socket, metrics, overHttp } = options;
    this.#clock = socket.clock;
    this.#observe = metrics.upstreamLatencyOf("read");
    this.#health = new SocketHealth({
      clock: socket.clock,
      askOverSocket: () => this.#socket.send(callText(CHECK_CALL.textAfterId, CHECK_CALL_ID)),
      askOverHttp: () => overHttp({ ...CHECK_CALL, node: nodes.leader }),
      onPause: (reason) => {
        const facts = { node: nodes.leader.name, reason, minutes: PAUSE_MS / 60_000 };
        log.warn("Reads go to {node} over HTTP for {minutes} minutes: {reason}", facts);
        this.#socket.drop(reason);
      },
    });
    this.#socket = new ReconnectingSocket({
      ...socket,
      url: () => nodes.leader.endpoint.wsUrl,
      handlers: {
        onOpen() {},
        onText: (text) => this.#onText(text),
        onLost: () => this.#onDisconnected(),
      },
    });
    metrics.scrapedGauge(
      "proxy_read_socket_connected",
      "1 while reads go over a WebSocket to the leading read node, 0 while they go over HTTP.",
      () => this.#isUsable ? 1 : 0,
    );
  }

  /**
   * Sends a read over the socket if that is possible, else over HTTP.
   *
   * @throws {ProxyError} -32002 if no answer came (502) or not in time (504); -32005 (429) if too
   *   many reads wait.
   */
  ask(read: Read): Promise<CallAnswer> {
    const { overHttp, nodes, metrics } = this.#options;
    if (read.node !== nodes.leader || !fitsSocket(read)) return overHttp(read);
    if (!this.#isUsable) {
      this.#connect();
      return overHttp(read);
    }
    const open = new OpenRead(read, this.#clock.now());
    this.#scheduleTick();
    if (this.#reads.tryOpen(open)) this.#send(open);
    else if (!this.#reads.wait(open)) {
      metrics.countRefusal("waiting_reads");
      open.answer.reject(limitExceeded(429, "Too many reads wait for an answer: try again"));
    }
    return open.answer.promise;
  }

  /** Another node leads: connects to it. */
  followLeader(): void {
    if (!this.#isStarted) return;
    this.#health.clear();
    this.#socket.drop("another node is the leader now");
    this.#socket.reconnectNow();
  }

  stop(): void {
    this.#socket.stop();
    this.#cancelTick?.();
    this.#onDisconnected();
  }

  get #isUsable(): boolean {
    return this.#socket.isConnected && !this.#health.isPaused;
  }

  #connect(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#socket.start();
  }

  #send({ read, state }: OpenRead): void {
    if (state.at === "socket") this.#socket.send(callText(read.textAfterId, state.id));
  }

  #onText(text: string): void {
    const idSpan = findIdSpan(text);
    const id = idSpan ? idNumber(text, idSpan) : NaN;
    // An error without an id belongs to one of the open reads.
    if (Number.isNaN(id)) return this.#onErrorWithoutId();
    if (id === CHECK_CALL_ID) return this.#health.onCheckAnswered(this.#socket.lastFrameAtMs);
    const open = this.#reads.get(id);
    if (open === undefined) return; // it was answered over HTTP, or timed out
    this.#observe((this.#socket.lastFrameAtMs - open.startedAtMs) / 1000);
    this.#finish(open);
    if (isMethodNotFound(text)) return void this.#sendOverHttp(open);
    open.answer.resolve({ status: 200, text, idSpan });
  }

  /** Ends a read; if it was open, the next one takes its slot. */
  #finish(open: OpenRead): void {
    const next = this.#reads.finish(open);
    if (next !== undefined) this.#send(next);
  }

  /** Sends a read over HTTP after all. Resolves when it is answered; never rejects. */
  #sendOverHttp({ read, state, answer: { resolve, reject } }: OpenRead): Promise<void> {
    const sent = state.at === "socket" ? state.http : undefined;
    const answer = sent instanceof Promise ? sent : this.#options.overHttp(read);
    return answer.then(resolve, reject);
  }

  /** The node did not say which read failed, so all open reads go over HTTP. */
  #onErrorWithoutId(): void {
    this.#health.countFault("it answers with errors without an id");
    for (const open of this.#reads.listOpen()) {
      this.#finish(open);
      void this.#sendOverHttp(open);
    }
  }

  #onDisconnected(): void {
    this.#health.onLost();
    for (const read of this.#reads.clear()) void this.#sendOverHttp(read);
  }

  #scheduleTick(): void {
    this.#cancelTick ??= this.#clock.after(
      Math.min(TICK_INTERVAL_MS, this.#options.timeoutMs),
      () => {
        this.#cancelTick = undefined;
        this.#checkReads();
        if (this.#reads.size === 0) return;
        this.#health.tick();
        this.#scheduleTick();
      },
    );
  }

  /** Fails reads that reached the timeout, and sends slow ones over HTTP. */
  #checkReads(): void {
    const { timeoutMs, metrics } = this.#options;
    const nowMs = this.#clock.now();
    for (const open of [...this.#reads.listOpen(), ...this.#reads.listWaiting()]) {
      const ageMs = nowMs - open.startedAtMs;
      if (ageMs >= timeoutMs) {
        this.#finish(open);
        metrics.upstreamErrors.inc({ target: "read" });
        open.answer.reject(nodeTimeout("read", timeoutMs));
      } else if (open.state.at === "queue") {
        if (ageMs >= TICK_INTERVAL_MS) void this.#sendOverflowing(open);
      } else if (ageMs >= ALSO_OVER_HTTP_AFTER_MS && open.state.http === undefined) {
        void this.#sendAlsoOverHttp(open, open.state);
      }
    }
  }

  /** Sends a read over HTTP that waited long for a slot, unless too many are there already. */
  async #sendOverflowing(open: OpenRead): Promise<void> {
    const { caller } = open.read;
    if (this.#overflowing >= OVERFLOW_READS_MAX.all || !this.#overflow.tryAdd(caller)) return;
    this.#overflowing += 1;
    this.#finish(open);
    await this.#sendOverHttp(open);
    this.#overflowing -= 1;
    this.#overflow.remove(caller);
  }

  /** Sends a read over HTTP too. The first answer counts; a failure does not. */
  async #sendAlsoOverHttp(open: OpenRead, sent: SentRead): Promise<void> {
    const http = sent.http = this.#options.overHttp(open.read);
    const answer = await http.catch(() => undefined);
    if (answer === undefined) {
      sent.http = "failed"; // the answer may still come over the socket
    } else if (this.#reads.get(sent.id) === open) {
      this.#finish(open);
      this.#health.countFault("its WebSocket does not answer");
      open.answer.resolve(answer);
    }
  }
}

/** Whether a read may share a socket with others. */
function fitsSocket({ textAfterId, hasLargeAnswer }: Read): boolean {
  return !hasLargeAnswer && textAfterId.length <= READ_LENGTH_MAX &&
    !isTooComplex(textAfterId, READ_BOUNDS);
}

/**
 * Whether an answer may say that the node lacks the method. Nodes list methods for HTTP and
 * WebSocket separately, so that the method may exist over HTTP.
 */
function isMethodNotFound(text: string): boolean {
  return text.length <= ERROR_LENGTH_MAX && text.includes("-32601");
}
