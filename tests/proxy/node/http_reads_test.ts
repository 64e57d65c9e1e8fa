import assert from "node:assert/strict";
import { answerUnder } from "../../../services/proxy/envelope.ts";
import { HttpReads } from "../../../services/proxy/node/http_reads.ts";
import type { PostOptions } from "../../../services/proxy/node/node_http.ts";

const READ = {
  method: "eth_call",
  rest: ',"method":"eth_call"}',
  node: 1,
  caller: "a",
  forwardedFor: "x",
  fitsSocket: true,
};

Deno.test("HttpReads: each read has an id of its own, may be repeated and moved, and takes its own answer alone", async () => {
  const posted: [text: string, options: PostOptions][] = [];
  let body = (id: number) => `{"id":${id},"result":7}`;
  const reads = new HttpReads({
    post(text, options) {
      posted.push([text, options]);
      return Promise.resolve({ status: 200, body: body(JSON.parse(text).id) });
    },
  });
  for (let n = 0; n < 2; n += 1) {
    assert.equal(answerUnder(await reads.ask(READ), "5"), '{"id":5,"result":7}');
  }
  const ids = posted.map(([text]) => JSON.parse(text).id);
  assert.equal(ids[1], ids[0] + 1);
  assert.deepEqual(JSON.parse(posted[0]?.[0] ?? ""), {
    jsonrpc: "2.0",
    id: ids[0],
    method: "eth_call",
  });
  const { isAnswer, ...options } = posted[0]?.[1] ?? assert.fail();
  const wanted = { forwardedFor: "x", node: 1, isPlain: true };
  assert.deepEqual(options, wanted);
  const isTaken = [ids[0], ids[1], null].map((id) => isAnswer?.(JSON.stringify({ id })));
  assert.deepEqual(isTaken, [true, false, true]);
  for (const wrong of [(id: number) => `{"id":${id + 1}}`, () => "<html>"]) {
    body = wrong;
    await assert.rejects(reads.ask(READ), { status: 502, rpcCode: -32002 });
  }
});
