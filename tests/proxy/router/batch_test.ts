import assert from "node:assert/strict";
import { splitBatchReply } from "../../../services/proxy/router/batch.ts";
import { type Call, readMessage } from "../../../services/proxy/router/calls.ts";

/** Calls with these ids as JSON text; without one, a notification. */
function callsOf(...ids: (string | undefined)[]): Call[] {
  const texts = ids.map((id) =>
    `{"jsonrpc":"2.0",${id === undefined ? "" : `"id":${id},`}"method":"eth_call"}`
  );
  return readMessage(`[${texts.join()}]`, ids.length) as Call[]; // none of them is broken
}

const split = (calls: Call[], body: string, status = 200) =>
  splitBatchReply(calls, { status, body }, "read");

/** The error code in a text. */
const codeOf = (text: string | undefined) => JSON.parse(text ?? "null")?.error?.code;

Deno.test("Batch: answers are put in the order of the calls, each as the node wrote it", () => {
  const answers = ['{"id":"b","result":1.0}', '{ "id":2, "error":{} }', '{"result":0,"id":1}'];
  const calls = callsOf("1", undefined, '"b"', "2");
  const [b, two, one] = answers;
  assert.deepEqual(split(calls, `[ ${answers.join(" , ")} ]`), [one, undefined, b, two]);
});

Deno.test("Batch: calls with one id get the answers to it in order, also where a number lost digits", () => {
  const answers = ['{"id":1,"result":1}', '{"id":1,"result":2}', '{"id":"1","result":3}'];
  assert.deepEqual(split(callsOf("1", '"1"', "1.0"), `[${answers}]`), [
    answers[0],
    answers[2],
    answers[1],
  ]);
  const long = '{"id":12345678901234567000,"result":4}';
  assert.deepEqual(split(callsOf("12345678901234567001"), `[${long}]`), [long]);
});

Deno.test("Batch: a call that the node left out is answered with an error under its own id", () => {
  const [first, second, third] = split(
    callsOf("12345678901234567890", "2", "null"),
    '[{"id":2,"result":0},7,null,{"result":1}]',
  );
  assert.match(first ?? "", /"id":12345678901234567890,/);
  assert.equal(codeOf(first), -32603);
  assert.equal(second, '{"id":2,"result":0}');
  assert.equal(third, "7", "what has no id counts as an answer to null");
});

Deno.test("Batch: one error for all of it is the answer to each call; other answers are none", () => {
  const calls = callsOf("1", undefined, '"b"');
  const error = '{"code":-32005,"message":"busy","data":1.0}';
  assert.deepEqual(split(calls, `{"jsonrpc":"2.0","id":null,"error":${error}}`, 429), [
    `{"jsonrpc":"2.0","id":1,"error":${error}}`,
    undefined,
    `{"jsonrpc":"2.0","id":"b","error":${error}}`,
  ]);
  for (const body of ["7", "null", '"error"', '{"result":1}', "{}"]) {
    const codes = split(calls, body).map(codeOf);
    assert.deepEqual(codes, [-32603, undefined, -32603], body);
  }
});

Deno.test("Batch: what is not JSON is no answer, unless none of the calls is answered", () => {
  assert.throws(() => split(callsOf("1"), "<html>", 503), { status: 502, rpcCode: -32002 });
  assert.deepEqual(split(callsOf(undefined, undefined), "<html>"), [undefined, undefined]);
  assert.deepEqual(split(callsOf(undefined), ""), [undefined]);
  const bytes = new TextEncoder().encode('[{"id":1,"result":0}]');
  assert.deepEqual(splitBatchReply(callsOf("1"), { status: 200, body: bytes }, "read"), [
    '{"id":1,"result":0}',
  ]);
});
