import { Buffer } from "node:buffer";
import { RangemakerError } from "../../../lib/errors.ts";
import { GrowingBytes } from "./reply_body.ts";
import { REPLY_BYTES_MAX } from "./reply_body.ts";

/** The largest head of an answer, and the largest line between chunks: twice what nginx takes. */
const HEAD_BYTES_MAX = 16 * 1024;

const LINE_END = "\r\n";
const HEAD_END = "\r\n\r\n";

/** Most heads and lines are shorter than this; to look at more each time would cost too much. */
const SHORT_BYTES = 512;

/** Answer and chunk lines together: what a node may send that is no answer is bounded, too. */
const RECEIVED_BYTES_MAX = 2 * REPLY_BYTES_MAX;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |$)/;

/** Statuses without a body, whatever the fields say. */
const BODILESS = new Set([204, 205, 304]);

type Bytes = Buffer<ArrayBuffer>;

const NOTHING: Bytes = Buffer.alloc(0);

/** What a node sent is no HTTP/1.1 answer, or one that is not taken. */
export class ReplyError extends RangemakerError {
  constructor(message: string) {
    super("NODE_REPLY", message);
  }
}

/** One answer over HTTP, whole. */
export interface HttpReply {
  status: number;
  body: Uint8Array<ArrayBuffer>;
  /** The connection can be used again. */
  reusable: boolean;
}

/** How the end of a body is known: by its length, by its last chunk, by the end of the connection. */
type Framing = { bytes: number } | "chunked" | "until close";

interface Head {
  status: number;
  framing: Framing;
  reusable: boolean;
}

/**
 * Reads one answer of a node from the pieces in which it arrives (RFC 9112, sections 4 and 6). A
 * piece may end anywhere. Encodings other than `chunked` are refused: none is asked for.
 */
export class ReplyReader {
  /** Bytes received that have not become part of the body. */
  #rest: Bytes = NOTHING;
  #head: Head | undefined;
  /** The first part of a body, which mostly is all of it; then what came together of more. */
  #first: Bytes | undefined;
  #body: GrowingBytes | undefined;
  #receivedBytes = 0;
  /** Bytes of the present chunk that are to come, its line end included; undefined between chunks. */
  #chunkLeft: number | undefined;
  #sawLastChunk = false;

  /**
   * Takes the next piece.
   *
   * @returns The answer, once it is whole.
   * @throws {ReplyError} If it is malformed, or over {@link REPLY_BYTES_MAX}.
   */
  read(piece: Bytes): HttpReply | undefined {
    this.#receivedBytes += piece.length;
    if (this.#receivedBytes > RECEIVED_BYTES_MAX) throw tooLarge();
    this.#rest = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    while (this.#head === undefined) {
      const head = this.#readHead();
      if (head === undefined) return undefined;
      // 100 Continue, 103 Early Hints: the answer is yet to come.
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

  /** The connection has ended. @returns The answer, if that was its end. */
  end(): HttpReply | undefined {
    return this.#head?.framing === "until close" ? this.#finish(this.#head) : undefined;
  }

  #readHead(): Head | undefined {
    const text = this.#upTo(HEAD_END);
    return text === undefined ? undefined : readHead(text);
  }

  #readCounted(bytes: number): HttpReply | undefined {
    const head = this.#head;
    if (bytes > REPLY_BYTES_MAX) throw tooLarge();
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
        // Trailers are of no use here; an empty line ends them.
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

  /** Reads on in a chunk. @returns False if more has to come. */
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

  /**
   * Takes all bytes before an end mark, and the mark. To look for it in text costs a tenth of what
   * it costs in bytes.
   */
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
    if (this.#bodyBytes + part.length > REPLY_BYTES_MAX) throw tooLarge();
    if (
      this.#body === undefined && this.#first === undefined && this.#head?.framing !== "chunked"
    ) {
      this.#first = part;
      return;
    }
    this.#body ??= new GrowingBytes();
    if (this.#first !== undefined) this.#body.add(this.#first);
    this.#first = undefined;
    this.#body.add(part);
  }

  get #bodyBytes(): number {
    return this.#first?.length ?? this.#body?.length ?? 0;
  }

  #finish({ status, reusable }: Head): HttpReply {
    // Whatever follows an answer that nobody asked for is not to be taken for the next one.
    const alone = this.#rest.length === 0;
    return {
      status,
      body: this.#first ?? this.#body?.joined() ?? NOTHING,
      reusable: reusable && alone,
    };
  }
}

/** The head read last: answers of one size have the same for a second, until their date changes. */
let lastHead: { text: string; head: Head } | undefined;

/** @param text The lines of a head, without the empty one. */
function readHead(text: string): Head {
  if (lastHead?.text !== text) lastHead = { text, head: parseHead(text) };
  return lastHead.head;
}

function parseHead(text: string): Head {
  const [statusLine = "", ...lines] = text.split(LINE_END);
  const [, minor, code] = STATUS_LINE.exec(statusLine) ?? [];
  if (code === undefined) throw new ReplyError("Answer is not HTTP/1.1");
  const status = Number(code);
  if (status === 101) throw new ReplyError("Answer changes the protocol");
  const fields = parseFields(lines);
  const options = fields.get("connection")?.toLowerCase().split(",") ?? [];
  const closes = minor === "0" || options.some((option) => option.trim() === "close");
  return { status, framing: framingOf(status, fields), reusable: !closes };
}

/** Values by their names in lower case, those of one name joined by commas. */
type Fields = ReadonlyMap<string, string>;

function parseFields(lines: readonly string[]): Fields {
  const fields = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    // A space there is how an answer is made to read as two different ones.
    if (colon < 1 || name.trim() !== name) {
      throw new ReplyError("Answer has a line that is no field");
    }
    const value = line.slice(colon + 1).trim();
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return fields;
}

function framingOf(status: number, fields: Fields): Framing {
  const length = fields.get("content-length");
  const encoding = fields.get("transfer-encoding")?.toLowerCase();
  if (fields.has("content-encoding")) {
    throw new ReplyError("Answer has a content encoding, and none was asked for");
  }
  if (status < 200 || BODILESS.has(status)) return { bytes: 0 };
  if (encoding === "chunked") return "chunked";
  if (encoding !== undefined) {
    throw new ReplyError("Answer has a transfer encoding other than chunked");
  }
  if (length === undefined) return "until close";
  if (!/^\d{1,15}$/.test(length)) throw new ReplyError("Length of the answer is none");
  return { bytes: Number(length) };
}

function tooLarge(): ReplyError {
  return new ReplyError(`Answer is over ${REPLY_BYTES_MAX} bytes`);
}
