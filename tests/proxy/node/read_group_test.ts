import assert from "node:assert/strict";
import {
  type Candidate,
  type Fault,
  groupAfter,
  membershipDecision,
  type RoundReport,
} from "../../../services/proxy/node/read_group.ts";

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
    const reason = `it is ${behind} blocks behind`;
    const fault = behind > 0 ? { reason, isUrgent: false } : undefined;
    assert.deepEqual(
      decision(report(...own), others.map((other) => report(...other))),
      { fault, roundsRequired: 3 },
      `${own} ${others}`,
    );
  }
  const others = [report(12), report(12)];
  assert.equal(decision(report(10), others, 2)?.fault, undefined, "as much as is allowed");
  const ahead = { ...report(10), headLastRound: report(20).headThisRound };
  assert.equal(decision(report(12), [ahead, ahead])?.fault?.reason, "it is 8 blocks behind");
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
      fault: { reason: `it is ${own - 100} blocks above all others`, isUrgent: true },
      roundsRequired: 2,
    };
    const keepsUp = { fault: undefined, roundsRequired: 3 };
    assert.deepEqual(found, isFault ? above : keepsUp, `${own} ${others}`);
  }
  const returned = { ...report(100), isUp: false };
  assert.equal(decision(report(133), [returned, report(100)])?.fault, undefined, "one is back");
});

type Node = Omit<Candidate, "index">;

/** A node that answers in `tookMs`, and whose head is known unless `number` is undefined. */
function candidate(tookMs: number, number?: number, isDead = false): Node {
  return { isDead, tookMs, head: number === undefined ? undefined : { number, timestampS: 0 } };
}

const FAULT: Fault = { reason: "it is slow", isUrgent: false };
const URGENT: Fault = { reason: "it is dead", isUrgent: true };

Deno.test("groupAfter: removes nodes with a fault, replaces the leader, and keeps only the leader if all have a fault", () => {
  const [fast, slow, dead] = [candidate(1, 9), candidate(50, 9), candidate(0, 9, true)];
  const [unknown, far] = [candidate(0), candidate(90, 20)];
  const rows: {
    because: string;
    nodes: Node[];
    members?: number[];
    found: [number, Fault | undefined][];
    isLeaderNew?: boolean;
    after: [leader: number, ...members: number[]];
  }[] = [
    { because: "nothing found", nodes: [fast, slow], found: [], after: [0, 0, 1] },
    {
      because: "another node",
      nodes: [slow, slow, fast],
      found: [[1, URGENT]],
      after: [0, 0, 2],
    },
    {
      because: "the fastest of the others leads",
      nodes: [fast, slow, fast],
      found: [[0, FAULT]],
      after: [2, 1, 2],
    },
    {
      because: "the next one may not be one with a fault of its own",
      nodes: [fast, fast, slow],
      found: [[0, FAULT], [1, FAULT]],
      after: [2, 2],
    },
    {
      because: "a head is worth more than speed",
      nodes: [fast, unknown, slow],
      found: [[0, FAULT]],
      after: [2, 1, 2],
    },
    {
      because: "a dead member cannot lead",
      nodes: [fast, dead],
      found: [[0, FAULT]],
      after: [0, 1],
    },
    {
      because: "a new leader stays",
      nodes: [fast, slow],
      found: [[0, FAULT]],
      isLeaderNew: true,
      after: [0, 1],
    },
    {
      because: "unless its fault is urgent",
      nodes: [fast, slow],
      found: [[0, URGENT]],
      isLeaderNew: true,
      after: [1, 1],
    },
    {
      because: "all have a fault",
      nodes: [fast, slow],
      found: [[0, FAULT], [1, FAULT]],
      after: [0, 0],
    },
    {
      because: "all have a fault, and the leader was removed before",
      nodes: [fast, slow, slow],
      members: [1, 2],
      found: [[1, FAULT], [2, FAULT]],
      after: [0, 1],
    },
    {
      because: "nothing better than the last one",
      nodes: [fast, slow],
      members: [0],
      found: [[0, FAULT]],
      after: [0, 0],
    },
    {
      because: "of removed nodes, the one furthest ahead is better than a dead one",
      nodes: [dead, unknown, fast, far],
      members: [0],
      found: [[0, URGENT]],
      after: [3, 3],
    },
    {
      because: "a removed node is better than a leader whose answers are wrong",
      nodes: [far, fast],
      members: [0],
      found: [[0, URGENT]],
      after: [1, 1],
    },
    {
      because: "a node whose head is unknown leads if there is no other",
      nodes: [fast, unknown],
      found: [[0, FAULT]],
      after: [1, 1],
    },
    {
      because: "no node answers",
      nodes: [dead, dead],
      members: [0],
      found: [[0, URGENT]],
      after: [0, 0],
    },
    {
      because: "a removed leader leads until another one can",
      nodes: [slow, fast],
      members: [1],
      found: [[0, FAULT]],
      after: [1, 1],
    },
    {
      because: "a node is back",
      nodes: [slow, fast],
      members: [0],
      found: [[1, undefined]],
      after: [0, 0, 1],
    },
  ];
  for (
    const { because, nodes, members = nodes.keys(), found, isLeaderNew = false, after } of rows
  ) {
    const candidates = nodes.map((node, index) => ({ ...node, index }));
    const before = [...members];
    const group = { leader: 0, members: new Set(before) };
    const next = groupAfter(new Map(found), group, candidates, { isLeaderNew, random: () => 0 });
    assert.deepEqual([next.leader, ...[...next.members].sort()], after, because);
    assert.deepEqual([...group.members], before, "it is not changed");
  }
});
