/**
 * The envelope of a call: everything except its method's own parameters. The proxy rewrites it for
 * the node, because nodes disagree about members that are repeated or written in another case: Go's
 * JSON reads `Method` as `method`, and uses the last of several.
 */
import { tryParseJson } from "../../lib/json.ts";
import { RpcCode, RpcError } from "../../lib/protocol/jsonrpc.ts";
import { type Span, visitMembers } from "./json_text.ts";

const MEMBERS = ["jsonrpc", "id", "method", "params"] as const;

type Member = typeof MEMBERS[number];

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
export function readEnvelope(text: string, method: string): Envelope {
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
  const plain = MEMBERS.find((member) =>
    end - start === member.length + 2 && text.startsWith(member, start + 1)
  );
  if (plain !== undefined || end - start > NAME_LENGTH_MAX) return plain;
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
