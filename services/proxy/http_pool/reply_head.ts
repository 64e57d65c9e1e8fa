import { RangemakerError } from "../../../lib/errors.ts";

/** Ends each line of a header. */
export const LINE_END = "\r\n";

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |$)/;

/** Statuses without a body, regardless of the headers. */
const BODILESS = new Set([204, 205, 304]);

/** A node sent something other than an acceptable HTTP/1.1 answer. */
export class ReplyError extends RangemakerError {
  constructor(message: string) {
    super("NODE_REPLY", message);
  }
}

/** The end of a body: by its length, its last chunk, or the end of the connection. */
type Framing = { bytes: number } | "chunked" | "until close";

/** The parts of an answer's header that are used here. */
export interface Head {
  status: number;
  framing: Framing;
  reusable: boolean;
}

/** The last header: answers of one length share it for a second, until their date changes. */
let lastHead: { text: string; head: Head } | undefined;

/** @param text The status line and the headers, without the empty line. */
export function readHead(text: string): Head {
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

/** Values by their lower-case names; repeated ones are joined by commas. */
type Fields = ReadonlyMap<string, string>;

function parseFields(lines: readonly string[]): Fields {
  const fields = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    // A space before the colon lets two parsers read two different answers.
    if (colon < 1 || name.trim() !== name) {
      throw new ReplyError("Answer has a header line that is no field");
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
    throw new ReplyError("Answer has a content encoding, but none was requested");
  }
  if (status < 200 || BODILESS.has(status)) return { bytes: 0 };
  // Two parsers could read two different answers (RFC 9112, section 6.3).
  if (encoding !== undefined && length !== undefined) {
    throw new ReplyError("Answer has both a length and a transfer encoding");
  }
  if (encoding === "chunked") return "chunked";
  if (encoding !== undefined) {
    throw new ReplyError("Answer has a transfer encoding other than chunked");
  }
  if (length === undefined) return "until close";
  if (!/^\d{1,15}$/.test(length)) throw new ReplyError("Length of the answer is not a number");
  return { bytes: Number(length) };
}
