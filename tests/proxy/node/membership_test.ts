import assert from "node:assert/strict";
import { membershipDecision, type RoundReport } from "../../../services/proxy/node/read_node.ts";

const NOW_S = 1_000;

function report(number?: number, agoS = 0, counts = { reads: 0, errors: 0 }): RoundReport {
  const head = number === undefined ? undefined : { number, timestampS: NOW_S - agoS };
  return { isUp: true, headThisRound: head, headLastRound: head, ...counts };
}

const decision = (own: RoundReport, others: RoundReport[], maxLag = 0) =>
  membershipDecision(own, others, { maxLag, nowMs: NOW_S * 1_000 });

type Age = [number: number, agoS?: number];

Deno.test("membershipDecision: lag is measured against the second-highest head, or against the other one of two nodes", () => {
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
    assert.deepEqual(
      decision(report(...own), others.map((other) => report(...other))),
      { fault, roundsRequired: 3, isUrgent: false },
      `${own} ${others}`,
    );
  }
  const others = [report(12), report(12)];
  assert.equal(decision(report(10), others, 2)?.fault, undefined, "as much as is allowed");
  const ahead = { ...report(10), headLastRound: report(20).headThisRound };
  assert.equal(decision(report(12), [ahead, ahead])?.fault, "it is 8 blocks behind");
  assert.equal(decision(report(20), [ahead, ahead])?.fault, undefined, "the round before counts");
});

Deno.test("membershipDecision: a head far above two other living nodes is an urgent fault", () => {
  const rows: [own: number, others: number[], maxLag: number, isFault: boolean][] = [
    [132, [100, 90], 3, false],
    [133, [100, 90], 3, true],
    [140, [100, 90], 4, false],
    [141, [100, 90], 4, true],
    [9_000, [100], 3, false],
  ];
  for (const [own, others, maxLag, isFault] of rows) {
    const found = decision(report(own), others.map((other) => report(other)), maxLag);
    const above = {
      fault: `it is ${own - 100} blocks above all others`,
      roundsRequired: 2,
      isUrgent: true,
    };
    const keepsUp = { fault: undefined, roundsRequired: 3, isUrgent: false };
    assert.deepEqual(found, isFault ? above : keepsUp, `${own} ${others}`);
  }
  const returned = { ...report(100), isUp: false };
  assert.equal(decision(report(133), [returned, report(100)])?.fault, undefined, "one is back");
});
