import assert from "node:assert/strict";
import { splitBatchReply } from "../../../services/proxy/calls/batch.ts";

/** Splits the reply to calls with these ids as JSON text, which were sent under 10, 11 and so on. */
const split = (
  ids: (string | undefined)[],
  body: string,
  status = 200,
  target: "read" | "write" = "read",
) => splitBatchReply(ids.map((id) => ({ id })), 10, { status, body }, target);

const codeOf = (text: string | undefined) => JSON.parse(text ?? "null")?.error?.code;

Deno.test("splitBatchReply: answers are in the order of the calls, unchanged except for their ids", () => {
  const answers = ['{"id":12,"result":1.0}', '{ "id":"13", "error":{} }', '{"result":0,"id":10}'];
  assert.deepEqual(split(["1", undefined, '"b"', "2.0"], `[ ${answers.join(" , ")} ]`), [
    '{"result":0,"id":1}',
    undefined,
    '{"id":"b","result":1.0}',
    '{ "id":2.0, "error":{} }',
  ]);
});

Deno.test("splitBatchReply: duplicate answers, and answers to unknown calls, are dropped", () => {
  const answers = ['{"id":10,"result":1}', '{"id":10,"result":2}', '{"id":9,"result":3}'];
  const wanted = ['{"id":7,"result":1}', -32603];
  const [first, second] = split(["7", "7"], `[${answers},{"id":12},{"id":1e9},{"id":{}}]`);
  assert.deepEqual([first, codeOf(second)], wanted);
});

Deno.test("splitBatchReply: a call without an answer gets an error under its own id", () => {
  const [first, second, third] = split(
    ["12345678901234567890", "2", "null"],
    '[{"id":11,"result":0},7,null,{"result":1},{"id":null,"error":{}}]',
  );
  assert.match(first ?? "", /"id":12345678901234567890,/);
  assert.equal(codeOf(first), -32603);
  assert.equal(second, '{"id":2,"result":0}');
  assert.equal(codeOf(third), -32603);
  assert.match(first ?? "", /send it alone/);
  const [write] = split(["1"], "[]", 200, "write");
  assert.match(write ?? "", /may have taken effect: only the same signed transaction/);
});

Deno.test("splitBatchReply: one error for the whole batch answers each call; a single result answers no call", () => {
  const ids = ["1", undefined, '"b"'];
  const error = '{"code":-32005,"message":"busy","data":1.0}';
  assert.deepEqual(split(ids, `{"jsonrpc":"2.0","id":null,"error":${error}}`, 429), [
    `{"jsonrpc":"2.0","id":1,"error":${error}}`,
    undefined,
    `{"jsonrpc":"2.0","id":"b","error":${error}}`,
  ]);
  for (const body of ["7", "null", '"error"', '{"result":1}', "{}"]) {
    const codes = split(ids, body).map(codeOf);
    assert.deepEqual(codes, [-32603, undefined, -32603], body);
  }
});

Deno.test("splitBatchReply: a reply that is not JSON is an error, unless all calls are notifications", () => {
  assert.throws(() => split(["1"], "<html>", 503), { status: 502, rpcCode: -32002 });
  assert.deepEqual(split([undefined, undefined], "<html>"), [undefined, undefined]);
  assert.deepEqual(split([undefined], ""), [undefined]);
});
