/** When problems began and ended, as far as an open page has seen. */
import assert from "node:assert/strict";
import type { Finding } from "../../../../services/console/page/operator/finding.ts";
import {
  hadNoCause,
  newAlarmOf,
  pastOf,
  seenAfter,
  type SeenProblem,
  type SeenProblems,
} from "../../../../services/console/page/operator/problem_times.ts";

function findingOf(service: Finding["service"], more: Partial<Finding> = {}): Finding {
  const found = { severity: "critical", details: [], firstStep: "", chapter: "Stuck" } as const;
  return { service, text: "It is stuck", ...found, ...more };
}

/** The text of a problem whose cause may not have shown yet. */
const UNJUDGED = "It is stuck, perhaps because of another service";

const NOTHING: SeenProblems = { found: [], unchecked: [], ended: [] };
const node = findingOf("node");
const away = findingOf("node", { chapter: "ServiceDown" });

/** What is known after looks at services whose problems can be checked, unless they are named. */
function afterLooks(
  looks: readonly (readonly [atMs: number, ...findings: Finding[]])[],
  before = NOTHING,
  ...unchecked: Finding["service"][]
): SeenProblems {
  const isChecked = ({ service }: Pick<Finding, "service">) => !unchecked.includes(service);
  const isJudged = ({ text }: Finding) => text !== UNJUDGED;
  return looks.reduce(
    (seen, [atMs, ...found]) =>
      seenAfter(seen, found, { isChecked, isJudged, mayBeOlder: (one) => !isChecked(one) }, atMs),
    before,
  );
}

const startOf = ({ chapter }: Finding, { found }: SeenProblems) =>
  found.find((one) => one.chapter === chapter);

const times = (problems: readonly SeenProblem[]) =>
  problems.map(({ service, sinceMs, seenAtMs }) => [service, sinceMs, seenAtMs]);

Deno.test("seenAfter: a problem keeps its start, and is listed when it has ended, the last one first", () => {
  const first = afterLooks([[1_000, node], [5_000, node, findingOf("bridge")]]);
  assert.deepEqual(times(first.found), [["node", 1_000, 5_000], ["bridge", 5_000, 5_000]]);
  const bridge = findingOf("bridge");
  const ended = afterLooks([[6_000, bridge], [8_000, node, bridge], [9_000, node]], first).ended;
  assert.deepEqual(times(ended), [["bridge", 5_000, 8_000], ["node", 1_000, 5_000]]);
  const other = { ...node, chapter: "Slow" };
  assert.equal(startOf(other, afterLooks([[6_000, node, other]], first))?.sinceMs, 6_000);
  const again = afterLooks([[6_000], [7_000, node]], first);
  assert.equal(startOf(node, again)?.sinceMs, 7_000, "it is another one");
});

Deno.test("seenAfter: while a service cannot be checked, its problems neither end nor begin again", () => {
  const before = afterLooks([[1_000, node], [4_000, node]]);
  const meanwhile = afterLooks([[5_000], [900_000]], before, "node");
  assert.deepEqual(meanwhile, { found: [], unchecked: before.found, ended: [] });
  const after = afterLooks([[901_000, node]], meanwhile);
  assert.deepEqual(times(after.found), [["node", 1_000, 901_000]]);
  assert.deepEqual(times(afterLooks([[901_000]], meanwhile).ended), [["node", 1_000, 4_000]]);
});

Deno.test("hadNoCause: a problem that has lasted for 15 s without a cause is older than any later outage", () => {
  const isOlder = (...looks: Finding[]) =>
    hadNoCause(afterLooks(looks.map((one, at) => [at * 15_000, one])), node);
  assert(isOlder(node, node));
  assert(!isOlder(node), "its cause may be noticed later");
  const caused: Finding = { ...node, cause: "oracle" };
  assert(!isOlder(caused, caused));
  const unjudged = { ...node, text: UNJUDGED };
  assert(!isOlder(unjudged, unjudged));
  assert(!isOlder(node, node, away), "it has ended");
  const lasting = afterLooks([[1, node], [15_001, node]]);
  const unchecked = afterLooks([[15_009, away]], lasting, "node");
  assert(hadNoCause(unchecked, node), "it may have lasted");
});

Deno.test("pastOf: a problem may explain others until 20 s after its end", () => {
  const seen = afterLooks([[1_000, node], [5_000, node], [6_000]]);
  const endedAt = (nowMs: number) => pastOf(seen, nowMs).ended.map(({ service }) => service);
  assert.deepEqual(endedAt(25_000), ["node"]);
  assert.deepEqual(endedAt(25_001), []);
  const justNow = pastOf(afterLooks([[1_000, node], [5_000, node]]), 5_500);
  assert.deepEqual(justNow.ended.map(({ service }) => service), ["node"]);
});

Deno.test("seenAfter: a start reported by the service is taken; otherwise the first look, marked as possibly late", () => {
  const first = afterLooks([[9_000, node]], NOTHING, "node");
  const known = ({ found: [one] }: SeenProblems) => [one?.sinceMs, one?.mayBeOlder];
  assert.deepEqual(known(first), [9_000, true]);
  const later = afterLooks([[20_000, node]], first);
  assert.deepEqual(known(later), [9_000, true], "it was there at the first look");
  const told = afterLooks([[21_000, { ...node, sinceMs: 3_000 }]], later);
  assert.deepEqual(known(told), [3_000, false]);
  const next = { ...node, sinceMs: 15_000 };
  assert.deepEqual(known(afterLooks([[22_000, next]], told)), [3_000, false]);
});

Deno.test("seenAfter: an ended problem has the text of its worst moment", () => {
  const looks = [3, 9, 9, 1].map((excess, at) =>
    [1_000 * at, findingOf("node", { text: `${excess} at ${at}`, excess })] as const
  );
  const warning = findingOf("node", { text: "a warning", excess: 99, severity: "warning" });
  const { ended } = afterLooks([...looks, [8_000, warning], [9_000]]);
  assert.deepEqual(ended.map(({ worst }) => worst.text), ["9 at 1"]);
});

Deno.test("seenAfter: the list of ended problems has no late answers, no short problems and no consequences", () => {
  const endedWith = (...looks: Finding[]) =>
    afterLooks([...looks.map((one, at) => [9_000 + 3_000 * at, one] as const), [99_000]]).ended
      .length;
  const late = { ...away, severity: "warning" } as const;
  assert.deepEqual([endedWith(late, late), endedWith(late, away, late), endedWith(away)], [
    0,
    1,
    1,
  ]);
  assert.deepEqual([endedWith(node), endedWith(node, node)], [0, 1]);
  const following = { ...node, cause: "oracle" } as const;
  assert.deepEqual([endedWith(node, following), endedWith(following, node)], [0, 1]);
});

Deno.test("seenAfter: only the last 20 problems are listed", () => {
  const looks = Array.from(
    { length: 42 },
    (_, at) =>
      at % 2 === 0
        ? [4_000 * at, { ...node, sinceMs: 4_000 * at - 3_000 }] as const
        : [4_000 * at] as const,
  );
  const { ended } = afterLooks(looks);
  const starts = ended.map(({ seenAtMs }) => seenAtMs / 4_000);
  assert.deepEqual([starts.length, starts[0], starts.at(-1)], [20, 40, 2]);
});

Deno.test("newAlarmOf: a problem is a new alarm once, when it is critical and has no other cause", () => {
  const warning = { ...node, severity: "warning" } as const;
  const following = { ...node, cause: "oracle" } as const;
  const unjudged = { ...node, text: UNJUDGED };
  const cases = [
    [[unjudged], false],
    [[unjudged, node], true],
    [[node], true],
    [[node, node], false],
    [[warning, node], true],
    [[following, node], true],
    [[node, warning], false],
    [[node, warning, node], false],
    [[following], false],
  ] as const;
  for (const [looks, expected] of cases) {
    const last = looks.at(-1)!;
    const before = afterLooks(looks.slice(0, -1).map((one, at) => [at, one] as const));
    const after = afterLooks([[9, last]], before);
    assert.equal(newAlarmOf(after, before) !== undefined, expected);
  }
});
