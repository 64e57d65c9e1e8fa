import type { Clock } from "../../../lib/clock.ts";
import type { ByteBudget } from "../shared/limits.ts";
import type { ProxyMetrics } from "../shared/metrics.ts";
import { bodyEnded, limitExceeded } from "../shared/failures.ts";

/**
 * How long a body may take to arrive: the first 64 KiB, and each byte of its declared length, or of
 * the longest one, beyond that. 5 MiB may take 45 s.
 */
export const ARRIVAL = { firstMs: 5_000, firstBytes: 64 * 1024, bytesPerS: 128 * 1024 };

/**
 * The runtime reads bodies of at most this declared length, without a limit of time. It is much
 * faster, but keeps the bytes of a late body until the connection ends: these are fewer than the
 * connection itself needs.
 */
export const RUNTIME_BYTES_MAX = 8 * 1024;

interface RequestBodiesOptions {
  maxBytes: number;
  budget: ByteBudget;
  metrics: Pick<ProxyMetrics, "countRefusal">;
  clock: Clock;
}

interface RequestBody {
  text: string;
  /** Bytes that were added to the budget; the owner removes them. */
  countedBytes: number;
}

/**
 * Reads the bodies of requests, bounded in time and memory. A request counts as open only when its
 * body is complete, so that slow callers keep nobody else waiting.
 */
export class RequestBodies {
  readonly #options: RequestBodiesOptions;

  constructor(options: RequestBodiesOptions) {
    this.#options = options;
  }

  /**
   * Reads a body.
   *
   * @throws {ProxyError} 408, 413 or 429, all -32005, if it is too slow, too large, or if too many
   *   bytes are in memory; the rest is not read. 400 / -32700 if its caller disconnects.
   */
  async read(request: Request): Promise<RequestBody> {
    const { maxBytes, budget } = this.#options;
    const length = request.headers.get("content-length");
    // The server enforces a declared length.
    const bytes = length === null ? maxBytes : Number(length);
    if (bytes > maxBytes) throw this.#tooLargeError();
    if (length !== null && bytes <= RUNTIME_BYTES_MAX) {
      try {
        return { text: await request.text(), countedBytes: 0 };
      } catch (error) {
        throw bodyEnded(error);
      }
    }
    if (length !== null && !budget.fitsLarge(bytes)) throw this.#noMemoryError();
    return await this.#readInChunks(request, bytes);
  }

  async #readInChunks(request: Request, declaredBytes: number): Promise<RequestBody> {
    if (request.body === null) return { text: "", countedBytes: 0 };
    const { maxBytes, budget, clock } = this.#options;
    const reader = request.body.getReader();
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let bytes = 0;
    let isLate = false;
    const cancelTimer = clock.after(arrivalMs(declaredBytes), () => {
      isLate = true;
      reader.cancel().catch(() => {}); // the connection may be closed already
    });
    try {
      for (;;) {
        const { value, done } = await reader.read().catch((error) => {
          throw bodyEnded(error);
        });
        if (isLate) throw this.#tooSlowError();
        if (done) {
          return { text: decoder.decode(await new Blob(chunks).bytes()), countedBytes: bytes };
        }
        if (bytes + value.length > maxBytes) throw this.#tooLargeError();
        if (!budget.fitsLarge(value.length)) throw this.#noMemoryError();
        budget.add(value.length);
        bytes += value.length;
        chunks.push(value);
      }
    } catch (thrown) {
      budget.remove(bytes);
      reader.cancel().catch(() => {});
      throw thrown;
    } finally {
      cancelTimer();
    }
  }

  #tooSlowError(): Error {
    this.#options.metrics.countRefusal("slow_body");
    return limitExceeded(
      408,
      `Body is slower than ${ARRIVAL.bytesPerS / 1024} KiB/s: send it at once`,
    );
  }

  #tooLargeError(): Error {
    return limitExceeded(413, `Body is over ${this.#options.maxBytes} bytes: send less at once`);
  }

  #noMemoryError(): Error {
    this.#options.metrics.countRefusal("buffered_bytes");
    return limitExceeded(429, "The proxy holds too many large messages: try again");
  }
}

const decoder = new TextDecoder();

function arrivalMs(bytes: number): number {
  const { firstMs, firstBytes, bytesPerS } = ARRIVAL;
  return firstMs + Math.max(0, bytes - firstBytes) / bytesPerS * 1_000;
}
