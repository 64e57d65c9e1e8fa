import assert from "node:assert/strict";
import type { CallAnswer } from "../../../services/proxy/shared/envelopes.ts";
import { InFlightReads } from "../../../services/proxy/calls/in_flight_reads.ts";
import { answerLost, nodeTimeout } from "../../../services/proxy/shared/failures.ts";

const keys = Array.from(
  { length: 1_000 },
  (_, n) => `,"method":"eth_getBalance","params":["0x${n.toString(16).padStart(40, "0")}"]}`,
);

Deno.test("InFlightReads: among 1,000 reads, a read shares the answer of an equal one just before it, and gets no other's", async () => {
  const reads = new InFlightReads();
  const asked: (() => void)[] = [];
  const share = (key: string, n: number) =>
    reads.share(key, () => {
      const question = Promise.withResolvers<CallAnswer>();
      asked.push(() =>
        question.resolve({ status: 200, text: `{"result":${n}}`, idSpan: undefined })
      );
      return question.promise;
    });
  const pairs = keys.flatMap((key, n) => [share(key, n), share(key, n)]);
  assert.equal(asked.length, keys.length);
  const later = keys.map(share); // of some, a newer read has taken the slot
  for (const answer of asked) answer();
  const texts = (await Promise.all([...pairs, ...later])).map(({ text }) => text);
  const expected = keys.map((_, n) => `{"result":${n}}`);
  assert.deepEqual(texts, [...expected.flatMap((text) => [text, text]), ...expected]);
});

Deno.test("InFlightReads: equal reads of a node that hangs time out together; after a lost answer, each asks for itself", async () => {
  const cases = [
    [nodeTimeout("read", 30_000), 1],
    [answerLost("read", "reset"), 3],
  ] as const;
  for (const [error, asks] of cases) {
    const reads = new InFlightReads();
    let asked = 0;
    const ask = () => {
      asked += 1;
      return Promise.reject(error);
    };
    const equal = [1, 2, 3].map(() => reads.share(",equal", ask));
    for (const { status } of await Promise.allSettled(equal)) assert.equal(status, "rejected");
    assert.equal(asked, asks);
  }
});
