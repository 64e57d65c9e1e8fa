import assert from "node:assert/strict";
import { faultOf, headOf } from "../../../services/proxy/node/read_node.ts";

const NOW_S = 1_000;

type Age = [number: number, agoS?: number];

const blockOf = ([number, agoS = 0]: Age) => ({ number, timestampS: NOW_S - agoS });

const faultAt = (own: Age, others: Age[], maxLag = 0, counts = { reads: 0, errors: 0 }) => {
  const heads = others.map(blockOf);
  const limits = { maxLag, nowMs: NOW_S * 1_000 };
  return faultOf({ head: blockOf(own), ...counts }, { lastRound: heads, newest: heads }, limits);
};

Deno.test("faultOf: lag is measured against the second-highest head, or against the other one of two nodes", () => {
  const rows: [own: Age, others: Age[], behind: number][] = [
    [[10], [], 0],
    [[10], [[12], [14]], 2],
    [[10], [[12], [1_000_000]], 2],
    [[14], [[12], [10]], 0],
    [[12], [[12], [10]], 0],
    [[10], [[11], [12], [13]], 2],
    [[10, 2], [[12]], 2],
    [[10, 1.9], [[12]], 0],
    [[10, 0], [[12]], 0],
    [[12], [[10, 9]], 0],
    // A time in the future is treated as now.
    [[10, 1], [[12, -9]], 0],
    [[10, 2], [[12, -9]], 2],
  ];
  for (const [own, others, behind] of rows) {
    const fault = behind > 0 ? `it is ${behind} blocks behind` : undefined;
    assert.equal(faultAt(own, others), fault, `${own} ${others}`);
  }
  assert.equal(faultAt([10], [[12], [12]], 2), undefined, "as much as is allowed");
});

Deno.test("faultOf: a head far above two other nodes is a fault", () => {
  const rows: [own: number, others: number[], maxLag: number, isFault: boolean][] = [
    [132, [100, 90], 3, false],
    [133, [100, 90], 3, true],
    [170, [100, 90], 7, false],
    [171, [100, 90], 7, true],
    [9_000, [100], 3, false],
  ];
  for (const [own, others, maxLag, isFault] of rows) {
    const fault = isFault ? `it is ${own - 100} blocks above all others` : undefined;
    assert.equal(faultAt([own], others.map((number) => [number]), maxLag), fault, `${own}`);
  }
});

Deno.test("faultOf: failing half of ten or more reads is a fault", () => {
  const fault = (reads: number, errors: number) => faultAt([1], [], 3, { reads, errors });
  assert.deepEqual([fault(9, 9), fault(21, 10), fault(10, 5)], [
    undefined,
    undefined,
    "5 of 10 reads failed",
  ]);
});

Deno.test("headOf: reads number and timestamp of a head, undefined for anything else", () => {
  assert.deepEqual(headOf({ number: "0xA", timestamp: "0x6921a1b3", more: 1 }), {
    number: 10,
    timestampS: 0x6921a1b3,
  });
  for (const timestamp of [undefined, 7, "now", "0x"]) {
    assert.deepEqual(headOf({ number: "0x0", timestamp }), { number: 0, timestampS: 0 });
  }
  const numbers = [undefined, null, 10, "10", "0x", "0xg", "0x1 ", " 0x1", `0x${"1".repeat(17)}`];
  for (const number of [...numbers, {}]) assert.equal(headOf({ number }), undefined);
  for (const block of [undefined, null, "0x1", 7, []]) assert.equal(headOf(block), undefined);
});
