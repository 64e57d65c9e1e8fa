import assert from "node:assert/strict";
import fc from "fast-check";
import {
  callText,
  findIdSpan,
  parseEnvelope,
  requireAnswer,
  tryParseAnswer,
  withCallerId,
} from "../../../services/proxy/shared/envelopes.ts";
import { memberSpan } from "../../../lib/json_text.ts";
import { parseMessage } from "../../../services/proxy/calls/message.ts";

function envelopeOf(text: string) {
  return parseEnvelope(text, JSON.parse(text).method);
}

Deno.test("parseEnvelope: every spelling of a call is read alike", () => {
  const usual = '{"jsonrpc":"2.0","id":12,"method":"eth_call","params":[{"id":1},"}"]}';
  const others = [
    ' {"jsonrpc":"2.0","id":12,"method":"eth_call","params":[{"id":1},"}"]}',
    '{"jsonrpc":"2.0","id":12,"method":"eth_call","params":[{"id":1},"}"]} ',
    '{"jsonrpc":"2.0","id":12, "method":"eth_call","params": [{"id":1},"}"] }',
    '{"id":12,"method":"eth\\u005fcall","jsonrpc":"2.0","params":[{"id":1},"}"],"more":{"id":2}}',
    '{"p\\u0061rams":[{"id":1},"}"],"m\\u0065thod":"eth_call","i\\u0064":12,"jsonrpc":"2.0"}',
  ];
  const textAfterId = ',"method":"eth_call","params":[{"id":1},"}"]}';
  const wanted = { id: "12", paramsText: '[{"id":1},"}"]', textAfterId };
  for (const text of [usual, ...others]) assert.deepEqual(envelopeOf(text), wanted, text);
  const bare = { paramsText: undefined, textAfterId: ',"method":"a"}' };
  assert.deepEqual(envelopeOf('{"jsonrpc":"2.0","id":1,"method":"a"}'), { id: "1", ...bare });
  assert.deepEqual(envelopeOf('{"jsonrpc":"2.0","method":"a"}'), { id: undefined, ...bare });
});

Deno.test("parseEnvelope: keeps the text of an id", () => {
  for (const id of ["1.0", "1e2", "-0", "12345678901234567890", '"a\\u0062"', "null", '""']) {
    assert.equal(envelopeOf(`{"jsonrpc":"2.0","id":${id},"method":"a"}`).id, id);
  }
});

const start = '{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[]';
const ambiguous: Record<string, string> = {
  "a second id": `${start},"id":2}`,
  "a second id, escaped": `${start},"\\u0069d":2}`,
  "a second method": `${start},"method":"eth_sendRawTransaction"}`,
  "the same method twice": `${start},"method":"eth_call"}`,
  "a second jsonrpc": `${start},"jsonrpc":"2.0"}`,
  "params twice": `${start},"params":[]}`,
  "an id in upper case": `${start},"ID":"read 5"}`,
  "a method in upper case": '{"jsonrpc":"2.0","id":1,"method":"a","METHOD":"b"}',
  "a method with a capital letter first": '{"jsonrpc":"2.0","Method":"b","id":1,"method":"a"}',
  "params with an escaped capital letter": `${start},"p\\u0041rams":[]}`,
  // Go folds these letters of Unicode to s.
  "params with a long s": `${start},"param\u017f":[]}`,
  "jsonrpc with a long s": `${start},"j\u017fonrpc":"2.0"}`,
};
for (const [name, text] of Object.entries(ambiguous)) {
  Deno.test(`parseMessage: a call with ${name} is refused with -32600 under its id`, () => {
    const refused = parseMessage(text, 1);
    assert("error" in refused);
    assert.equal(refused.error.rpcCode, -32600);
    assert.match(refused.error.message, /^Invalid request: /);
    const batch = parseMessage(`[${text},{"jsonrpc":"2.0","id":3,"method":"a"}]`, 2);
    assert(Array.isArray(batch));
    assert.deepEqual(batch.map((call) => "error" in call), [true, false]);
  });
}

Deno.test("parseMessage: whatever members are added, a node parses the same method and parameters as the proxy", () => {
  const names = fc.constantFrom("id", "ID", "method", "Method", "params", "jsonrpc", "x", "\u017f");
  const member = fc.tuple(names, fc.json({ maxDepth: 2 }));
  fc.assert(fc.property(fc.array(member), fc.array(member), (before, after) => {
    const write = (members: [string, string][]) =>
      members.map(([name, value]) => `${JSON.stringify(name)}:${value}`);
    const own = ['"jsonrpc":"2.0"', '"id":1', '"method":"eth_call"', '"params":[1.0]'];
    const text = `{${[...write(before), ...own, ...write(after)].join()}}`;
    const call = parseMessage(text, 1);
    if ("error" in call) return;
    assert("method" in call);
    const sent = callText(call.textAfterId, 7);
    assert.equal(sent, '{"jsonrpc":"2.0","id":7,"method":"eth_call","params":[1.0]}');
  }));
});

Deno.test("findIdSpan: finds the id of an answer at every place where a node may write it", () => {
  const id = fc.oneof(fc.nat(), fc.constantFrom(null, "12", 12.5, ',"id":7}'));
  const space = fc.constantFrom("", "\n", " ");
  fc.assert(fc.property(fc.json(), id, fc.json(), space, (before, id, after, end) => {
    for (const rest of ["", `,"x":${after}`]) {
      const text = `{"result":${before},"id":${JSON.stringify(id)}${rest}}${end}`;
      assert.deepEqual(findIdSpan(text), memberSpan(text, "id"), text);
    }
  }));
});

Deno.test("findIdSpan: the result before an id at the end is not read", () => {
  assert.deepEqual(findIdSpan('{"result":[{"unfinished,"id":12}\n'), { start: 29, end: 31 });
});

Deno.test("withCallerId: an answer gets the caller's id, and every other byte stays", () => {
  const rows: [answer: string, shown: string][] = [
    ['{"jsonrpc":"2.0","id":12,"result":1.0}', '{"jsonrpc":"2.0","id":"x","result":1.0}'],
    ['{"jsonrpc":"2.0","id":12}\n', '{"jsonrpc":"2.0","id":"x"}\n'],
    ['{"result":{"id":12},"id":12}', '{"result":{"id":12},"id":"x"}'],
    ['{"result":"\\"id\\":12","id":12}\n', '{"result":"\\"id\\":12","id":"x"}\n'],
    ['{ "id" : 12 , "result":0 }', '{ "id" : "x" , "result":0 }'],
    ['{"id":"12","result":0}', '{"id":"x","result":0}'],
    ['{"id":null,"error":{}}', '{"id":"x","error":{}}'],
    ['{"error":{}}', '{"id":"x","error":{}}'],
    [' { "error" : {} }', ' {"id":"x", "error" : {} }'],
    ["{}", "{}"],
    ["[1]", "[1]"],
  ];
  for (const [body, shown] of rows) {
    const answer = tryParseAnswer({ status: 200, body }, 12);
    assert.equal(answer && withCallerId(answer, '"x"'), shown, body);
  }
});

Deno.test("requireAnswer: an answer under another id is rejected for a read; that to a write gets its caller's id", () => {
  const reply = { status: 200, body: '{"jsonrpc":"2.0","id":1,"result":"0xhash"}' };
  assert.throws(() => requireAnswer(12, reply, "read"), { status: 502 });
  const answer = requireAnswer(12, reply, "write");
  assert.equal(withCallerId(answer, '"x"'), '{"jsonrpc":"2.0","id":"x","result":"0xhash"}');
});

Deno.test("requireAnswer: a gateway's message without id, result and error fails the call with 502", () => {
  const error = { status: 502, message: /HTTP status 429 without result or error/ };
  for (const body of ['{"message":"Limit exceeded"}', "[1]"]) {
    for (const target of ["read", "write"] as const) {
      assert.throws(() => requireAnswer(12, { status: 429, body }, target), error);
    }
  }
});

Deno.test("tryParseAnswer: rejects an answer under another id", () => {
  const bodies = [
    '{"jsonrpc":"2.0","id":123,"result":1}',
    '{"jsonrpc":"2.0","id":1,"result":1}',
    '{"result":1,"id":112}',
    '{"id":"1","result":",\\"id\\":12"}',
    '{"jsonrpc":"2.0","id":12.5,"result":1}',
  ];
  for (const body of bodies) {
    assert.equal(tryParseAnswer({ status: 200, body }, 12), undefined, body);
  }
});
