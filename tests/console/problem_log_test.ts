/** When problems began and ended, and the commands that end some. */
import assert from "node:assert/strict";
import { formatTime } from "../../services/console/page/format.ts";
import {
  endedOf,
  logged,
  type ProblemRecord,
  recordOf,
  storedRecords,
  storeRecords,
} from "../../services/console/page/operator/problem_log.ts";
import type { Finding } from "../../services/console/page/operator/problems.ts";
import { betRepair, gapOf, marketRepair } from "../../services/console/page/operator/repairs.ts";
import { memoryStore } from "./memory_store.ts";
import { thesisOf } from "./offers.ts";

function findingOf(service: Finding["service"], more: Partial<Finding> = {}): Finding {
  const found = {
    severity: "critical",
    details: [],
    firstStep: "",
    chapter: "ServiceDown",
  } as const;
  return { service, text: "It does not answer", ...found, mayBeOlder: false, ...more };
}

const [node, bridge] = [findingOf("node"), findingOf("bridge")];
const times = (records: readonly ProblemRecord[]) =>
  records.map(({ service, sinceMs, lastSeenMs }) => [service, sinceMs, lastSeenMs]);

Deno.test("Problem log: a problem keeps the time of its beginning, and is remembered when it has ended", () => {
  let records = logged([], [node], 1_000);
  records = logged(records, [node, bridge], 5_000);
  assert.deepEqual(times(records), [["node", 1_000, 5_000], ["bridge", 5_000, 5_000]]);
  records = logged(records, [bridge], 20_000);
  assert.deepEqual(endedOf(records, 20_000), [], "it may be back within 15 s");
  assert.deepEqual(times(endedOf(records, 20_001)), [["node", 1_000, 5_000]]);
  records = logged(records, [node, bridge], 60_000);
  assert.equal(recordOf(records, node, 60_000)?.sinceMs, 60_000, "a second time");
  assert.deepEqual(times(endedOf(records, 60_000)).length, 2);
});

Deno.test("Problem log: a short absence, such as while the page is loaded again, ends nothing", () => {
  const store = memoryStore();
  storeRecords(store, logged([], [node], 1_000));
  const records = logged(storedRecords(store), [{ ...node, mayBeOlder: true }], 16_000);
  assert.deepEqual(times(records), [["node", 1_000, 16_000]]);
  assert.equal(records[0]?.mayBeOlder, false);
  store.setItem("rangemaker.problems", "[{}]");
  assert.deepEqual(storedRecords(store), []);
});

Deno.test("Problem log: the time that the services name wins; what only followed is not listed as ended", () => {
  const older = logged([], [findingOf("node", { mayBeOlder: true })], 9_000);
  assert.equal(older[0]?.mayBeOlder, true);
  const named = findingOf("node", { mayBeOlder: true, sinceMs: 3_000 });
  const [record] = logged(older, [named], 10_000);
  assert.deepEqual([record?.sinceMs, record?.mayBeOlder], [3_000, false]);
  const following = logged([], [findingOf("solver", { cause: "node" })], 1_000);
  assert.deepEqual(endedOf(following, 99_000), []);
  let itsOwn = logged(following, [findingOf("solver")], 2_000);
  itsOwn = logged(itsOwn, [findingOf("solver", { cause: "node" })], 12_000);
  assert.equal(endedOf(itsOwn, 99_000).length, 1);
  let early = logged([], [findingOf("solver")], 1_000);
  early = logged(early, [findingOf("solver", { cause: "node" })], 11_000);
  early = logged(early, [findingOf("solver", { cause: "node" })], 12_000);
  assert.deepEqual(endedOf(early, 99_000), [], "the cause was noticed seconds later");
});

Deno.test("Problem log: an ended problem keeps the worst state it had", () => {
  let records: ProblemRecord[] = [];
  for (const [at, extent] of [3, 9, 9, 1].entries()) {
    const found = findingOf("node", { text: `${extent} at ${at}`, extent });
    records = logged(records, [found], 1_000 * at);
  }
  assert.deepEqual(endedOf(records, 99_000).map(({ text }) => text), ["9 at 2"]);
});

Deno.test("Problem log: the oldest records are forgotten", () => {
  let records: ProblemRecord[] = [];
  for (let at = 0; at < 210; at++) records = logged(records, [node], at * 20_000);
  assert.deepEqual([records.length, records[0]?.sinceMs], [200, 209 * 20_000]);
});

Deno.test("Repairs: missing prices come with their times, the next end of a bet, and a command that stays", () => {
  const bets = [thesisOf(1, { startTime: 2_000, endTime: 9_000 }), thesisOf(2, { endTime: 7_000 })];
  const missing = [{ from: 2_500, to: 2_600 }, { from: 4_000, to: 5_000 }];
  const gap = { symbol: "A/B", bets, missing };
  const repair = marketRepair([gap, { ...gap, missing: [] }]);
  const span = `from ${formatTime(2_500)} to ${formatTime(5_000)}`;
  assert.equal(repair?.details[0], `A/B: ${span}; its next bet ends at ${formatTime(7_000)}`);
  assert.match(repair?.details[1] ?? "", /--max-carry-ms 60000/);
  assert.deepEqual(repair?.commands, [
    "deno task -q backfill --market A/B --from 1970-01-01T00:00:02.500Z --to 1970-01-01T00:00:05.000Z",
  ]);
  assert.equal(repair?.sinceMs, 2_500);
  assert.match(
    marketRepair([gap], "http://e:1")?.commands[0] ?? "",
    / --history-url http:\/\/e:1$/,
  );
  assert.equal(marketRepair([{ ...gap, missing: [] }]), undefined);
});

Deno.test("Repairs: bets that wait are named, five at a time", () => {
  const bets = [3, 4, 5, 6, 7, 8].map((id) => thesisOf(id, { endTime: 1_000 * id }));
  const isFilled = () => false;
  const repair = betRepair(bets, isFilled, "http://e:1");
  assert.equal(repair?.commands.length, 5);
  assert.equal(repair?.commands[0], "deno task -q backfill --thesis 3 --history-url http://e:1");
  assert.match(repair?.details[0] ?? "", /^1 more bet will/);
  assert.equal(repair?.sinceMs, 3_000);
  assert.match(repair?.firstStep ?? "", /RANGEMAKER_BACKFILL_PRIVATE_KEY/);
  assert.equal(betRepair([], isFilled), undefined);
  assert.deepEqual(betRepair(bets, ({ id }) => id !== 4)?.commands, [
    "deno task -q backfill --thesis 4",
  ]);
});

Deno.test("Repairs: bets whose prices the commands of their market fill have none of their own", () => {
  const repair = betRepair([thesisOf(3, { endTime: 3_000 })], () => true);
  assert.match(repair?.firstStep ?? "", /they settle these bets, too/);
  assert.deepEqual([repair?.commands, repair?.sinceMs], [[], 3_000]);
});

Deno.test("Repairs: a gap is looked for from the first start of a bet, open or ended, until now", async () => {
  const asked: unknown[] = [];
  const client = {
    theses: () => assert.fail(),
    history: (...given: unknown[]) => {
      asked.push(given);
      return Promise.resolve({ prices: [], missing: [{ from: 1, to: 2 }] });
    },
  };
  const bets = [thesisOf(1, { startTime: 5 }), thesisOf(2, { startTime: 3 })];
  assert.deepEqual((await gapOf(client, "A/B", bets, [], 9)).missing, [{ from: 1, to: 2 }]);
  const ended = [thesisOf(3, { startTime: 2 })];
  assert.deepEqual((await gapOf(client, "A/B", bets, ended, 9)).bets, bets);
  assert.deepEqual(asked, [["A/B", 3, 9], ["A/B", 2, 9]]);
});
