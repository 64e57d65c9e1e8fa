import { Buffer } from "node:buffer";
import { RangemakerError } from "../../../lib/errors.ts";
import { ByteBudget, SMALL_BYTES } from "../byte_budget.ts";
import { GrowingBytes, REPLY_BYTES_MAX } from "./reply_body.ts";
import { type Head, LINE_END, readHead, ReplyError } from "./reply_head.ts";

/** The largest header, and the largest line between chunks: twice the limit of nginx. */
const HEAD_BYTES_MAX = 16 * 1024;

const HEAD_END = "\r\n\r\n";

/** Most headers, lines and answers are shorter; longer ones take a slower path. */
const SHORT_BYTES = 512;

/** Body and chunk lines together, so that chunk lines are bounded as well. */
const RECEIVED_BYTES_MAX = 2 * REPLY_BYTES_MAX;

type Bytes = Buffer<ArrayBuffer>;

const NOTHING: Bytes = Buffer.alloc(0);

/** The answer does not fit beside those that are already in memory. */
export class ReplyBudgetError extends RangemakerError {
  constructor(max: number) {
    super("REPLY_BUDGET", `Answers waiting in memory are at their limit of ${max} bytes`);
  }
}

/** One complete answer over HTTP. */
export interface HttpReply {
  status: number;
  /** As text if it is short and ASCII. */
  body: Bytes | string;
  /** The connection can be used again. */
  reusable: boolean;
}

const ASCII = /^[\0-\x7f]*$/;

/**
 * Reads answers of a node, one after the other, from the pieces in which they arrive (RFC 9112,
 * sections 4 and 6). A piece may end anywhere. Encodings other than `chunked` are refused, because
 * the proxy asks for none.
 */
export class ReplyReader {
  readonly #budget: ByteBudget;
  /** Bytes of the present answer counted in the budget. */
  #budgeted = 0;
  /** Bytes received that are not yet part of the body. */
  #rest: Bytes = NOTHING;
  #head: Head | undefined;
  /** The first part of a body, usually all of it; replaced by {@link #body} if there are more. */
  #first: Bytes | undefined;
  #body: GrowingBytes | undefined;
  #receivedBytes = 0;
  /** Missing bytes of the present chunk, including its line end; undefined between chunks. */
  #chunkLeft: number | undefined;
  #sawLastChunk = false;

  /** @param budget Counts the bytes of large answers while they are read. */
  constructor(budget: ByteBudget = new ByteBudget(Infinity)) {
    this.#budget = budget;
  }

  /**
   * Reads the next piece.
   *
   * @returns The answer once it is complete; then the reader is ready for the next one.
   * @throws {ReplyError} If it is malformed, or over {@link REPLY_BYTES_MAX}.
   * @throws {ReplyBudgetError} If too many bytes of answers are in memory.
   */
  read(piece: Bytes): HttpReply | undefined {
    if (this.#receivedBytes === 0 && piece.length <= SHORT_BYTES) {
      const reply = readShort(piece);
      if (reply !== undefined) return reply;
    }
    this.#receivedBytes += piece.length;
    if (this.#receivedBytes > RECEIVED_BYTES_MAX) throw tooLarge();
    this.#rest = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    while (this.#head === undefined) {
      const head = this.#readHead();
      if (head === undefined) return undefined;
      // The answer follows after 100 Continue or 103 Early Hints.
      if (head.status >= 200) this.#head = head;
    }
    const { framing } = this.#head;
    if (framing === "chunked") return this.#readChunks();
    if (framing === "until close") {
      this.#keep(this.#take(this.#rest.length));
      return undefined;
    }
    return this.#readCounted(framing.bytes);
  }

  /** The connection has ended. @returns The answer, if that marks its end. */
  end(): HttpReply | undefined {
    return this.#head?.framing === "until close" ? this.#finish(this.#head) : undefined;
  }

  /** Discards a partial answer. */
  reset(): void {
    this.#budget.remove(this.#budgeted);
    this.#budgeted = this.#receivedBytes = 0;
    this.#rest = NOTHING;
    this.#head =
      this.#first =
      this.#body =
      this.#chunkLeft =
        undefined;
    this.#sawLastChunk = false;
  }

  #readHead(): Head | undefined {
    const text = this.#upTo(HEAD_END);
    return text === undefined ? undefined : readHead(text);
  }

  #readCounted(bytes: number): HttpReply | undefined {
    const head = this.#head;
    if (bytes > REPLY_BYTES_MAX) throw tooLarge();
    this.#reserve(bytes); // all of it, before any of it is in memory
    this.#keep(this.#take(Math.min(bytes - this.#bodyBytes, this.#rest.length)));
    return head !== undefined && this.#bodyBytes === bytes ? this.#finish(head) : undefined;
  }

  #readChunks(): HttpReply | undefined {
    for (;;) {
      if (this.#chunkLeft !== undefined) {
        if (!this.#readChunk(this.#chunkLeft)) return undefined;
        continue;
      }
      const line = this.#upTo(LINE_END);
      if (line === undefined) return undefined;
      if (this.#sawLastChunk) {
        // Trailers are not used; an empty line ends them.
        if (line === "" && this.#head !== undefined) return this.#finish(this.#head);
        continue;
      }
      const size = /^([0-9a-fA-F]{1,8})[ \t]*(?:;.*)?$/.exec(line)?.[1];
      if (size === undefined) throw new ReplyError("Chunk of the answer has no size");
      const bytes = parseInt(size, 16);
      if (this.#bodyBytes + bytes > REPLY_BYTES_MAX) throw tooLarge();
      if (bytes === 0) this.#sawLastChunk = true;
      else this.#chunkLeft = bytes + LINE_END.length;
    }
  }

  /** Continues a chunk. @returns False if it is not complete yet. */
  #readChunk(left: number): boolean {
    const body = Math.min(Math.max(0, left - LINE_END.length), this.#rest.length);
    this.#keep(this.#take(body));
    if (left - body > LINE_END.length || this.#rest.length < LINE_END.length) {
      this.#chunkLeft = left - body;
      return false;
    }
    if (this.#take(LINE_END.length).toString("latin1") !== LINE_END) {
      throw new ReplyError("Chunk of the answer is longer than it says");
    }
    this.#chunkLeft = undefined;
    return true;
  }

  /** Takes all bytes up to an end mark. It searches text because bytes take ten times as long. */
  #upTo(mark: string): string | undefined {
    let text = this.#rest.toString("latin1", 0, SHORT_BYTES);
    let end = text.indexOf(mark);
    if (end === -1 && this.#rest.length > SHORT_BYTES) {
      text = this.#rest.toString("latin1", 0, HEAD_BYTES_MAX);
      end = text.indexOf(mark);
    }
    if (end === -1) {
      if (text.length < HEAD_BYTES_MAX) return undefined;
      throw new ReplyError(`Head of the answer, or a line of it, is over ${HEAD_BYTES_MAX} bytes`);
    }
    this.#take(end + mark.length);
    return text.slice(0, end);
  }

  #take(bytes: number): Bytes {
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    return taken;
  }

  #keep(part: Bytes): void {
    if (part.length === 0) return;
    const bytes = this.#bodyBytes + part.length;
    if (bytes > REPLY_BYTES_MAX) throw tooLarge();
    this.#reserve(bytes);
    if (
      this.#body === undefined && this.#first === undefined && this.#head?.framing !== "chunked"
    ) {
      this.#first = part;
      return;
    }
    const framing = this.#head?.framing;
    this.#body ??= new GrowingBytes(typeof framing === "object" ? framing.bytes : undefined);
    if (this.#first !== undefined) this.#body.add(this.#first);
    this.#first = undefined;
    this.#body.add(part);
  }

  /** Counts bytes of a body in the budget, if it is large. */
  #reserve(bytes: number): void {
    const more = bytes - this.#budgeted;
    if (bytes <= SMALL_BYTES || more <= 0) return;
    if (!this.#budget.fitsLarge(more)) throw new ReplyBudgetError(this.#budget.max);
    this.#budget.add(more);
    this.#budgeted = bytes;
  }

  get #bodyBytes(): number {
    return this.#first?.length ?? this.#body?.length ?? 0;
  }

  #finish({ status, reusable }: Head): HttpReply {
    const bytes = this.#first ?? this.#body?.joined() ?? NOTHING;
    // Bytes after the answer would be read as the next one.
    const reply = { status, body: bytes, reusable: reusable && this.#rest.length === 0 };
    this.reset();
    return reply;
  }
}

/** An answer that is short and arrived in one piece, as most do; undefined for all others. */
function readShort(piece: Bytes): HttpReply | undefined {
  const text = piece.toString("latin1");
  const headEnd = text.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const { status, framing, reusable } = readHead(text.slice(0, headEnd));
  const start = headEnd + HEAD_END.length;
  const isWhole = status >= 200 && typeof framing === "object" &&
    start + framing.bytes === text.length;
  if (!isWhole) return undefined;
  const body = text.slice(start);
  return { status, body: ASCII.test(body) ? body : piece.subarray(start), reusable };
}

function tooLarge(): ReplyError {
  return new ReplyError(`Answer is over ${REPLY_BYTES_MAX} bytes`);
}
