import assert from "node:assert/strict";
import type { CallAnswer } from "../../../services/proxy/shared/envelopes.ts";
import { InFlightReads } from "../../../services/proxy/calls/in_flight_reads.ts";

const keys = Array.from(
  { length: 1_000 },
  (_, n) => `,"method":"eth_getBalance","params":["0x${n.toString(16).padStart(40, "0")}"]}`,
);

Deno.test("InFlightReads: of 1,000 reads, equal ones share an answer", async () => {
  const reads = new InFlightReads();
  const asked: PromiseWithResolvers<CallAnswer>[] = [];
  const share = (key: string) =>
    reads.share(key, () => {
      const question = Promise.withResolvers<CallAnswer>();
      asked.push(question);
      return question.promise;
    });
  const first = keys.map(share);
  assert.equal(asked.length, keys.length, "no two of them are equal");
  const equal = keys.map(share);
  const shared = 2 * keys.length - asked.length; // of the others, a newer read had taken the slot
  assert(shared > 600, `${shared} shared`);
  for (const [n, { resolve }] of asked.entries()) {
    resolve({ status: 200, text: `{"result":${n}}`, id: undefined });
  }
  const texts = (await Promise.all(equal)).map(({ text }) => text);
  const expected = (await Promise.all(first)).map(({ text }) => text);
  assert.equal(texts.filter((text, n) => text === expected[n]).length, shared);
});
