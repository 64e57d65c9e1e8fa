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
