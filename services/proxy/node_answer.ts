/** Reads the answers of nodes: which call they belong to, and their text with the caller's id. */
import { USUAL_START } from "./call_envelope.ts";
import { answerLost } from "./failures.ts";
import { memberSpan, type Span } from "./json_text.ts";
import type { Target } from "./metrics.ts";

const ZERO = 0x30;

/** What a node answered to a message over HTTP. */
export interface NodeReply {
  status: number;
  body: string;
}

export interface CallAnswer {
  status: number;
  text: string;
  /** The position of its id; undefined if it has none. */
  id: Span | undefined;
}

/** Whitespace behind a document, such as the line end that Go's encoder writes. */
const TRAILING_SPACE = /\s*$/;

/**
 * Reads a node's answer to a call that was sent under an id.
 *
 * @returns Undefined if it is the answer to another call. An answer without an id, or with null, is
 *   an error about this call.
 */
export function readAnswer(
  { status, body: text }: NodeReply,
  ownId: number,
): CallAnswer | undefined {
  const id = idAtEnd(text, ownId) ?? idSpan(text);
  const written = id && text.slice(id.start, id.end);
  const isOwn = written === undefined || written === "null" ||
    written === String(ownId) || written === `"${ownId}"`;
  return isOwn ? { status, text, id } : undefined;
}

/**
 * Reads the answer to a call. The answer to a write is accepted under any id, because its caller
 * must not lose it.
 *
 * @throws {ProxyError} 502 if it is not the answer to this call, but an error page or the answer to
 *   another call.
 */
export function requireAnswer(id: number, reply: NodeReply, target: Target): CallAnswer {
  if (!/^\s*[{[]/.test(reply.body)) {
    throw answerLost(target, `HTTP status ${reply.status} without a JSON body`);
  }
  const answer = readAnswer(reply, id);
  if (answer !== undefined) return answer;
  if (target === "read") throw answerLost(target, "it answered another call");
  return { status: reply.status, text: reply.body, id: undefined };
}

/** The text of an answer under the id of its caller. */
export function withCallerId({ text, id }: CallAnswer, callerId: string): string {
  return id ? text.slice(0, id.start) + callerId + text.slice(id.end) : text;
}

export function idSpan(text: string): Span | undefined {
  if (!text.startsWith(USUAL_START)) return memberSpan(text, "id");
  const start = USUAL_START.length;
  let end = start;
  while (isDigit(text.charCodeAt(end))) end += 1;
  const isUsual = end > start && (text[end] === "," || text[end] === "}");
  return isUsual ? { start, end } : memberSpan(text, "id");
}

/** The number of an id; some nodes return a number as text. NaN if it is none. */
export function idNumber(text: string, { start, end }: Span): number {
  let number = 0;
  const [from, to] = text[start] === '"' ? [start + 1, end - 1] : [start, end];
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    if (!isDigit(code)) return NaN;
    number = number * 10 + code - ZERO;
  }
  return from < to ? number : NaN;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9;
}

/** Finds an id at the end of an answer: some nodes write it after a result of megabytes. */
function idAtEnd(text: string, ownId: number): Span | undefined {
  const written = `,"id":${ownId}}`;
  const start = text.length - (TRAILING_SPACE.exec(text.slice(-8))?.[0].length ?? 0) -
    written.length;
  if (!text.startsWith("{") || !text.startsWith(written, start)) return undefined;
  return { start: start + ',"id":'.length, end: start + written.length - 1 };
}
