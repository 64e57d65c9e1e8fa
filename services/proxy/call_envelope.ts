/**
 * The envelope of a call: everything except its method's own parameters. The proxy rewrites it for
 * the node, because nodes disagree about members that are repeated or written in another case: Go's
 * JSON reads `Method` as `method`, and uses the last of several.
 */
import { tryParseJson } from "../../lib/json.ts";
import { RpcCode, RpcError } from "../../lib/protocol/jsonrpc.ts";
import { CLOSE_BRACE, endOfValue, visitMembers } from "./json_text.ts";

const MEMBERS: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);

/** Length of the longest member name, each letter as a six-character escape, with its quotes. */
const NAME_LENGTH_MAX = 6 * "jsonrpc".length + 2;

/** How most clients begin a call, and most nodes an answer. */
export const USUAL_START = '{"jsonrpc":"2.0","id":';

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
export function readEnvelope(text: string, id: unknown, method: string): Envelope {
  return fastEnvelope(text, id, method) ?? parsedEnvelope(text, method);
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

/** Fast path: reads a call whose id is a number and whose members are in the usual order. */
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
  return { id: idText, paramsText, textAfterId: text.slice(idEnd) };
}

function parsedEnvelope(text: string, method: string): Envelope {
  const values = new Map<string, string>();
  let problem: string | undefined;
  visitMembers(text, (name, value) => {
    if (name.end - name.start > NAME_LENGTH_MAX) return;
    const written: unknown = tryParseJson(text.slice(name.start, name.end));
    if (typeof written !== "string") return;
    // Upper case first: it also converts letters that Unicode folds to ASCII, such as the long s.
    const folded = written.toUpperCase().toLowerCase();
    if (!MEMBERS.has(folded)) return;
    if (written !== folded) problem = `Invalid request: write "${folded}" instead of "${written}"`;
    if (values.has(folded)) problem = `Invalid request: "${folded}" is given twice`;
    values.set(folded, text.slice(value.start, value.end));
  });
  if (problem !== undefined) throw new RpcError(RpcCode.invalidRequest, problem);
  const paramsText = values.get("params");
  return { id: values.get("id"), paramsText, textAfterId: textAfterIdOf(method, paramsText) };
}

/**
 * The first id of calls to a node, of 48 bits. It is random so that a caller who makes a node
 * answer with a guessed id does not answer the call of another.
 */
export function randomFirstId(): number {
  const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0xffff) * 2 ** 32 + low;
}
