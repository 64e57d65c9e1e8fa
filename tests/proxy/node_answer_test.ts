import assert from "node:assert/strict";
import { readAnswer, withCallerId } from "../../services/proxy/node_answer.ts";

Deno.test("Node answers: an answer gets the caller's id, and every other byte stays", () => {
  const rows: [answer: string, shown: string][] = [
    ['{"jsonrpc":"2.0","id":12,"result":1.0}', '{"jsonrpc":"2.0","id":"x","result":1.0}'],
    ['{"jsonrpc":"2.0","id":12}\n', '{"jsonrpc":"2.0","id":"x"}\n'],
    ['{"result":{"id":12},"id":12}', '{"result":{"id":12},"id":"x"}'],
    ['{"result":"\\"id\\":12","id":12}\n', '{"result":"\\"id\\":12","id":"x"}\n'],
    ['{ "id" : 12 , "result":0 }', '{ "id" : "x" , "result":0 }'],
    ['{"id":"12","result":0}', '{"id":"x","result":0}'],
    ['{"id":null,"error":{}}', '{"id":"x","error":{}}'],
    ['{"error":{}}', '{"error":{}}'],
    ["[1]", "[1]"],
  ];
  for (const [body, shown] of rows) {
    const answer = readAnswer({ status: 200, body }, 12);
    assert.equal(answer && withCallerId(answer, '"x"'), shown, body);
  }
});

Deno.test("Node answers: rejects an answer under another id", () => {
  for (
    const body of [
      '{"jsonrpc":"2.0","id":123,"result":1}',
      '{"jsonrpc":"2.0","id":1,"result":1}',
      '{"result":1,"id":112}',
      '{"id":"1","result":",\\"id\\":12"}',
      '{"jsonrpc":"2.0","id":12.5,"result":1}',
    ]
  ) {
    assert.equal(readAnswer({ status: 200, body }, 12), undefined, body);
  }
});
