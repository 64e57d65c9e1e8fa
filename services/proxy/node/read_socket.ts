import { Backoff } from "../../../lib/net/backoff.ts";
import type { CancelTimer, Clock, RandomSource } from "../../../lib/clock.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { BoundedSocket } from "../../../lib/net/bounded_socket.ts";
import { ReconnectingSocket } from "../../../lib/net/reconnecting_socket.ts";
import { memberSpan, type Span } from "../json_text.ts";
import type { ProxyMetrics } from "../metrics.ts";
import { type Answer, callText, restOf } from "../envelope.ts";
import { limitExceeded, nodeTimeout } from "../failures.ts";
import { SocketTrial } from "./socket_trial.ts";
import { Turns } from "./turns.ts";

const log = serviceLog("proxy");

/**
 * Reads that are open on the socket at once. Our node accepts 100 of one socket; half of them are for
 * one caller at most, so that nobody waits for a place longer than for one turn.
 */
export const READS_OPEN = { places: 64, perCaller: 32, waitingMax: 8_192 };

/**
 * Reads that go over HTTP because they waited too long for a place, of all callers and of one: a tenth
 * of the connections to a node for one caller, half of them for all.
 */
export const READS_SPILLED = { places: 512, perCaller: 100, waitingMax: 0 };

/**
 * While reads take longer than this, those that wait for a place go over HTTP: more of them at a time
 * are worth more than the CPU that they cost. It is also the interval at which that is decided.
 */
const SLOW_MS = 20;

/** Interval at which reads without an answer are looked at. */
export const LOOK_MS = 500;

/** A read without an answer for this long is sent over HTTP too: the longest `eth_call` of geth. */
export const LATE_MS = 5_000;

/** The largest answer over the socket; larger ones are expected over HTTP. */
const FRAME_BYTES_MAX = 64 * 1024 * 1024;

/** Errors are short: only in answers up to this length is one looked for. */
const ERROR_LENGTH_MAX = 512;

/** Weight of the newest read in the average time of a read. */
const NEWEST_WEIGHT = 0.05;

/** Most methods that the node is known not to have on its WebSocket; callers choose names freely. */
const ABSENT_METHODS_MAX = 100;

/** The usual beginning of an answer. */
const USUAL_START = '{"jsonrpc":"2.0","id":';

/** A call that every node answers at once, to see whether it answers at all. */
const CHECK = restOf("eth_chainId", "[]");

/** A read to send. */
export interface Read {
  method: string;
  /** The call behind its id. */
  rest: string;
  /** Key of the caller, who takes turns with others. */
  caller: string;
  /** Sends it over HTTP instead. */
  overHttp: () => Promise<Answer>;
}

interface OpenRead extends Read, PromiseWithResolvers<Answer> {
  startedAtMs: number;
  /** Whether it was also sent over HTTP. */
  isRepeated: boolean;
}

/** Options of a {@link ReadSocket}. */
export interface ReadSocketOptions {
  /** Name and WebSocket URL of the node that serves reads now. */
  node: () => { name: string; url: string };
  /** For durations: it must not jump. */
  clock: Clock;
  random: RandomSource;
  timeoutMs: number;
  reconnectInitialMs: number;
  reconnectMaxMs: number;
  metrics: ProxyMetrics;
}

/**
 * Plain reads over a WebSocket of their own to the leading read node: a write of the socket sends many
 * of them, while each HTTP request takes two system calls. A read that it loses, refuses or does not
 * answer in time is sent over HTTP, and a node that is worse over its WebSocket gets all reads over
 * HTTP for a while ({@link SocketTrial}). It connects with the first read.
 */
export class ReadSocket {
  readonly #options: ReadSocketOptions;
  readonly #socket: ReconnectingSocket;
  readonly #trial: SocketTrial;
  readonly #open = new Map<number, OpenRead>();
  readonly #turns = new Turns<OpenRead>(READS_OPEN);
  readonly #spilled = new Turns<OpenRead>(READS_SPILLED);
  readonly #absentMethods = new Set<string>();
  readonly #observe: (seconds: number) => void;
  #lastId = 0;
  /** Average time that reads take. */
  #tookMs = 0;
  #isStarted = false;
  /** Whether a frame came since the last look. */
  #isAlive = false;
  #checkId: number | undefined;
  #cancelLook: CancelTimer | undefined;
  #cancelSpill: CancelTimer | undefined;
  /** Answers so far, and at the last time that waiting reads were looked at. */
  #answers = 0;
  #answersBefore = 0;

  constructor(options: ReadSocketOptions) {
    this.#options = options;
    const { clock, random, metrics, node } = options;
    const { reconnectInitialMs: initialMs, reconnectMaxMs: maxMs } = options;
    this.#observe = metrics.upstreamLatency("read");
    this.#trial = new SocketTrial(clock, (reason, pauseMs) => {
      const minutes = pauseMs / 60_000;
      const facts = { node: node().name, reason, minutes };
      log.warn("Reads go to {node} over HTTP for {minutes} minutes: {reason}", facts);
      this.#socket.drop(reason);
    });
    this.#socket = new ReconnectingSocket({
      url: "",
      connect: () => new BoundedSocket(node().url, { maxMessageBytes: FRAME_BYTES_MAX, clock }),
      clock,
      backoff: new Backoff({ initialMs, maxMs, random }),
      handlers: {
        onOpen: () => {
          this.#trial.restart();
          this.#absentMethods.clear();
        },
        onText: (text) => this.#received(text),
        onDown: () => this.#lost(),
      },
    });
    metrics.showGauge(
      "proxy_read_socket_connected",
      "1 while reads go over a WebSocket to the leading read node, 0 while they go over HTTP.",
      () => this.#isUsable ? 1 : 0,
    );
  }

  /** Sends a read over the socket if that is possible, else over HTTP. */
  ask(read: Read): Promise<Answer> {
    if (!this.#isUsable || this.#absentMethods.has(read.method)) {
      this.#connect();
      return read.overHttp();
    }
    if (this.#trial.isHttpTurn()) return this.#trial.timeHttp(read.overHttp);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const { method, rest, caller, overHttp } = read;
    const startedAtMs = this.#options.clock.now();
    const settle = { promise, resolve, reject };
    const open = { method, rest, caller, overHttp, ...settle, startedAtMs, isRepeated: false };
    this.#look();
    if (this.#turns.tryStart(caller)) this.#send(open);
    else if (this.#turns.wait(caller, open)) this.#spillLater();
    else {
      this.#options.metrics.countRefusal("waiting_reads");
      return Promise.reject(limitExceeded(429, "Too many reads wait for an answer: try again"));
    }
    return promise;
  }

  /** Another node leads: connects to it. */
  move(): void {
    if (!this.#isStarted) return;
    this.#trial.clear();
    this.#socket.drop("another node leads");
    this.#socket.reconnectNow();
  }

  stop(): void {
    this.#socket.stop();
    this.#cancelLook?.();
    this.#cancelSpill?.();
    this.#lost();
  }

  get #isUsable(): boolean {
    return this.#socket.connected && !this.#trial.isPaused;
  }

  #connect(): void {
    if (this.#trial.isPaused || this.#isStarted) return;
    this.#isStarted = true;
    this.#socket.start();
  }

  #send(read: OpenRead): void {
    const id = this.#lastId += 1;
    this.#open.set(id, read);
    this.#socket.send(callText(read.rest, id));
  }

  #received(text: string): void {
    this.#isAlive = true;
    this.#answers += 1;
    const span = idSpanOf(text);
    // Some nodes return a number as text.
    const id = span ? Number(text.slice(span.start, span.end).replaceAll('"', "")) : NaN;
    // An error without an id is about one of the open reads.
    if (Number.isNaN(id)) return this.#faulted();
    const read = this.#open.get(id);
    if (read === undefined) return; // it is late, or that of a check
    const tookMs = this.#options.clock.now() - read.startedAtMs;
    this.#observe(tookMs / 1000);
    this.#tookMs += (tookMs - this.#tookMs) * NEWEST_WEIGHT;
    this.#trial.socketTook(tookMs);
    this.#close(id, read);
    if (text.length <= ERROR_LENGTH_MAX && text.includes("-32601")) return this.#repeatAbsent(read);
    read.resolve({ status: 200, text, id: span });
  }

  /** Ends a read on the socket; the next one takes its place. */
  #close(id: number, { caller }: OpenRead): void {
    this.#open.delete(id);
    const next = this.#turns.finish(caller);
    if (next !== undefined) this.#send(next);
  }

  /** A method may be missing on the WebSocket alone: nodes have a list for each way. */
  #repeatAbsent(read: OpenRead): void {
    const { method } = read;
    void read.overHttp().then((answer) => {
      const isPresent = answer.text.length > ERROR_LENGTH_MAX || !answer.text.includes("-32601");
      if (isPresent && this.#absentMethods.size < ABSENT_METHODS_MAX) {
        this.#absentMethods.add(method);
      }
      read.resolve(answer);
    }).catch(read.reject);
  }

  /** Which read the node could not answer is unknown: all of them go over HTTP. */
  #faulted(): void {
    this.#trial.faulted("it answers with errors without an id");
    for (const [id, read] of [...this.#open]) {
      this.#close(id, read);
      overHttp(read);
    }
  }

  /** The socket is gone, and with it the answers. */
  #lost(): void {
    const reads = [...this.#open.values(), ...this.#turns.clear()];
    this.#open.clear();
    this.#checkId = undefined;
    for (const read of reads) overHttp(read);
  }

  /** Reads that wait go over HTTP while the socket is slow, some of each caller's. */
  #spillLater(): void {
    this.#cancelSpill ??= this.#options.clock.after(SLOW_MS, () => {
      this.#cancelSpill = undefined;
      const isSlow = this.#tookMs > SLOW_MS || this.#answers === this.#answersBefore;
      this.#answersBefore = this.#answers;
      const next = () => this.#turns.next((caller) => this.#spilled.tryStart(caller));
      for (let read = isSlow ? next() : undefined; read !== undefined; read = next()) {
        const { caller } = read;
        void overHttp(read).then(() => this.#spilled.finish(caller));
      }
      if (this.#turns.waiting > 0) this.#spillLater();
    });
  }

  #look(): void {
    this.#cancelLook ??= this.#options.clock.after(
      Math.min(LOOK_MS, this.#options.timeoutMs),
      () => {
        this.#cancelLook = undefined;
        this.#endLate();
        this.#checkSilence();
        if (this.#open.size > 0) this.#look();
      },
    );
  }

  /** A read without an answer is sent over HTTP too, and ends with the timeout. */
  #endLate(): void {
    const { clock, timeoutMs, metrics } = this.#options;
    const nowMs = clock.now();
    const end = (read: OpenRead) => {
      metrics.upstreamErrors.inc({ target: "read" });
      read.reject(nodeTimeout("read", timeoutMs));
    };
    for (const [id, read] of [...this.#open]) {
      const ageMs = nowMs - read.startedAtMs;
      if (ageMs >= timeoutMs) {
        this.#close(id, read);
        end(read);
      } else if (ageMs >= LATE_MS && !read.isRepeated) {
        read.isRepeated = true;
        this.#race(id, read);
      }
    }
    for (const read of this.#turns.items()) {
      if (nowMs - read.startedAtMs < timeoutMs) continue;
      this.#turns.remove(read.caller, read);
      end(read);
    }
  }

  /** Sends a read over HTTP too. The first answer counts; a failure does not. */
  #race(id: number, read: OpenRead): void {
    read.overHttp().then((answer) => {
      if (this.#open.get(id) !== read) return;
      this.#close(id, read);
      this.#trial.faulted("its WebSocket gives no answers");
      read.resolve(answer);
    }).catch(() => {});
  }

  /** A node that answers nothing, not even a small call, works on one call at a time or is stuck. */
  #checkSilence(): void {
    const isSilent = !this.#isAlive && this.#open.size > 0;
    this.#isAlive = false;
    if (!isSilent) this.#checkId = undefined;
    else if (this.#checkId === undefined) {
      this.#checkId = this.#lastId += 1;
      this.#socket.send(callText(CHECK, this.#checkId));
    } else this.#trial.pause("one read over its WebSocket keeps the others waiting");
  }
}

/** Sends a read over HTTP after all. Resolves when it is answered; never rejects. */
async function overHttp(read: OpenRead): Promise<void> {
  try {
    read.resolve(await read.overHttp());
  } catch (error) {
    read.reject(error);
  }
}

/** The place of the id in a frame of the node. */
function idSpanOf(text: string): Span | undefined {
  if (!text.startsWith(USUAL_START)) return memberSpan(text, "id");
  const start = USUAL_START.length;
  let end = start;
  for (let code = text.charCodeAt(end); code >= 0x30 && code <= 0x39;) {
    code = text.charCodeAt(end += 1);
  }
  const isUsual = end > start && (text[end] === "," || text[end] === "}");
  return isUsual ? { start, end } : memberSpan(text, "id");
}
