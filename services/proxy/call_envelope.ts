/**
 * The envelope of a call: everything except its method's own parameters. The proxy rewrites it for
 * the node, because nodes disagree about members that are repeated or written in another case: Go's
 * JSON takes `Method` for `method`, and of several the last one.
 */
import { tryParseJson } from "../../lib/json.ts";
import { CLOSE_BRACE, endOfValue, memberSpan, type Span, visitMembers } from "./json_text.ts";
import { answerLost } from "./failures.ts";
import type { Target } from "./metrics.ts";

const MEMBERS: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);

/** Length of the longest member name, each letter as a six-character escape, with its quotes. */
const NAME_LENGTH_MAX = 6 * "jsonrpc".length + 2;

const USUAL_START = '{"jsonrpc":"2.0","id":';
const ZERO = 0x30;

/** A call as it is sent to a node under any id. */
export interface Envelope {
  /** The caller's id as it is written; undefined for a notification. */
  id: string | undefined;
  /** The parameters as they are written; undefined if there are none. */
  paramsText: string | undefined;
  /** The text after the id; equal texts are equal calls, so it is the key for sharing. */
  envelopeTail: string;
}

/** Reads the envelope of a valid request. @returns Why it is ambiguous, if it is. */
export function readEnvelope(text: string, id: unknown, method: string): Envelope | string {
  return fastEnvelope(text, id, method) ?? parsedEnvelope(text, method);
}

/** The text of a call for a node; without an id if it is a notification. */
export function callText(envelopeTail: string, id: number | undefined): string {
  return id === undefined
    ? `{"jsonrpc":"2.0"${envelopeTail}`
    : `${USUAL_START}${id}${envelopeTail}`;
}

/** The text of a call behind its id. */
export function envelopeTailOf(method: string, paramsText: string | undefined): string {
  const params = paramsText === undefined ? "" : `,"params":${paramsText}`;
  return `,"method":${JSON.stringify(method)}${params}}`;
}

/** A call with a number as its id, and its members in the order in which most clients write them. */
function fastEnvelope(text: string, id: unknown, method: string): Envelope | undefined {
  if (typeof id !== "number" || method.includes("\\")) return undefined;
  const idText = String(id);
  const idEnd = USUAL_START.length + idText.length;
  const name = `,"method":"${method}"`;
  const isUsual = text.startsWith(USUAL_START) && text.startsWith(idText, USUAL_START.length) &&
    text.startsWith(name, idEnd);
  if (!isUsual) return undefined;
  let end = idEnd + name.length;
  let paramsText: string | undefined;
  if (text.startsWith(',"params":', end)) {
    const start = end + ',"params":'.length;
    end = endOfValue(text, start);
    paramsText = text.slice(start, end);
  }
  if (text.charCodeAt(end) !== CLOSE_BRACE || end + 1 !== text.length) return undefined;
  return { id: idText, paramsText, envelopeTail: text.slice(idEnd) };
}

function parsedEnvelope(text: string, method: string): Envelope | string {
  const values = new Map<string, string>();
  let fault: string | undefined;
  visitMembers(text, (name, value) => {
    if (name.end - name.start > NAME_LENGTH_MAX) return;
    const written: unknown = tryParseJson(text.slice(name.start, name.end));
    if (typeof written !== "string") return;
    // Upper case first: it also turns the letters that Unicode folds to ASCII, such as the long s.
    const folded = written.toUpperCase().toLowerCase();
    if (!MEMBERS.has(folded)) return;
    if (written !== folded) fault = `Invalid request: write "${folded}" instead of "${written}"`;
    if (values.has(folded)) fault = `Invalid request: "${folded}" is given twice`;
    values.set(folded, text.slice(value.start, value.end));
  });
  if (fault !== undefined) return fault;
  const paramsText = values.get("params");
  return { id: values.get("id"), paramsText, envelopeTail: envelopeTailOf(method, paramsText) };
}

/** Ids of calls to nodes begin at random below this, so that no caller can guess those of others. */
const FIRST_ID_MAX = 2 ** 48;

export function randomFirstId(): number {
  return Math.floor(Math.random() * FIRST_ID_MAX);
}

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
 * @returns Undefined if it is the answer to another call. One without an id, or with null, is an error
 *   about what was sent.
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
 * Reads the answer to a call. That to a write is accepted under any id: its caller must not lose it.
 *
 * @throws {ProxyError} 502 if it is no answer to this call: an error page, or another call's.
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

/** Some nodes write the id last, behind a result of megabytes. */
function idAtEnd(text: string, ownId: number): Span | undefined {
  const written = `,"id":${ownId}}`;
  const start = text.length - (TRAILING_SPACE.exec(text.slice(-8))?.[0].length ?? 0) -
    written.length;
  if (!text.startsWith("{") || !text.startsWith(written, start)) return undefined;
  return { start: start + ',"id":'.length, end: start + written.length - 1 };
}
