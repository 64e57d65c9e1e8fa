/** Messages to the proxy and the node, with the code and status of the protocol page. */
import { MALFORMED, playRows, type RpcRow } from "../support/malformed_rpc.ts";
import { withNode } from "../node/support/running_node.ts";
import { withProxy } from "./support.ts";

const invalid = { id: null, code: -32600 };
const parseError = { id: null, code: -32700 };

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

Deno.test("Proxy: answers malformed messages, and the examples of JSON-RPC 2.0, section 7", (t) =>
  withProxy(
    (scene) => playRows(t, [...MALFORMED, overTheLimit, ...STANDARD], scene),
    { proxy: { maxBatch: MAX_BATCH }, read: { answer: standardNode } },
  ));

Deno.test("Node: answers malformed messages", (t) =>
  withNode(({ node }) => playRows(t, MALFORMED, node)));
