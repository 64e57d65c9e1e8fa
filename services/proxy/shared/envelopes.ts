/**
 * The envelopes of calls and answers: everything except a method's own parameters and its result.
 * The proxy writes the envelope of a call anew, because nodes disagree about members that are
 * repeated or written in another case: Go's JSON reads `Method` as `method`, and uses the last of
 * several. In an answer it replaces only the id.
 */
import { memberSpan, type Span, visitMembers } from "../../../lib/json_text.ts";
import { tryParseJson } from "../../../lib/json.ts";
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { answerLost } from "./failures.ts";
import type { Target } from "./metrics.ts";

const ZERO = 0x30;

const MEMBERS = ["jsonrpc", "id", "method", "params"] as const;

type Member = typeof MEMBERS[number];

/** Length of the longest member name, each letter as a six-character escape, with its quotes. */
const NAME_LENGTH_MAX = 6 * "jsonrpc".length + 2;

/** How most clients begin a call, and most nodes an answer. */
const USUAL_START = '{"jsonrpc":"2.0","id":';

/** A call as it is sent to a node, which may be under another id. */
export interface Envelope {
  /** The caller's id as it is written; undefined for a notification. */
  id: string | undefined;
  /** The parameters as they are written; undefined if there are none. */
  paramsText: string | undefined;
  /** The text after the id; equal texts are equal calls, so it is the key for sharing. */
  textAfterId: string;
}

/** Reads the envelope of a valid request. @throws {RpcError} -32600 if it is ambiguous. */
export function parseEnvelope(text: string, method: string): Envelope {
  const values: Partial<Record<Member, string>> = {};
  visitMembers(text, (name, value) => {
    const member = memberOf(text, name);
    if (member === undefined) return;
    if (values[member] !== undefined) throw ambiguous(`"${member}" is given twice`);
    values[member] = text.slice(value.start, value.end);
  });
  const { id, params: paramsText } = values;
  return { id, paramsText, textAfterId: textAfterIdOf(method, paramsText) };
}

/** The member that some node might read under a name. */
function memberOf(text: string, { start, end }: Span): Member | undefined {
  // Almost always: parsing every name would take longer than all the rest.
  for (const member of MEMBERS) {
    if (end - start === member.length + 2 && text.startsWith(member, start + 1)) return member;
  }
  if (end - start > NAME_LENGTH_MAX) return undefined;
  const written: unknown = tryParseJson(text.slice(start, end));
  if (typeof written !== "string") return undefined;
  // Upper case first: it also converts letters that Unicode folds to ASCII, such as the long s.
  const folded = written.toUpperCase().toLowerCase();
  const member = MEMBERS.find((name) => name === folded);
  if (member !== undefined && written !== member) {
    throw ambiguous(`write "${member}" instead of "${written}"`);
  }
  return member;
}

function ambiguous(message: string): RpcError {
  return new RpcError(RpcCode.invalidRequest, `Invalid request: ${message}`);
}

/** The text of a call for a node; without an id if it is a notification. */
export function callText(textAfterId: string, id: number | undefined): string {
  return id === undefined ? `{"jsonrpc":"2.0"${textAfterId}` : `${USUAL_START}${id}${textAfterId}`;
}

/** The text of a call after its id. */
export function textAfterIdOf(method: string, paramsText: string | undefined): string {
  const params = paramsText === undefined ? "" : `,"params":${paramsText}`;
  return `,"method":${JSON.stringify(method)}${params}}`;
}

/**
 * The first id of calls to a node, of 48 bits. It is random so that a caller who makes a node
 * answer with a guessed id does not answer the call of another.
 */
export function randomFirstId(): number {
  const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0xffff) * 2 ** 32 + low;
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
  idSpan: Span | undefined;
}

/** Members of which an answer has one. */
const OUTCOMES = ["result", "error"];

/** An id at the end of an answer, before a line end such as Go's encoder writes. */
const ID_AT_END = /(?<=,"id":)\d+(?=\}\s*$)/;

/** Characters at the end of an answer in which its id is looked for. */
const END_CHARS = 40;

/**
 * Reads a node's answer to a call that was sent under an id.
 *
 * @returns Undefined if it is the answer to another call. An answer without an id, or with null, is
 *   an error about this call.
 */
export function tryParseAnswer(
  { status, body: text }: NodeReply,
  ownId: number,
): CallAnswer | undefined {
  const idSpan = findIdSpan(text);
  const written = idSpan && text.slice(idSpan.start, idSpan.end);
  const isOwn = written === undefined || written === "null" ||
    written === String(ownId) || written === `"${ownId}"`;
  return isOwn ? { status, text, idSpan } : undefined;
}

/**
 * Reads the answer to a call. The answer to a write is accepted under any id, which its caller's
 * replaces: the caller must not lose it.
 *
 * @throws {ProxyError} 502 if it is not the answer to this call, but an error page or message, or the
 *   answer to another call.
 */
export function requireAnswer(id: number, reply: NodeReply, target: Target): CallAnswer {
  if (!/^\s*[{[]/.test(reply.body)) {
    throw answerLost(target, `HTTP status ${reply.status} without a JSON body`);
  }
  const answer = tryParseAnswer(reply, id);
  // Such as a gateway's {"message":"Limit exceeded"}: under an id it would be a result of undefined.
  if (answer && !answer.idSpan && !OUTCOMES.some((name) => memberSpan(answer.text, name))) {
    throw answerLost(target, `HTTP status ${reply.status} without result or error`);
  }
  if (answer !== undefined) return answer;
  if (target === "read") throw answerLost(target, "it answered another call");
  return { status: reply.status, text: reply.body, idSpan: findIdSpan(reply.body) };
}

/** The text of an answer under the id of its caller, without which no WebSocket's caller knows it. */
export function withCallerId({ text, idSpan }: CallAnswer, callerId: string): string {
  return idSpan
    ? text.slice(0, idSpan.start) + callerId + text.slice(idSpan.end)
    : text.replace(/^\s*\{(?=\s*")/, (start) => `${start}"id":${callerId},`);
}

export function findIdSpan(text: string): Span | undefined {
  if (!text.startsWith(USUAL_START)) return findIdAtEnd(text) ?? memberSpan(text, "id");
  const start = USUAL_START.length;
  let end = start;
  while (isDigit(text.charCodeAt(end))) end += 1;
  const isUsual = end > start && (text[end] === "," || text[end] === "}");
  return isUsual ? { start, end } : memberSpan(text, "id");
}

/** Finds an id at the end of an answer: some nodes write it after a result of megabytes. */
function findIdAtEnd(text: string): Span | undefined {
  const [id] = ID_AT_END.exec(text.slice(-END_CHARS)) ?? [];
  if (id === undefined || !text.startsWith("{")) return undefined;
  const start = text.lastIndexOf(id);
  return { start, end: start + id.length };
}

/** The number of an id; some nodes return a number as text. NaN if it is none. */
export function idNumber(text: string, { start, end }: Span): number {
  return Number(/^"?(\d+)"?$/.exec(text.slice(start, end))?.[1] ?? NaN);
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9;
}
