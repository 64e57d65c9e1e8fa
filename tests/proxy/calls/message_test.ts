import assert from "node:assert/strict";
import { ProxyError } from "../../../services/proxy/shared/failures.ts";
import { SMALL_BYTES } from "../../../services/proxy/shared/limits.ts";
import { type Call, parseMessage } from "../../../services/proxy/calls/message.ts";

const LARGE = 1024 * 1024;

const costly: Record<string, string> = {
  "brackets in brackets": "[".repeat(LARGE / 2) + "]".repeat(LARGE / 2),
  "many empty objects": `[${"{},".repeat(LARGE / 3)}0]`,
  "many numbers": `[[${"1,".repeat(LARGE / 2)}1]]`,
  "many keys": `{${Array.from({ length: 60_000 }, (_, key) => `"${key}":0`).join()}}`,
};
for (const [name, text] of Object.entries(costly)) {
  Deno.test(`parseMessage: a large message of ${name} is refused before parsing`, () => {
    const message = parseMessage(text, 1_000);
    assert("error" in message);
    assert.equal(message.error.rpcCode, -32005);
    assert.match(message.error.message, /nested over 64/);
  });
}

Deno.test("parseMessage: a large message of numbers, and of text with brackets, is accepted", () => {
  const params = [Array.from({ length: 200_000 }, (_, n) => n), '[{":\\"'.repeat(60_000)];
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_call", params });
  const message = parseMessage(text, 1);
  assert.deepEqual("params" in message && message.params, params);
});

Deno.test("parseMessage: accepts every kind of id and params, and rejects the id 1e999", () => {
  const method = "eth_call";
  const valid: { id?: unknown; method: string; params?: unknown; more?: number }[] = [
    { method },
    { id: null, method },
    { id: "", method, params: [] },
    { id: -1.5, method, params: {} },
    { id: 1, method: "m".repeat(256), params: [null], more: 1 },
  ];
  for (const each of valid) {
    const text = ` ${JSON.stringify({ jsonrpc: "2.0", ...each })}`;
    const { method, params } = parseMessage(text, 1) as Call;
    assert.deepEqual({ method, params }, { method: each.method, params: each.params });
  }
  assert("error" in parseMessage('{"jsonrpc":"2.0","id":1e999,"method":"a"}', 1));
});

Deno.test("parseMessage: a costly message is refused under its id if the id is at its start", () => {
  const idOf = (start: string, bytes = SMALL_BYTES + 1) => {
    const depth = 100;
    const [open, close] = ["[".repeat(depth), "]".repeat(depth)];
    const rest = `"method":"a","params":[${open}${close}`;
    const text = `${start}${rest}${" ".repeat(bytes - start.length - rest.length - 2)}]}`;
    const message = parseMessage(text, 1);
    if (!("error" in message)) return "accepted";
    assert(message.error instanceof ProxyError);
    assert.deepEqual([message.error.status, message.error.rpcCode], [413, -32005]);
    return message.id;
  };
  const start = (id: string) => `{"jsonrpc":"2.0","id":${id},`;
  const rows: [start: string, id: unknown][] = [
    [start("1"), 1],
    [start("007"), null],
  ];
  for (const [text, id] of rows) assert.equal(idOf(text), JSON.stringify(id), text);
  assert.equal(idOf(start("1"), SMALL_BYTES), "accepted", "a small one is read");
});
