import { type Clock, monotonicClock, withinMs } from "../../../lib/clock.ts";
import { PIECE_MS } from "../../../lib/http/body_text.ts";
import type { CallerAddress } from "../../../lib/http/caller_address.ts";
import { Turns } from "../../../lib/timing/turns.ts";
import { Deadlines } from "../shared/deadlines.ts";
import type { CallerBytes } from "../shared/limits.ts";
import type { ProxyMetrics } from "../shared/metrics.ts";
import { bodyEnded, limitExceeded } from "../shared/failures.ts";

/** How long the first {@link FIRST_BYTES} of a body may take. */
export const FIRST_BYTES_MS = 5_000;

/** The part of a body that has {@link FIRST_BYTES_MS}. */
export const FIRST_BYTES = 64 * 1024;

/** The rate of the rest, bytes a second: 5 MiB in 45 s. */
export const BYTES_PER_S = 128 * 1024;

/**
 * The runtime reads bodies of at most this declared length. It is much faster, but keeps the bytes
 * of a late body until the connection ends: these are fewer than the connection itself needs.
 */
export const RUNTIME_BYTES_MAX = 8 * 1024;

/**
 * The most pieces of a body: these, and one for each {@link PIECE_BYTES}. One that comes byte by byte
 * takes 20 to 50 µs for each.
 */
const PIECES_MAX = 512;
const PIECE_BYTES = 256;

interface RequestBodiesOptions {
  /** Longer bodies are refused; the limit of `--max-body-bytes`. */
  maxBytes: number;
  callerBytes: CallerBytes;
  metrics: Pick<ProxyMetrics, "countRefusal">;
  clock: Clock;
}

interface RequestBody {
  text: string;
  /** Bytes that were counted for the caller; the owner removes them. */
  countedBytes: number;
}

/**
 * Reads the bodies of requests, bounded in time and memory. A request counts as open only when its
 * body is complete, so that slow callers keep nobody else waiting.
 */
export class RequestBodies {
  readonly #options: RequestBodiesOptions;
  /** Pieces are read in these. */
  readonly #turns = new Turns(monotonicClock);
  /** Bodies that the runtime reads, by the function that ends the wait for one. */
  readonly #inRuntime: Deadlines<(error: Error) => void>;

  constructor(options: RequestBodiesOptions) {
    this.#options = options;
    this.#inRuntime = new Deadlines(
      options.clock,
      FIRST_BYTES_MS,
      (reject) => reject(this.#tooSlowError()),
    );
  }

  /**
   * Reads a body.
   *
   * @param address The caller: its bodies together have a share of the memory.
   * @param nowMs The time: asking the clock again takes 0.1 µs.
   * @throws {ProxyError} 408, 413 or 429, all -32005, if it is too slow, too large, or if too many
   *   bytes are in memory; the rest is not read. 400 / -32700 if its caller disconnects.
   */
  read(request: Request, address: CallerAddress, nowMs: number): Promise<RequestBody> {
    const { maxBytes, callerBytes } = this.#options;
    // The server enforces a declared length. It is not a number if the header is missing or repeated.
    const bytes = Number(request.headers.get("content-length") ?? NaN);
    if (bytes > maxBytes) return Promise.reject(this.#tooLargeError());
    if (bytes <= RUNTIME_BYTES_MAX) return this.#readByRuntime(request, nowMs);
    if (!callerBytes.fits(address, bytes || 0)) return Promise.reject(this.#noMemoryError());
    return this.#readInChunks(request, address);
  }

  stop(): void {
    this.#inRuntime.clear();
    this.#turns.stop();
  }

  #readByRuntime(request: Request, nowMs: number): Promise<RequestBody> {
    return new Promise((resolve, reject) => {
      const deadline = this.#inRuntime.add(reject, nowMs);
      request.text().then((text) => {
        this.#inRuntime.finish(deadline);
        resolve({ text, countedBytes: 0 });
      }, (error) => {
        this.#inRuntime.finish(deadline);
        reject(bodyEnded(error));
      });
    });
  }

  async #readInChunks(request: Request, address: CallerAddress): Promise<RequestBody> {
    if (request.body === null) return { text: "", countedBytes: 0 };
    const { maxBytes, callerBytes, clock } = this.#options;
    const startedAtMs = clock.now();
    const reader = request.body.getReader();
    // As text at once: the runtime reads each chunk, even one of a byte, into a buffer of 64 KiB.
    const decoder = new TextDecoder();
    let text = "";
    let bytes = 0;
    try {
      for (let pieces = 1;; pieces += 1) {
        if (pieces > PIECES_MAX + bytes / PIECE_BYTES) throw this.#tooManyPiecesError();
        const leftMs = startedAtMs + allowedMs(bytes) - clock.now();
        if (leftMs <= 0) throw this.#tooSlowError();
        const read = () => reader.read();
        const reading = this.#turns.run([address.key], read, PIECE_MS).catch((error) => {
          throw bodyEnded(error);
        });
        const piece = await withinMs(reading, leftMs, undefined, clock);
        if (piece === undefined) throw this.#tooSlowError();
        const { value, done } = piece;
        if (done) return { text: text + decoder.decode(), countedBytes: bytes };
        if (bytes + value.length > maxBytes) throw this.#tooLargeError();
        if (!callerBytes.tryAdd(address, value.length)) throw this.#noMemoryError();
        bytes += value.length;
        text += decoder.decode(value, { stream: true });
      }
    } catch (thrown) {
      callerBytes.remove(address, bytes);
      reader.cancel().catch(() => {}); // the connection may be closed already
      throw thrown;
    }
  }

  #tooSlowError(): Error {
    this.#options.metrics.countRefusal("slow_body");
    return limitExceeded(408, `Body is slower than ${BYTES_PER_S / 1024} KiB/s: send it at once`);
  }

  #tooManyPiecesError(): Error {
    this.#options.metrics.countRefusal("slow_body");
    return limitExceeded(413, "Body comes in too many pieces: send it at once");
  }

  #tooLargeError(): Error {
    return limitExceeded(413, `Body is over ${this.#options.maxBytes} bytes: send less at once`);
  }

  #noMemoryError(): Error {
    this.#options.metrics.countRefusal("buffered_bytes");
    return limitExceeded(429, "The proxy holds too many large messages: try again");
  }
}

/** How long this many bytes of a body may take to arrive. */
function allowedMs(bytes: number): number {
  return FIRST_BYTES_MS + Math.max(0, bytes - FIRST_BYTES) / BYTES_PER_S * 1_000;
}
