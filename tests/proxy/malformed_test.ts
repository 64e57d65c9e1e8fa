/** Every wrong message, over HTTP and WebSocket, with the code and status of the protocol page. */
import assert from "node:assert/strict";
import { RpcSocket } from "../support/rpc_socket.ts";
import { post, type Scene, type SceneOptions, withProxy } from "./support.ts";

const MAX_BODY_BYTES = 4_096;
const MAX_BATCH = 5;

interface Row {
  name: string;
  body: string;
  /** HTTP status. */
  status: number;
  /** What is answered; null for nothing. */
  answer: Brief | Brief[] | null;
  /** Over a WebSocket it closes the connection with 1009 and is not answered. */
  isFrameTooLarge?: boolean;
}

/** An answer without what the tables leave open: the wording of errors. */
interface Brief {
  id: unknown;
  code?: number;
  result?: unknown;
}

const parseError: Brief = { id: null, code: -32700 };
const invalid: Brief = { id: null, code: -32600 };
const tooMuch: Brief = { id: null, code: -32005 };

const single: Row[] = [
  ["empty body", "", parseError],
  ["space", "  ", parseError],
  ["half an object", '{"jsonrpc":"2.0","id":1', parseError],
  ["two objects", '{"jsonrpc":"2.0","id":1,"method":"a"}{}', parseError],
  ["JavaScript", "{jsonrpc:'2.0'}", parseError],
  ["a trailing comma", '[{"jsonrpc":"2.0","id":1,"method":"a"},]', parseError],
  ["null", "null", invalid],
  ["a number", "1", invalid],
  ["a string", '"eth_chainId"', invalid],
  ["true", "true", invalid],
  ["an empty object", "{}", invalid],
  ["an empty batch", "[]", invalid],
  ["no jsonrpc", '{"id":7,"method":"a"}', { id: 7, code: -32600 }],
  ["jsonrpc 1.0", '{"jsonrpc":"1.0","id":7,"method":"a"}', { id: 7, code: -32600 }],
  ["jsonrpc as a number", '{"jsonrpc":2.0,"id":7,"method":"a"}', { id: 7, code: -32600 }],
  ["no method", '{"jsonrpc":"2.0","id":"x"}', { id: "x", code: -32600 }],
  ["an empty method", '{"jsonrpc":"2.0","id":1,"method":""}', { id: 1, code: -32600 }],
  ["method as a number", '{"jsonrpc":"2.0","id":1,"method":1}', { id: 1, code: -32600 }],
  [
    "a method of 257 letters",
    `{"jsonrpc":"2.0","id":1,"method":"${"a".repeat(257)}"}`,
    { id: 1, code: -32600 },
  ],
  ["method as a list", '{"jsonrpc":"2.0","id":1,"method":["a"]}', { id: 1, code: -32600 }],
  ["params as a number", '{"jsonrpc":"2.0","id":1,"method":"a","params":7}', {
    id: 1,
    code: -32600,
  }],
  ["params as text", '{"jsonrpc":"2.0","id":1,"method":"a","params":"b"}', { id: 1, code: -32600 }],
  ["params null", '{"jsonrpc":"2.0","id":1,"method":"a","params":null}', { id: 1, code: -32600 }],
  ["id as an object", '{"jsonrpc":"2.0","id":{},"method":"a"}', invalid],
  ["id as a list", '{"jsonrpc":"2.0","id":[1],"method":"a"}', invalid],
  ["id true", '{"jsonrpc":"2.0","id":true,"method":"a"}', invalid],
].map(([name, body, answer]) => ({ name, body, answer, status: 400 } as Row)); // rows of one shape

const limits: Row[] = [
  {
    name: "a batch over the limit",
    body: JSON.stringify(new Array(MAX_BATCH + 1).fill({ jsonrpc: "2.0", id: 1, method: "a" })),
    status: 413,
    answer: tooMuch,
  },
  {
    name: "a message over the limit",
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "a", params: ["x".repeat(5_000)] }),
    isFrameTooLarge: true,
    status: 413,
    answer: tooMuch,
  },
  {
    name: "a message whose bytes, not letters, are over the limit",
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "a", params: ["€".repeat(1_500)] }),
    isFrameTooLarge: true,
    status: 413,
    answer: tooMuch,
  },
];

/** The examples of the JSON-RPC 2.0 specification, section 7. */
const standard: Row[] = [
  {
    name: "positional parameters",
    body: '{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}',
    status: 200,
    answer: { id: 1, result: 19 },
  },
  {
    name: "named parameters",
    body:
      '{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
    status: 200,
    answer: { id: 3, result: 19 },
  },
  {
    name: "a notification",
    body: '{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}',
    status: 204,
    answer: null,
  },
  {
    name: "a method that does not exist",
    body: '{"jsonrpc": "2.0", "method": "foobar", "id": "1"}',
    status: 200,
    answer: { id: "1", code: -32601 },
  },
  {
    name: "invalid JSON",
    body: '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]',
    status: 400,
    answer: parseError,
  },
  {
    name: "an invalid request",
    body: '{"jsonrpc": "2.0", "method": 1, "params": "bar"}',
    status: 400,
    answer: invalid,
  },
  {
    name: "a batch of invalid JSON",
    body:
      '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]',
    status: 400,
    answer: parseError,
  },
  { name: "an empty batch", body: "[]", status: 400, answer: invalid },
  { name: "an invalid batch", body: "[1]", status: 200, answer: [invalid] },
  { name: "invalid batch", body: "[1,2,3]", status: 200, answer: [invalid, invalid, invalid] },
  {
    name: "a mixed batch",
    body: `[
      {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
      {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
      {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
      {"foo": "boo"},
      {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
    ]`,
    status: 200,
    answer: [
      { id: "1", result: 7 },
      { id: "2", result: 19 },
      invalid,
      { id: "9", result: ["hello", 5] },
    ],
  },
  {
    name: "a batch of notifications",
    body:
      '[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]',
    status: 204,
    answer: null,
  },
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
  const [a = 0, b = 0] = Array.isArray(params)
    ? params
    : [params?.minuend ?? 0, params?.subtrahend ?? 0];
  const results: Record<string, unknown> = {
    subtract: a - b,
    sum: Array.isArray(params) ? params.reduce((total, term) => total + term, 0) : 0,
    get_data: ["hello", 5],
  };
  const result = results[method];
  if (result !== undefined) return { jsonrpc: "2.0", id, result };
  return { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
}

const scene: SceneOptions = {
  proxy: { maxBodyBytes: MAX_BODY_BYTES, maxBatch: MAX_BATCH },
  read: { answer: standardNode },
};

function brief(answer: unknown): Brief | Brief[] {
  if (Array.isArray(answer)) return answer.map((item) => brief(item)).flat();
  const { jsonrpc, id, result, error } = answer as {
    jsonrpc: string;
    id: unknown;
    result?: unknown;
    error?: { code: number; message: string };
  }; // the table compares every member that it has
  assert.equal(jsonrpc, "2.0");
  if (error === undefined) return { id, result };
  assert.equal(typeof error.message, "string");
  return { id, code: error.code };
}

async function overHttp({ url }: Scene, { body, status, answer }: Row): Promise<void> {
  const response = await post(url, body);
  const text = await response.text();
  assert.equal(response.status, status, text);
  if (answer === null) assert.equal(text, "");
  else {
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(brief(JSON.parse(text)), answer);
  }
}

async function overWebSocket(
  { wsUrl }: Scene,
  { body, answer, isFrameTooLarge }: Row,
): Promise<void> {
  const client = await RpcSocket.open(wsUrl);
  client.send(body);
  if (isFrameTooLarge) {
    assert.equal((await client.closed).code, 1009);
    return assert.deepEqual(client.frames, []);
  }
  if (answer !== null) await client.waitFor(() => true);
  await client.call("subtract", [1, 1], 4711); // what was to be answered has been answered by now
  const frames = client.frames.map((text) => JSON.parse(text))
    .filter((frame) => frame.id !== 4711);
  assert.deepEqual(frames.map(brief), answer === null ? [] : [answer]);
  await client.close();
}

const tables: Record<string, Row[]> = {
  "malformed": single,
  "over a limit": limits,
  "JSON-RPC 2.0, section 7": standard,
};
for (const [table, rows] of Object.entries(tables)) {
  for (const [transport, play] of Object.entries({ HTTP: overHttp, WebSocket: overWebSocket })) {
    Deno.test(`Proxy: ${table}, over ${transport}`, (t) =>
      withProxy(async (scene) => {
        for (const row of rows) await t.step(row.name, () => play(scene, row));
      }, scene));
  }
}
