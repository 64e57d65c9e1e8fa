import assert from "node:assert/strict";
import type { Answer } from "../../../services/proxy/call_envelope.ts";
import { InFlightReads } from "../../../services/proxy/calls/in_flight_reads.ts";

const keys = Array.from(
  { length: 1_000 },
  (_, n) => `,"method":"eth_getBalance","params":["0x${n.toString(16).padStart(40, "0")}"]}`,
);
const KEY = keys[0]!;

const answerOf = (text: string, status = 200): Answer => ({ status, text, id: undefined });

/** Shares reads; the test answers what was asked for. */
function scene() {
  const reads = new InFlightReads();
  const asked: PromiseWithResolvers<Answer>[] = [];
  const share = (key: string) =>
    reads.share(key, () => {
      const question = Promise.withResolvers<Answer>();
      asked.push(question);
      return question.promise;
    });
  return { reads, asked, share };
}

Deno.test("InFlightReads: of 1,000 reads each equal one gets the same answer", async () => {
  const { asked, share } = scene();
  const first = keys.map(share);
  assert.equal(asked.length, keys.length, "no two of them are equal");
  const equal = keys.map(share);
  const shared = 2 * keys.length - asked.length; // of the others, a newer read had taken the slot
  assert(shared > 600, `${shared} shared`);
  for (const [n, { resolve }] of asked.entries()) resolve(answerOf(`{"result":${n}}`));
  const texts = (await Promise.all(equal)).map(({ text }) => text);
  const expected = (await Promise.all(first)).map(({ text }) => text);
  assert.equal(texts.filter((text, n) => text === expected[n]).length, shared);
});

Deno.test("InFlightReads: a read that is answered or forgotten cannot be joined", async () => {
  const { reads, asked, share } = scene();
  const first = share(KEY);
  asked[0]!.resolve(answerOf('{"result":0}'));
  await first;
  const second = share(KEY);
  assert.equal(asked.length, 2);
  reads.forget();
  const third = share(KEY);
  assert.equal(asked.length, 3);
  asked[1]!.resolve(answerOf('{"result":1}'));
  await second;
  const fourth = share(KEY);
  assert.equal(asked.length, 3, "the end of an older read leaves the newer one");
  asked[2]!.resolve(answerOf('{"result":2}'));
  assert.deepEqual(await fourth, await third);
});

const outcomes: [name: string, answer: Answer | undefined, isShared: boolean][] = [
  ["a result", answerOf('{"result":null,"id":1}'), true],
  ["an error", answerOf('{"id":1,"error":{}}'), false],
  ["a result and an error", answerOf('{"id":1,"result":1,"error":{}}'), false],
  ["neither", answerOf('{"id":1}'), false],
  ["another status", answerOf('{"id":1,"result":1}', 201), false],
  ["a failure", undefined, false],
];
for (const [name, answer, isShared] of outcomes) {
  Deno.test(`InFlightReads: ${name} is ${isShared ? "" : "not "}shared`, async () => {
    const { asked, share } = scene();
    const first = share(KEY);
    const others = [1, 2].map(() => share(KEY));
    assert.equal(asked.length, 1);
    if (answer !== undefined) {
      asked[0]!.resolve(answer);
      assert.equal(await first, answer);
    } else {
      asked[0]!.reject(new Error("lost"));
      await assert.rejects(first, /lost/);
    }
    const own = answerOf('{"result":"own"}');
    const later = share(KEY);
    for (const question of asked) question.resolve(own);
    for (const other of await Promise.all(others)) assert.equal(other, isShared ? answer : own);
    assert.equal(await later, own, "a later read is asked for again");
  });
}
