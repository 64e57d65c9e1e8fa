import assert from "node:assert/strict";
import { cutAtId, readMessage } from "../../../services/proxy/router/calls.ts";
import { cutAtMember } from "../../../services/proxy/json_text.ts";

Deno.test("Calls: a call is cut at the id that counts, however it is written", () => {
  for (
    const text of [
      '{"jsonrpc":"2.0","id":1,"method":"eth_call"}',
      '{"jsonrpc":"2.0","id":12,"method":"eth_call","params":["0x1",7]}',
      '{"jsonrpc":"2.0","id":-1.5,"method":"eth_call"}',
      '{"jsonrpc":"2.0","id":1e2,"method":"eth_call"}',
      '{"jsonrpc":"2.0","id":100 ,"method":"eth_call"}',
      '{"jsonrpc":"2.0","id":12345678901234567890,"method":"eth_call"}',
      '{"jsonrpc":"2.0","id":"1","method":"eth_call"}',
      '{"jsonrpc":"2.0","id":null,"method":"eth_call"}',
      '{"jsonrpc":"2.0","id":1,"method":"eth_call","id":1}',
      '{"jsonrpc":"2.0","id":1,"method":"eth_call","\\u0069d":1}',
      '{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"id":1}]}',
      '{"id":1,"jsonrpc":"2.0","method":"eth_call"}',
      ' {"jsonrpc":"2.0","id":1,"method":"eth_call"}',
    ]
  ) {
    const call = readMessage(text, 1);
    assert(!Array.isArray(call));
    assert.deepEqual(cutAtId(call), cutAtMember(text, "id"), text);
  }
});

const LARGE = 1024 * 1024;

const costly: Record<string, string> = {
  "brackets in brackets": "[".repeat(LARGE / 2) + "]".repeat(LARGE / 2),
  "many empty objects": `[${"{},".repeat(LARGE / 3)}0]`,
  "many keys": `{${Array.from({ length: 60_000 }, (_, key) => `"${key}":0`).join()}}`,
};
for (const [name, text] of Object.entries(costly)) {
  Deno.test(`readMessage: a large message of ${name} is refused before it is parsed`, () => {
    assert.throws(() => readMessage(text, 1_000), { rpcCode: -32005, message: /nested over 64/ });
  });
}

Deno.test("readMessage: a large message of numbers and text with brackets and colons in it is read", () => {
  const params = [Array.from({ length: 200_000 }, (_, n) => n), '[{":\\"'.repeat(60_000)];
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_call", params });
  const message = readMessage(text, 1);
  assert.deepEqual(Array.isArray(message) ? undefined : message.params, params);
});
