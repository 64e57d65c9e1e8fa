import assert from "node:assert/strict";
import fc from "fast-check";
import {
  idBesideParams,
  idOf,
  parseRequest,
  rpcFailure,
  rpcResult,
  tryParseResponse,
} from "../../../lib/protocol/jsonrpc.ts";

Deno.test("parseRequest: a method name of 256 characters is accepted", () => {
  const method = "m".repeat(256);
  assert.equal(parseRequest({ jsonrpc: "2.0", method }).method, method);
});

Deno.test("parseRequest: params are an array or an object", () => {
  for (const params of [[1], { a: 1 }]) {
    assert.deepEqual(parseRequest({ jsonrpc: "2.0", method: "m", params }).params, params);
  }
  assert.deepEqual(rpcResult(1, "a"), { jsonrpc: "2.0", id: 1, result: "a" });
});

Deno.test("idOf: never throws, and returns only valid ids", () => {
  fc.assert(fc.property(fc.anything(), (value) => {
    const id = idOf(value);
    assert(id === null || typeof id === "string" || typeof id === "number");
  }));
});

Deno.test("idBesideParams: returns the id before or after the parameters, or null", () => {
  const letters = "x".repeat(487); // the id ends within 512 characters
  const cases: [start: string, id: unknown][] = [
    ['{"jsonrpc":"2.0","id":7,"params":[', 7],
    ['{"id":123456789012345,', 123456789012345],
    ['{"id":1234567890123456,', null],
    [`{"jsonrpc":"2.0","id":"${letters}",`, letters],
    [`{"jsonrpc":"2.0","id":"${letters}x",`, null],
    ['{"id":-0,"params":[', -0],
    ['{ "method" : "a", "id" : "a b" , ', "a b"],
    ['{"id":null,', null],
    ['{"id":007,', null],
    ['{"id":-01,', null],
    ['{"id":1.5,', null],
    ['{"id":"\n",', null],
    ['{"id":"\\u0061",', null],
    ['{"params":{"id":1,', null],
    ['[{"id":1,', null],
    ['{"method":"a","params":["0x1"],"id":3,"jsonrpc":"2.0"}', 3],
    [`{"jsonrpc": "2.0", "method": "a", "params": ["${"y".repeat(600)}"], "id": "b"}\n`, "b"],
    ['{"params":[],"id":4,"method":"a"}', 4],
    ['{"params":{"id":4}}', null],
    ['{"params":[],"x,\\"id":4}', null],
    ['[{"params":[],"id":4}]', null],
    ['[{"params":[],"id":4}', null],
    ['{"params":[],"id":1e3}', null],
  ];
  for (const [start, id] of cases) assert.equal(idBesideParams(start), id, start);
});

Deno.test("idBesideParams: never throws", () => {
  const id = fc.stringMatching(/^(?:-?[0-9]{1,17}|"[^"]{0,4}"|.{0,3})$/);
  fc.assert(fc.property(id, (text) => void idBesideParams(`{"id":${text},`)));
});

Deno.test("idOf: returns the id of an invalid call", () => {
  for (const id of ["a", 0, null]) assert.equal(idOf({ id, method: 5 }), id);
});

Deno.test("tryParseResponse: an error answer needs code and message", () => {
  const failure = { jsonrpc: "2.0", id: 1, error: { code: -32000, message: "No" } };
  assert.deepEqual(rpcFailure(1, -32000, "No"), failure);
  for (const error of [{}, { code: 1 }, { message: "No" }, { code: "1", message: "No" }]) {
    assert.equal(tryParseResponse({ jsonrpc: "2.0", id: 1, error }), undefined);
  }
});

Deno.test("tryParseResponse: returns results, and throws errors with the node's code and data", () => {
  assert.deepEqual(tryParseResponse(rpcResult(7, { a: 1 })), { id: 7, result: { a: 1 } });
  const data = { code: "NeedsBackfill", missing: [{ from: 100, to: 200 }] };
  const error = { name: "RpcError", rpcCode: -32010, data };
  assert.throws(() => tryParseResponse(rpcFailure(7, -32010, "Needs backfill", data)), error);
  assert.equal(tryParseResponse("<html>"), undefined);
});
