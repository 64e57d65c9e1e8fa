import { Buffer } from "node:buffer";
import { RangemakerError } from "../../lib/errors.ts";
import { ANSWER_BYTES_MAX } from "./node_reply.ts";

/** The largest head of an answer, and the largest line between chunks: twice what nginx takes. */
const HEAD_BYTES_MAX = 16 * 1024;

const HEAD_END = Buffer.from("\r\n\r\n");
const LINE_END = Buffer.from("\r\n");

const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})(?: |\r\n)/;
const FIELD_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;

type Bytes = Buffer<ArrayBuffer>;

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
  #rest: Bytes = Buffer.alloc(0);
  #head: Head | undefined;
  #parts: Bytes[] = [];
  #bodyBytes = 0;
  /** Bytes of the present chunk that are to come, its line end included; undefined between chunks. */
  #chunkLeft: number | undefined;
  #sawLastChunk = false;

  /** Whether any byte of an answer has come. */
  get begun(): boolean {
    return this.#head !== undefined || this.#rest.length > 0;
  }

  /**
   * Takes the next piece.
   *
   * @returns The answer, once it is whole.
   * @throws {ReplyError} If it is malformed, or over {@link ANSWER_BYTES_MAX}.
   */
  read(piece: Bytes): HttpReply | undefined {
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
    const end = this.#rest.indexOf(HEAD_END);
    if (end > HEAD_BYTES_MAX || (end === -1 && this.#rest.length > HEAD_BYTES_MAX)) {
      throw new ReplyError(`Head of the answer is over ${HEAD_BYTES_MAX} bytes`);
    }
    if (end === -1) return undefined;
    return parseHead(this.#take(end + HEAD_END.length).toString("latin1"));
  }

  #readCounted(bytes: number): HttpReply | undefined {
    const head = this.#head;
    if (bytes > ANSWER_BYTES_MAX) throw tooLarge();
    this.#keep(this.#take(Math.min(bytes - this.#bodyBytes, this.#rest.length)));
    return head !== undefined && this.#bodyBytes === bytes ? this.#finish(head) : undefined;
  }

  #readChunks(): HttpReply | undefined {
    for (;;) {
      if (this.#chunkLeft !== undefined) {
        if (!this.#readChunk(this.#chunkLeft)) return undefined;
        continue;
      }
      const line = this.#readLine();
      if (line === undefined) return undefined;
      if (this.#sawLastChunk) {
        // Trailers are of no use here; an empty line ends them.
        if (line === "" && this.#head !== undefined) return this.#finish(this.#head);
        continue;
      }
      const size = /^([0-9a-fA-F]{1,8})[ \t]*(?:;.*)?$/.exec(line)?.[1];
      if (size === undefined) throw new ReplyError("Chunk of the answer has no size");
      const bytes = parseInt(size, 16);
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
    if (!this.#take(LINE_END.length).equals(LINE_END)) {
      throw new ReplyError("Chunk of the answer is longer than it says");
    }
    this.#chunkLeft = undefined;
    return true;
  }

  #readLine(): string | undefined {
    const end = this.#rest.indexOf(LINE_END);
    if (end > HEAD_BYTES_MAX || (end === -1 && this.#rest.length > HEAD_BYTES_MAX)) {
      throw new ReplyError(`Line of the answer is over ${HEAD_BYTES_MAX} bytes`);
    }
    if (end === -1) return undefined;
    return this.#take(end + LINE_END.length).toString("latin1", 0, end);
  }

  #take(bytes: number): Bytes {
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    return taken;
  }

  #keep(part: Bytes): void {
    if (part.length === 0) return;
    this.#bodyBytes += part.length;
    if (this.#bodyBytes > ANSWER_BYTES_MAX) throw tooLarge();
    this.#parts.push(part);
  }

  #finish({ status, reusable }: Head): HttpReply {
    // Whatever follows an answer that nobody asked for is not to be taken for the next one.
    const alone = this.#rest.length === 0;
    return { status, body: joined(this.#parts), reusable: reusable && alone };
  }
}

function joined(parts: readonly Bytes[]): Bytes {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
}

function parseHead(head: string): Head {
  const [, minor, code] = STATUS_LINE.exec(head) ?? [];
  if (code === undefined) throw new ReplyError("Answer is not HTTP/1.1");
  const status = Number(code);
  if (status === 101) throw new ReplyError("Answer changes the protocol");
  const fields = parseFields(head);
  const { connection = "" } = fields;
  const closes = connection.split(",").some((option) => option.trim().toLowerCase() === "close");
  return { status, framing: framingOf(status, fields), reusable: minor === "1" && !closes };
}

/** The fields that matter here. */
type Fields = Partial<Record<typeof FIELDS[number], string>>;

const FIELDS = ["connection", "content-encoding", "content-length", "transfer-encoding"] as const;

function parseFields(head: string): Fields {
  const fields: Fields = {};
  for (const line of head.split("\r\n").slice(1, -2)) {
    const [, name, value] = FIELD_LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new ReplyError("Field of the answer is none");
    }
    const known = FIELDS.find((field) => field === name.toLowerCase());
    if (known === undefined) continue;
    const before = fields[known];
    fields[known] = before === undefined ? value : `${before}, ${value}`;
  }
  return fields;
}

function framingOf(status: number, fields: Fields): Framing {
  const length = fields["content-length"];
  const encoding = fields["transfer-encoding"]?.toLowerCase();
  if (fields["content-encoding"] !== undefined) {
    throw new ReplyError("Answer has a content encoding, and none was asked for");
  }
  if (status < 200 || status === 204 || status === 304) return { bytes: 0 };
  if (encoding === "chunked") return "chunked";
  if (encoding !== undefined) {
    throw new ReplyError("Answer has a transfer encoding other than chunked");
  }
  if (length === undefined) return "until close";
  if (!/^\d{1,15}$/.test(length)) throw new ReplyError("Length of the answer is none");
  return { bytes: Number(length) };
}

function tooLarge(): ReplyError {
  return new ReplyError(`Answer is over ${ANSWER_BYTES_MAX} bytes`);
}
