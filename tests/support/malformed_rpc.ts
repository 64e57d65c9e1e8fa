import assert from "node:assert/strict";
import { RpcSocket } from "./rpc_socket.ts";

/** An answer without the parts that the tables do not fix: the wording of errors. */
export interface Brief {
  id: unknown;
  code?: number;
  result?: unknown;
}

/** A message, its HTTP status, and the answer; null for none. */
export type RpcRow = readonly [
  name: string,
  body: string,
  status: number,
  answer: Brief | Brief[] | null,
];

const parseError: Brief = { id: null, code: -32700 };
const invalid: Brief = { id: null, code: -32600 };
/** The refusal of a call with this id. */
const refused = (id: unknown): Brief => ({ id, code: -32600 });

/** Malformed messages, which every JSON-RPC endpoint answers alike. */
export const MALFORMED: RpcRow[] = [
  ["empty body", "", 400, parseError],
  ["space", "  ", 400, parseError],
  ["half an object", '{"jsonrpc":"2.0","id":1', 400, parseError],
  ["two objects", '{"jsonrpc":"2.0","id":1,"method":"a"}{}', 400, parseError],
  ["JavaScript", "{jsonrpc:'2.0'}", 400, parseError],
  ["a trailing comma", '[{"jsonrpc":"2.0","id":1,"method":"a"},]', 400, parseError],
  ["brackets without end", "[".repeat(4_000), 400, parseError],
  ["null", "null", 400, invalid],
  ["a number", "1", 400, invalid],
  ["a string", '"eth_chainId"', 400, invalid],
  ["true", "true", 400, invalid],
  ["an empty object", "{}", 400, invalid],
  ["an empty batch", "[]", 400, invalid],
  ["a batch without a call", "[1,2]", 200, [invalid, invalid]],
  ["no jsonrpc", '{"id":7,"method":"a"}', 400, refused(7)],
  ["jsonrpc 1.0", '{"jsonrpc":"1.0","id":7,"method":"a"}', 400, refused(7)],
  ["jsonrpc as a number", '{"jsonrpc":2.0,"id":7,"method":"a"}', 400, refused(7)],
  ["no method", '{"jsonrpc":"2.0","id":"x"}', 400, refused("x")],
  ["an empty method", '{"jsonrpc":"2.0","id":1,"method":""}', 400, refused(1)],
  ["method as a number", '{"jsonrpc":"2.0","id":1,"method":1}', 400, refused(1)],
  [
    "method of 257 letters",
    `{"jsonrpc":"2.0","id":1,"method":"${"a".repeat(257)}"}`,
    400,
    refused(1),
  ],
  ["method as a list", '{"jsonrpc":"2.0","id":1,"method":["a"]}', 400, refused(1)],
  ["params as a number", '{"jsonrpc":"2.0","id":1,"method":"a","params":7}', 400, refused(1)],
  ["params as text", '{"jsonrpc":"2.0","id":1,"method":"a","params":"b"}', 400, refused(1)],
  ["params null", '{"jsonrpc":"2.0","id":1,"method":"a","params":null}', 400, refused(1)],
  ["id as an object", '{"jsonrpc":"2.0","id":{},"method":"a"}', 400, invalid],
  ["id as a list", '{"jsonrpc":"2.0","id":[1],"method":"a"}', 400, invalid],
  ["id true", '{"jsonrpc":"2.0","id":true,"method":"a"}', 400, invalid],
];

function brief(answer: unknown): Brief | Brief[] {
  if (Array.isArray(answer)) return answer.map((item) => brief(item)).flat();
  const { jsonrpc, id, result, error } = Object(answer);
  assert.equal(jsonrpc, "2.0");
  if (error === undefined) return { id, result };
  assert.equal(typeof error.message, "string");
  return { id, code: error.code };
}

async function playOverHttp(url: string, [, body, status, answer]: RpcRow): Promise<void> {
  const response = await fetch(url, { method: "POST", body });
  const text = await response.text();
  assert.equal(response.status, status, text);
  if (answer === null) return assert.equal(text, "");
  assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
  assert.deepEqual(brief(JSON.parse(text)), answer);
}

async function playOverWebSocket(wsUrl: string, [, body, , answer]: RpcRow): Promise<void> {
  await using client = await RpcSocket.open(wsUrl);
  client.send(body);
  if (answer !== null) await client.waitFor(() => true);
  await client.call("eth_chainId", [], "last"); // what was to be answered has been answered by now
  const others = client.messages.filter(({ id }) => id !== "last").map(brief);
  assert.deepEqual(others, answer === null ? [] : [answer]);
}

/** Sends each row to an endpoint over HTTP and over a WebSocket of its own, as a step of a test. */
export async function playRows(
  t: Deno.TestContext,
  rows: readonly RpcRow[],
  { url, wsUrl }: { url: string; wsUrl: string },
): Promise<void> {
  for (const row of rows) {
    await t.step(row[0], async () => {
      await playOverHttp(url, row);
      await playOverWebSocket(wsUrl, row);
    });
  }
}
