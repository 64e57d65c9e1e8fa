import assert from "node:assert/strict";
import { readMessage } from "../../../services/proxy/router/calls.ts";
import { subscriptionRequest } from "../../../services/proxy/hub/subscription_request.ts";

function keyOf(params: string): string {
  const text = `{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":${params}}`;
  const message = readMessage(text, 1);
  assert(!Array.isArray(message));
  return subscriptionRequest("eth", message).key;
}

Deno.test("Subscription: spacing and the order of members make no other subscription", () => {
  assert.equal(keyOf('["logs",{"a":1,"b":[2]}]'), keyOf('[ "logs", {"b":[2], "a":1} ]'));
});

Deno.test("Subscription: numbers that only look alike once they are read are two subscriptions", () => {
  assert.notEqual(keyOf('["x",9007199254740993]'), keyOf('["x",9007199254740992]'));
  assert.notEqual(keyOf('["x",{"a":[0.1]}]'), keyOf('["x",{"a":[0.10000000000000001]}]'));
});
