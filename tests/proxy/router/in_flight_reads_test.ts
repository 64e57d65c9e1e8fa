import assert from "node:assert/strict";
import type { NodeReply } from "../../../services/proxy/http_pool/reply_body.ts";
import { type Flight, InFlightReads } from "../../../services/proxy/router/in_flight_reads.ts";
import { cutAtMember } from "../../../services/proxy/json_text.ts";

/** As viem writes a read, with the id first, and as ethers does, with the id last. */
const STYLES = [
  (id: number, account: string) =>
    `{"jsonrpc":"2.0","id":${id},"method":"eth_getBalance","params":["${account}","latest"]}`,
  (id: number, account: string) =>
    `{"method":"eth_getBalance","params":["${account}","latest"],"id":${id},"jsonrpc":"2.0"}`,
];

const accounts = Array.from({ length: 1_000 }, (_, n) => `0x${n.toString(16).padStart(40, "0")}`);

function begin(reads: InFlightReads, text: string) {
  const cut = cutAtMember(text, "id");
  assert(cut !== undefined);
  return reads.begin(cut);
}

const resultOf = (id: number, account: string): NodeReply => ({
  status: 200,
  body: `{"jsonrpc":"2.0","id":${id},"result":"${account}"}`,
});

for (const [name, textOf] of [["first", STYLES[0]!], ["last", STYLES[1]!]] as const) {
  Deno.test(`InFlightReads: with the id ${name}, of 1,000 reads each equal one gets its own result`, async () => {
    const reads = new InFlightReads();
    const flights = accounts.map((account, n) => begin(reads, textOf(n, account)));
    const joined = accounts.map((account, n) => begin(reads, textOf(n + 5_000, account)));
    for (const [n, flight] of flights.entries()) {
      assert(flight !== undefined && !(flight instanceof Promise), "no two of them are equal");
      reads.land(flight, resultOf(n, accounts[n]!));
    }
    let shared = 0;
    for (const [n, answer] of joined.entries()) {
      if (!(answer instanceof Promise)) continue; // a newer read had taken its slot
      shared += 1;
      assert.deepEqual(await answer, resultOf(n + 5_000, accounts[n]!));
    }
    assert(shared > 600, `${shared} shared`);
  });
}

Deno.test("InFlightReads: what landed, or was forgotten, is joined no more", () => {
  const reads = new InFlightReads();
  const text = STYLES[0]!(1, accounts[1]!);
  const first = begin(reads, text) as Flight;
  reads.land(first, undefined);
  const second = begin(reads, text) as Flight;
  assert.notEqual(second, first);
  reads.forget();
  const third = begin(reads, text) as Flight;
  assert(!(third instanceof Promise));
  reads.land(second, undefined);
  assert(begin(reads, text) instanceof Promise, "the end of an older flight leaves the newer one");
  reads.land(third, undefined);
});

const outcomes: [name: string, reply: NodeReply | undefined, isShared: boolean][] = [
  ["a result", { status: 200, body: '{"result":null,"id":1}' }, true],
  ["a result in bytes", {
    status: 200,
    body: new TextEncoder().encode('{"result":null,"id":1}'),
  }, true],
  ["an error", { status: 200, body: '{"id":1,"error":{}}' }, false],
  ["a result and an error", { status: 200, body: '{"id":1,"result":1,"error":{}}' }, false],
  ["neither", { status: 200, body: '{"id":1}' }, false],
  ["another status", { status: 201, body: '{"id":1,"result":1}' }, false],
  ["nothing", undefined, false],
];
for (const [name, reply, isShared] of outcomes) {
  Deno.test(`InFlightReads: ${name} is ${isShared ? "" : "not "}shared`, async () => {
    const reads = new InFlightReads();
    const text = STYLES[0]!(1, accounts[1]!);
    const first = begin(reads, text) as Flight;
    const others = [1, 2].map((id) => begin(reads, STYLES[0]!(id, accounts[1]!)));
    reads.land(first, reply);
    const [same, other] = await Promise.all(others);
    assert.equal(same, isShared ? reply : undefined, "with the same id it is the same answer");
    const shown = isShared ? { status: 200, body: '{"result":null,"id":2}' } : undefined;
    assert.deepEqual(other, shown);
    assert(!(begin(reads, text) instanceof Promise), "it has landed");
  });
}

Deno.test("InFlightReads: a read with an id of over 64 characters is not shared", () => {
  const reads = new InFlightReads();
  const cut = { before: "{", after: "}" };
  assert.equal(reads.begin({ ...cut, value: "1".repeat(65) }), undefined);
  assert.notEqual(reads.begin({ ...cut, value: "1".repeat(64) }), undefined);
  assert(reads.begin({ ...cut, value: "2" }) instanceof Promise);
});
