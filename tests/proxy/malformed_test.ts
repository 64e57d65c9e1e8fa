/** Messages to the proxy and the node, with the code and status of the protocol page. */
import assert from "node:assert/strict";
import { withNode } from "../node/support/running_node.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { withProxy } from "./support.ts";

/** An answer without the parts that the tables do not fix: the wording of errors. */
interface Brief {
  id: unknown;
  code?: number;
  result?: unknown;
}

/** A message, its HTTP status, and the answer; null for none. */
type RpcRow = readonly [
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
const MALFORMED: RpcRow[] = [
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

/** The examples of the JSON-RPC 2.0 specification, section 7. */
const STANDARD: RpcRow[] = [
  [
    "positional parameters",
    '{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}',
    200,
    { id: 1, result: 19 },
  ],
  [
    "named parameters",
    '{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
    200,
    { id: 3, result: 19 },
  ],
  ["a notification", '{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', 204, null],
  [
    "a method that does not exist",
    '{"jsonrpc": "2.0", "method": "foobar", "id": "1"}',
    200,
    { id: "1", code: -32601 },
  ],
  ["invalid JSON", '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', 400, parseError],
  ["an invalid request", '{"jsonrpc": "2.0", "method": 1, "params": "bar"}', 400, invalid],
  [
    "a batch of invalid JSON",
    '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]',
    400,
    parseError,
  ],
  [
    "a mixed batch",
    `[
      {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
      {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
      {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
      {"foo": "boo"},
      {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
    ]`,
    200,
    [{ id: "1", result: 7 }, { id: "2", result: 19 }, invalid, { id: "9", result: ["hello", 5] }],
  ],
  [
    "a batch of notifications",
    '[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]',
    204,
    null,
  ],
];

interface StandardCall {
  id?: unknown;
  method: string;
  params?: number[] | { minuend: number; subtrahend: number };
}

/** The server of the specification's examples. */
function standardNode(text: string): Response {
  const value: StandardCall | StandardCall[] = JSON.parse(text);
  if (!Array.isArray(value)) return Response.json(standardAnswer(value));
  const answers = value.filter(({ id }) => id !== undefined).map(standardAnswer);
  return answers.length === 0 ? new Response() : Response.json(answers);
}

function standardAnswer({ id, method, params }: StandardCall): object {
  const numbers = Array.isArray(params) ? params : [params?.minuend ?? 0, params?.subtrahend ?? 0];
  const results: Record<string, unknown> = {
    subtract: (numbers[0] ?? 0) - (numbers[1] ?? 0),
    sum: numbers.reduce((total, term) => total + term, 0),
    get_data: ["hello", 5],
    eth_chainId: "0x1",
  };
  const result = results[method];
  if (result !== undefined) return { jsonrpc: "2.0", id, result };
  return { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
}

/** A batch of one call more than {@link MAX_BATCH}. */
const MAX_BATCH = 5;
const overTheLimit: RpcRow = [
  "a batch over the limit",
  JSON.stringify(new Array(MAX_BATCH + 1).fill({ jsonrpc: "2.0", id: 1, method: "a" })),
  413,
  { id: null, code: -32005 },
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
async function playRows(
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

Deno.test("Proxy: answers malformed messages, and the examples of JSON-RPC 2.0, section 7", (t) =>
  withProxy(
    (scene) => playRows(t, [...MALFORMED, overTheLimit, ...STANDARD], scene),
    { proxy: { maxBatch: MAX_BATCH }, read: { answer: standardNode } },
  ));

Deno.test("Node: answers malformed messages", (t) =>
  withNode(({ node }) => playRows(t, MALFORMED, node)));
