import assert from "node:assert/strict";
import type { Answer } from "../../../services/proxy/envelope.ts";
import { type Flight, InFlightReads } from "../../../services/proxy/calls/in_flight_reads.ts";

const keys = Array.from(
  { length: 1_000 },
  (_, n) => `,"method":"eth_getBalance","params":["0x${n.toString(16).padStart(40, "0")}"]}`,
);

const answerOf = (text: string, status = 200): Answer => ({ status, text, id: undefined });

Deno.test("InFlightReads: of 1,000 reads each equal one gets the same answer", async () => {
  const reads = new InFlightReads();
  const flights = keys.map((key) => reads.begin(key));
  const joined = keys.map((key) => reads.begin(key));
  for (const [n, flight] of flights.entries()) {
    assert(!(flight instanceof Promise), "no two of them are equal");
    reads.complete(flight, answerOf(`{"result":"${keys[n]}"}`));
  }
  let shared = 0;
  for (const [n, answer] of joined.entries()) {
    if (!(answer instanceof Promise)) continue; // a newer read had taken its slot
    shared += 1;
    assert.equal((await answer)?.text, `{"result":"${keys[n]}"}`);
  }
  assert(shared > 600, `${shared} shared`);
});

Deno.test("InFlightReads: a read that is complete or forgotten cannot be joined", () => {
  const reads = new InFlightReads();
  const key = keys[0]!;
  const first = reads.begin(key) as Flight;
  reads.complete(first, undefined);
  const second = reads.begin(key) as Flight;
  assert.notEqual(second, first);
  reads.forget();
  const third = reads.begin(key) as Flight;
  assert(!(third instanceof Promise));
  reads.complete(second, undefined);
  assert(reads.begin(key) instanceof Promise, "the end of an older flight leaves the newer one");
  reads.complete(third, undefined);
});

const outcomes: [name: string, answer: Answer | undefined, isShared: boolean][] = [
  ["a result", answerOf('{"result":null,"id":1}'), true],
  ["an error", answerOf('{"id":1,"error":{}}'), false],
  ["a result and an error", answerOf('{"id":1,"result":1,"error":{}}'), false],
  ["neither", answerOf('{"id":1}'), false],
  ["another status", answerOf('{"id":1,"result":1}', 201), false],
  ["nothing", undefined, false],
];
for (const [name, answer, isShared] of outcomes) {
  Deno.test(`InFlightReads: ${name} is ${isShared ? "" : "not "}shared`, async () => {
    const reads = new InFlightReads();
    const key = keys[0]!;
    const first = reads.begin(key) as Flight;
    const others = [1, 2].map(() => reads.begin(key));
    reads.complete(first, answer);
    for (const other of await Promise.all(others)) {
      assert.equal(other, isShared ? answer : undefined);
    }
    assert(!(reads.begin(key) instanceof Promise), "it has landed");
  });
}
