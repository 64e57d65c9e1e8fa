/** When problems began and ended, and the commands that end some. */
import assert from "node:assert/strict";
import {
  asLogged,
  causeText,
  endedOf,
  type ProblemRecord,
  recordOf,
  stillCounted,
  storedRecords,
  storeRecords,
  updatedLog,
} from "../../services/console/page/operator/problem_log.ts";
import type { Finding } from "../../services/console/page/operator/finding.ts";
import {
  betRepair,
  betsOf,
  gapOf,
  marketRepair,
} from "../../services/console/page/operator/repairs.ts";
import { formatTime } from "../../services/console/page/format.ts";
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
  records.map(({ service, sinceMs, lastMs }) => [service, sinceMs, lastMs]);

/** The records after looks at services that all answer. */
function log(
  looks: readonly (readonly [atMs: number, ...findings: Finding[]])[],
  before: ProblemRecord[] = [],
): ProblemRecord[] {
  return looks.reduce(
    (records, [atMs, ...found]) => updatedLog(records, found, () => true, atMs),
    before,
  );
}

Deno.test("Problem log: a problem keeps its start time, and is listed as ended when it ends", () => {
  let records = log([[1_000, node], [5_000, node, bridge]]);
  assert.deepEqual(times(records), [["node", 1_000, 5_000], ["bridge", 5_000, 5_000]]);
  assert.deepEqual(endedOf(records), []);
  records = log([[6_000, bridge]], records);
  assert.deepEqual(times(endedOf(records)), [["node", 1_000, 5_000]]);
  records = log([[7_000, node, bridge]], records);
  assert.equal(recordOf(records, node, 7_000)?.sinceMs, 7_000, "a second time");
  assert.deepEqual(times(endedOf(records)), [["node", 1_000, 5_000]]);
});

Deno.test("Problem log: an incident that starts seconds after another has its own row, start and figure", () => {
  const at = (time: string) => Date.parse(`2026-11-26T${time}Z`);
  const missing = (count: number, since: string, cause?: "exchanges") =>
    findingOf("node", {
      ...{ chapter: "NodePricesMissing", text: `${count} checkpoints`, extent: count },
      ...{ sinceMs: at(since), ...(cause && { cause }) },
    });
  const unsettled = (count: number, since?: string, cause?: "oracle") =>
    findingOf("node", {
      ...{ chapter: "NodeNeedsBackfill", text: `${count} unsettled`, extent: count },
      ...(since && { sinceMs: at(since) }),
      ...(cause && { cause }),
    });
  const records = log([
    [at("03:55:57"), unsettled(1, undefined, "oracle")],
    [at("03:56:08"), unsettled(2, "03:55:57", "oracle")],
    // The first of these bets was settled: the others have ended later.
    [at("03:56:20"), unsettled(3, "03:56:08")],
    [at("03:56:29"), unsettled(3, "03:56:08")],
    [at("03:56:35"), missing(90, "03:56:33")],
    [at("03:57:50"), missing(251, "03:56:33")],
    [at("03:57:52"), missing(251, "03:56:33")],
    [at("03:57:54")],
    [at("03:58:00"), missing(20, "03:57:58", "exchanges")],
    [at("03:58:07"), missing(79, "03:57:58")],
    [at("03:59:30"), missing(79, "03:57:58")],
    [at("04:00:36"), missing(30, "03:57:58")],
    [at("04:00:38")],
  ]);
  const lines = endedOf(records).map(({ text, sinceMs, lastMs }) =>
    [sinceMs, lastMs].map((ms) => new Date(ms).toISOString().slice(11, 19)).concat(text)
  );
  assert.deepEqual(lines, [
    ["03:57:58", "04:00:36", "79 checkpoints"],
    ["03:56:33", "03:57:52", "251 checkpoints"],
    ["03:55:57", "03:56:29", "3 unsettled"],
  ]);
});

Deno.test("Problem log: a problem does not end while its service is away", () => {
  const full = findingOf("node", { chapter: "NodeStorageFailed" });
  const isVisible = ({ chapter }: ProblemRecord) => chapter === "ServiceDown";
  let records = log([[1_000, full]]);
  records = updatedLog(records, [node], isVisible, 2_000);
  records = updatedLog(records, [node], isVisible, 100_000);
  records = updatedLog(records, [node], isVisible, 200_000);
  assert.deepEqual(endedOf(records), []);
  records = log([[201_000, full]], records);
  assert.equal(recordOf(records, full, 201_000)?.sinceMs, 1_000);
  assert.deepEqual(endedOf(records).map(({ chapter }) => chapter), ["ServiceDown"]);
});

Deno.test("Problem log: a problem continues across a reload, but is new if the page was closed for over two minutes", () => {
  const store = memoryStore();
  storeRecords(store, log([[1_000, node]]));
  const again = { ...node, mayBeOlder: true };
  const [record] = log([[121_000, again]], storedRecords(store));
  assert.deepEqual([record?.sinceMs, record?.mayBeOlder], [1_000, false]);
  const later = log([[121_001, again]], storedRecords(store));
  assert.deepEqual(times(later), [["node", 121_001, 121_001], ["node", 1_000, 1_000]]);
  assert.deepEqual(times(later.filter(({ endedMs }) => endedMs !== undefined)), [[
    "node",
    1_000,
    1_000,
  ]]);
  const named = { ...again, sinceMs: 900 };
  assert.deepEqual(times(log([[300_000, again], [301_000, named]], storedRecords(store))), [
    ["node", 900, 301_000],
  ], "the services say that it is the same");
  store.setItem("rangemaker.problems", "[{}]");
  assert.deepEqual(storedRecords(store), []);
});

Deno.test("Problem log: uses the services' own start time; consequences are not listed as ended", () => {
  const older = log([[9_000, findingOf("node", { mayBeOlder: true })]]);
  assert.equal(older[0]?.mayBeOlder, true);
  const [record] = log([[10_000, findingOf("node", { mayBeOlder: true, sinceMs: 3_000 })]], older);
  assert.deepEqual([record?.sinceMs, record?.mayBeOlder], [3_000, false]);
  const [own, following] = [findingOf("solver"), findingOf("solver", { cause: "node" })];
  assert.deepEqual(endedOf(log([[1_000, following], [2_000]])), []);
  const itsOwn = log([[1_000, following], [2_000, own], [12_000, following], [13_000]]);
  assert.equal(endedOf(itsOwn).length, 1);
  const early = log([[1_000, own], [11_000, following], [12_000, following], [13_000]]);
  assert.deepEqual(endedOf(early), [], "the cause was noticed seconds later");
});

Deno.test("Problem log: a problem that returns within 30 s keeps its row; one that lasts under a second is not listed", () => {
  const full = (extent: number) =>
    findingOf("solver", { chapter: "SolverExposureFull", text: `${extent} %`, extent, afterS: 5 });
  const records = log([
    ...[[0, full(96)], [4_000, full(99)], [6_000], [20_000, full(97)], [31_000, full(97)]] as const,
    ...[[33_000], [61_001, full(98)], [61_500]] as const,
  ]);
  assert.deepEqual(
    endedOf(records).map((
      { text, sinceMs, lastMs, hasAlerted },
    ) => [text, sinceMs, lastMs, hasAlerted]),
    [["99 %", 0, 31_000, true]],
  );
});

Deno.test("Problem log: a gap after another one, which is found when its node is back, has its own row and figure", () => {
  const missing = (count: number, sinceMs?: number) =>
    findingOf("node", {
      ...{ chapter: "NodePricesMissing", text: `${count} checkpoints`, extent: count },
      ...(sinceMs !== undefined && { sinceMs }),
    });
  // Filled at 19 s; the node is frozen from 20 s to 200 s.
  let records = log([[5_000, missing(40)], [8_000, missing(70, 2_000)], [
    18_500,
    missing(98, 2_000),
  ]]);
  for (const atMs of [25_000, 100_000, 199_000]) {
    records = updatedLog(records, [node], ({ chapter }) => chapter === "ServiceDown", atMs);
  }
  records = log([
    ...[[201_000, missing(1_900)], [204_000, missing(1_965, 20_000)]] as const,
    ...[[230_000, missing(1_965, 20_000)], [232_000]] as const,
  ], records);
  const rows = endedOf(records).filter(({ chapter }) => chapter === "NodePricesMissing");
  assert.deepEqual(rows.map(({ text, sinceMs, lastMs }) => [text, sinceMs, lastMs]), [
    ["1965 checkpoints", 20_000, 230_000],
    ["98 checkpoints", 2_000, 18_500],
  ]);
  // The next gap changes nothing of one that ended while its node was away.
  const filled = updatedLog(log([[5_000, missing(40, 2_000)]]), [node], () => false, 90_000);
  const next = log([[91_000], [95_000, missing(5, 94_000)], [98_000, missing(5, 94_000)]], filled);
  const spans = next.filter(({ chapter }) => chapter === "NodePricesMissing");
  assert.deepEqual(times(spans), [["node", 94_000, 98_000], ["node", 2_000, 90_000]]);
});

Deno.test("Problem log: figures beyond their bounds before and after an outage begins are two rows", () => {
  const stale = findingOf("node", { chapter: "NodePricesStale", afterS: 0 });
  const rowsWith = (oracle: Finding) => {
    const records = log([
      ...[[0, stale], [9_000, stale], [10_000], [12_000, oracle], [14_000, oracle, stale]] as const,
      ...[[30_000, oracle, stale], [31_000]] as const,
    ]);
    return endedOf(records).filter(({ chapter }) => chapter === "NodePricesStale").length;
  };
  assert.equal(rowsWith(findingOf("oracle")), 2);
  assert.equal(rowsWith(findingOf("oracle", { chapter: "OracleFewSources" })), 1);
  assert.equal(rowsWith(findingOf("oracle", { sinceMs: 8_000 })), 1, "it began during the first");
});

Deno.test("Problem log: an end that one tab has seen is an end, whatever a slower tab has read before", () => {
  const stale = (atMs: number) =>
    findingOf("node", { chapter: "NodePricesStale", afterS: 15, atMs });
  const records = log([[26_000, stale(26_000)], [32_000, stale(31_000)]]);
  assert.deepEqual(times(records), [["node", 26_000, 31_000]], "its figures are of then");
  const ended = log([[35_000]], records);
  const late = log([[43_000, stale(34_999)]], ended);
  assert.deepEqual(late, ended);
  assert.deepEqual(endedOf(late).map(({ hasAlerted }) => hasAlerted), [false]);
  assert.equal(log([[43_000, stale(42_000)]], ended).length, 2, "it is back");
});

Deno.test("Problem log: what an outage caused is below it, with its cause; problems too short for an alert are blips", () => {
  const oracle = findingOf("oracle", { afterS: 30 });
  const proxy = findingOf("proxy", { afterS: 30 });
  const stale = findingOf("node", { chapter: "NodePricesStale", afterS: 15, cause: "oracle" });
  const health = findingOf("solver", { chapter: "Health and readiness" });
  const gap = findingOf("node", { chapter: "NodePricesMissing", afterS: 0, sinceMs: 2_000 });
  const records = log([
    ...[[0, oracle], [3_000, oracle, stale], [40_000, oracle, stale]] as const,
    ...[[41_000, stale, gap], [42_000, proxy, health], [52_000, proxy, health], [
      53_000,
      health,
    ]] as const,
    ...[[58_000, health], [60_000]] as const,
  ]);
  const rows = endedOf(records);
  assert.deepEqual(rows.map((one) => [one.service, one.cause, one.isBlip]), [
    ["solver", undefined, false],
    ["proxy", undefined, true],
    ["oracle", undefined, false],
    ["node", "oracle", false],
    ["node", "oracle", false],
  ]);
});

Deno.test("Problem log: a service is away until it answers, however long ago it was asked", () => {
  const away = { ...node, afterS: 30 };
  const records = log([[0, { ...away, atMs: 0 }], [31_000, { ...away, atMs: 24_000 }], [33_000]]);
  assert.deepEqual(endedOf(records).map((one) => [one.lastMs, one.hasAlerted]), [[31_000, true]]);
});

Deno.test("Problem log: what an alert still counts stays after a reload, until it counts it no longer", () => {
  const missed = findingOf("node", {
    ...{ chapter: "NodeCheckpointsMissed", severity: "warning", text: "455 checkpoints" },
    ...{ afterS: 0, countedMs: 600_000, cause: "node" },
  });
  const before = log([[1_000, missed]]);
  const after = updatedLog(before, [], () => false, 61_000);
  const [counted] = stillCounted(after, [], 61_000);
  assert.deepEqual([counted?.text, counted?.cause, counted?.afterS], [
    "455 checkpoints",
    "node",
    0,
  ]);
  assert.match(counted?.details[0] ?? "", new RegExp(`until ${formatTime(601_000)}\\.$`));
  const failed = findingOf("bridge", { chapter: "BridgeDepositsFail", countedMs: 600_000 });
  const alarmsAfter = (one: Finding) =>
    updatedLog(log([[1_000, one]]), [], () => false, 61_000).map(({ isAlarm }) => isAlarm);
  assert.deepEqual([failed, bridge, missed].map(alarmsAfter), [[true], [false], [false]]);
  assert.deepEqual(stillCounted(log([[1_000, bridge]]), [], 2_000), [], "it counts nothing");
  assert.deepEqual(stillCounted(after, [missed], 61_000), [], "it is counted again");
  assert.deepEqual(stillCounted(log([[62_000]], after), [], 62_000), [], "its end was seen");
  assert.equal(stillCounted(updatedLog(after, [], () => false, 180_000), [], 180_000).length, 1);
  const late = [61_000, 160_000, 260_000, 360_000, 460_000, 560_000, 601_000]
    .reduce((records, atMs) => updatedLog(records, [], () => false, atMs), before);
  assert.deepEqual(stillCounted(late, [], 601_000), []);
});

Deno.test("Problem log: below an outage is only what began during it or seconds later", () => {
  const oracle = findingOf("oracle", { afterS: 30 });
  const rowsWith = (one: Finding) =>
    endedOf(log([
      ...[[50_000, oracle], [90_000, oracle], [one.sinceMs ?? 0, one]] as const,
      ...[[190_000, one], [191_000]] as const,
    ])).map(({ service, cause }) => `${service} ${cause}`);
  const gap = (sinceMs: number) =>
    findingOf("node", { chapter: "NodePricesMissing", afterS: 0, sinceMs });
  for (const sinceMs of [41_000, 60_000, 119_000]) {
    assert.deepEqual(rowsWith(gap(sinceMs)), ["oracle undefined", "node oracle"], `${sinceMs}`);
  }
  for (const sinceMs of [39_000, 121_000]) {
    assert.deepEqual(rowsWith(gap(sinceMs)), ["node undefined", "oracle undefined"], `${sinceMs}`);
  }
  const other = findingOf("bridge", { chapter: "BridgeRetrying", afterS: 0, sinceMs: 60_000 });
  assert.deepEqual(rowsWith(other), ["bridge undefined", "oracle undefined"]);
});

Deno.test("Problem log: a problem without an alert is a blip below 15 s", () => {
  const health = findingOf("solver", { chapter: "Health and readiness" });
  const isBlipAfter = (ms: number) =>
    endedOf(log([[20_000, health], [20_000 + ms, health], [90_000]])).map(({ isBlip }) => isBlip);
  assert.deepEqual([14_999, 15_000].map(isBlipAfter), [[true], [false]]);
});

Deno.test("Repairs: bets are read until there are enough", async () => {
  const pages = [1, 2, 3].map((id) => ({
    theses: [thesisOf(id), thesisOf(10 + id)],
    nextCursor: null,
  }));
  const client = {
    async *theses({ status }: { status?: string } = {}) {
      assert.equal(status, "open");
      for (const page of pages) yield await Promise.resolve(page);
    },
    history: () => assert.fail(),
  };
  const read = async (enough?: number) => (await betsOf(client, "open", enough)).length;
  assert.deepEqual([await read(), await read(4), await read(3)], [6, 4, 4]);
});

Deno.test("Problem log: two outages seconds apart are two rows, each with its alert", () => {
  const away = { ...node, afterS: 30 };
  const records = log([
    ...[[0, { ...away, sinceMs: 0 }], [17_000, { ...away, sinceMs: 0 }], [18_000]] as const,
    [35_000, { ...away, sinceMs: 32_000 }],
    [62_000, { ...away, sinceMs: 32_000 }],
    [63_000],
  ]);
  assert.deepEqual(
    endedOf(records).map(({ sinceMs, lastMs, hasAlerted }) => [sinceMs, lastMs, hasAlerted]),
    [[32_000, 62_000, true], [0, 17_000, false]],
  );
});

Deno.test("Problem log: a service that is not ready around its own outage is one row", () => {
  const unready = { ...bridge, chapter: "Health and readiness" };
  const rowsOf = (...looks: Parameters<typeof log>[0]) =>
    endedOf(log(looks)).map(({ chapter }) => chapter);
  const outage = [[20_000, bridge], [25_000, bridge], [26_000, unready], [
    30_000,
    unready,
  ]] as const;
  assert.deepEqual(rowsOf(...outage, [31_000]), ["ServiceDown"]);
  const later = [[26_000], [40_000, unready], [45_000, unready], [46_000]] as const;
  assert.deepEqual(rowsOf(...outage.slice(0, 2), ...later), [
    "Health and readiness",
    "ServiceDown",
  ]);
});

Deno.test("Problem log: an outage stays critical, with its alert, while its service begins to answer", () => {
  const overdue = { ...node, severity: "warning", text: "not yet", afterS: 30 } as const;
  const away = { ...node, afterS: 30 };
  const records = log([[0, overdue], [3_000, away], [36_000, away], [37_000, overdue], [38_000]]);
  assert.deepEqual(
    endedOf(records).map(({ severity, text, hasAlerted }) => [severity, text, hasAlerted]),
    [["critical", "It does not answer", true]],
  );
});

Deno.test("Problem log: an open problem begins when the services say, or else when it was logged", () => {
  const gap = findingOf("node", { chapter: "NodePricesMissing" });
  const records = log([[1_000, { ...gap, sinceMs: 500 }], [9_000, { ...gap, sinceMs: 8_000 }]]);
  const startOf = (finding: Finding) => asLogged(finding, records, 9_000).sinceMs;
  assert.equal(startOf({ ...gap, sinceMs: 8_000 }), 8_000, "the gap before was filled");
  assert.equal(startOf(gap), 8_000);
  assert.equal(startOf(bridge), 9_000);
});

Deno.test("Problem log: an ended consequence is listed if it lasted until an alert was sent", () => {
  const stale = findingOf("node", { chapter: "NodePricesStale", cause: "oracle", afterS: 15 });
  const endedAfter = (ms: number) => endedOf(log([[0, stale], [ms, stale], [ms + 1]]));
  assert.deepEqual(endedAfter(14_999), []);
  assert.deepEqual(endedAfter(15_000).map(({ hasAlerted }) => hasAlerted), [true]);
});

Deno.test("Problem log: all critical problems that are present are alarms, consequences too", () => {
  const alarmsOf = (...looks: Parameters<typeof log>[0]) =>
    log(looks).filter(({ isAlarm }) => isAlarm).length;
  assert.equal(alarmsOf([0, node, bridge]), 2);
  assert.equal(alarmsOf([0, node, findingOf("bridge", { cause: "node" })]), 2);
  assert.equal(alarmsOf([0, findingOf("node", { severity: "warning" })]), 0);
  assert.equal(alarmsOf([0, node], [1_000]), 0);
});

Deno.test("Problem log: an ended problem keeps its worst text", () => {
  const looks = [3, 9, 9, 1].map((extent, at) =>
    [1_000 * at, findingOf("node", { text: `${extent} at ${at}`, extent })] as const
  );
  assert.deepEqual(endedOf(log([...looks, [9_000]])).map(({ text }) => text), ["9 at 2"]);
});

Deno.test("Problem log: the oldest records are forgotten", () => {
  const looks = Array.from({ length: 210 }, (_, at) => [at * 200_000, node] as const);
  const records = log(looks);
  assert.deepEqual([records.length, records[0]?.sinceMs], [200, 209 * 200_000]);
});

Deno.test("Repairs: missing prices have affected bets, deadlines and a stable backfill command", () => {
  const user = `0x${"7".repeat(40)}` as const;
  const bets = [
    thesisOf(1, { startTime: 2_000, endTime: 9_000, betAmount: 4_000_000n }),
    thesisOf(2, { startTime: 5_000, endTime: 7_000, betAmount: 6_500_000n, user }),
    thesisOf(3, { startTime: 5_001, endTime: 6_000 }), // has all its prices
    thesisOf(4, { startTime: 1_000, endTime: 2_499 }),
  ];
  const missing = [
    { from: 2_500, to: 2_600, priceBefore: 2_998_410_000n },
    { from: 4_000, to: 5_000 },
  ];
  const gap = { symbol: "A/B", bets, missing };
  const repair = marketRepair([gap, { ...gap, missing: [] }]);
  assert.match(repair?.hint ?? "", /--max-carry-ms 60000/);
  assert.equal(repair?.harm, "2 bets of 2 users, 10.50 USDC");
  assert.deepEqual(repair?.deadlinesMs, [9_000, 7_000]);
  assert.deepEqual(repair?.commands, [
    "deno task -q backfill --market A/B --from 1970-01-01T00:00:02.500Z --to 1970-01-01T00:00:05.000Z",
  ]);
  assert.match(repair?.hint ?? "", /the last one before each gap is in these commands\.$/);
  assert.deepEqual(repair?.lastResort, [`${repair?.commands[0]} --price 2998.41`]);
  // One command fills both, but each has a price of its own.
  const two = marketRepair([{
    ...gap,
    missing: [...missing, { from: 8_001, to: 8_500, priceBefore: 2_999_000_000n }],
  }]);
  assert.equal(two?.commands.length, 1);
  assert.deepEqual(two?.lastResort?.map((text) => text.split(" --to 1970-01-01T00:00:")[1]), [
    "05.000Z --price 2998.41",
    "08.500Z --price 2999",
  ]);
  const later = marketRepair([{ ...gap, missing: [...missing, { from: 35_001, to: 36_000 }] }]);
  assert.deepEqual(later?.commands.map((text) => text.slice(-34)), [
    "02.500Z --to 1970-01-01T00:00:05.000Z".slice(-34),
    "35.001Z --to 1970-01-01T00:00:36.000Z".slice(-34),
  ], "each gap may need its own price");
  assert.equal(repair?.sinceMs, 2_500);
  assert.match(
    marketRepair([gap], { historyUrl: "http://e:1" })?.commands[0] ?? "",
    / --history-url http:\/\/e:1$/,
  );
  assert.equal(marketRepair([{ ...gap, missing: [] }]), undefined);
  assert.equal(marketRepair([{ ...gap, bets: [] }])?.harm, "", "all of them have ended");
});

Deno.test("Repairs: backfill commands name the waiting bets, five at most", () => {
  const bets = [3, 4, 5, 6, 7, 8].map((id) => thesisOf(id, { endTime: 1_000 * id }));
  const repair = betRepair(bets, bets, { historyUrl: "http://e:1" });
  assert.equal(repair?.commands.length, 5);
  assert.equal(repair?.commands[0], "deno task -q backfill --thesis 3 --history-url http://e:1");
  assert.match(repair?.harm ?? "", /^6 bets of 1 user, /);
  assert.equal(repair?.sinceMs, 3_000);
  assert.match(repair?.firstStep ?? "", /RANGEMAKER_BACKFILL_PRIVATE_KEY/);
  assert.equal(betRepair([], []), undefined);
});

Deno.test("Repairs: while the exchanges are away, their start comes first; the hint says what to do without trades", () => {
  const bets = [thesisOf(3, { startTime: 1_000, endTime: 3_000 })];
  const gap = { symbol: "A/B", bets, missing: [{ from: 1_000, to: 2_000 }] };
  const repairs = (
    isAway: boolean,
  ) => [marketRepair([gap], { isAway }), betRepair(bets, bets, { isAway })];
  for (const repair of repairs(true)) {
    assert.match(repair?.firstStep ?? "", /^Start exchanges first/);
  }
  for (const repair of repairs(false)) {
    assert.match(repair?.firstStep ?? "", /^(Before these bets end, r|R)un with/);
    assert.match(
      repair?.hint ?? "",
      /no trades.* another --history-url.* run them with --price/i,
    );
  }
});

Deno.test("Repairs: a bet whose prices its market's command fills has no command of its own", () => {
  const bets = [3, 4].map((id) => thesisOf(id, { endTime: 1_000 * id }));
  const repair = betRepair(bets, []);
  assert.match(repair?.firstStep ?? "", /they settle these bets, too/);
  assert.deepEqual([repair?.commands, repair?.sinceMs], [[], 3_000]);
  const some = betRepair(bets, bets.slice(1));
  assert.deepEqual(some?.commands, ["deno task -q backfill --thesis 4"]);
  assert.match(some?.harm ?? "", /^2 bets/);
});

Deno.test("Repairs: gaps are searched from the earliest start of a bet until now", async () => {
  const asked: unknown[] = [];
  const client = {
    theses: () => assert.fail(),
    history: (...given: unknown[]) => {
      asked.push(given);
      const prices = [0, 1, 2].map((time) => ({ time, price: BigInt(10 + time) }));
      return Promise.resolve({ prices, missing: [{ from: 1, to: 2 }] });
    },
  };
  const open = [thesisOf(1, { startTime: 5 }), thesisOf(2, { startTime: 3 })];
  const { missing } = await gapOf(client, "A/B", open, 9);
  assert.deepEqual(missing, [{ from: 1, to: 2, priceBefore: 10n }]);
  const ended = thesisOf(3, { startTime: 2, status: "needs_backfill" });
  assert.deepEqual((await gapOf(client, "A/B", [...open, ended], 9)).bets, open);
  assert.deepEqual(asked, [["A/B", 3, 9], ["A/B", 2, 9]]);
});

Deno.test("Problem log: a later outage changes neither the cause of a problem nor its first step", () => {
  const missed = (cause?: "node" | "exchanges") =>
    findingOf("node", {
      ...{ chapter: "NodeCheckpointsMissed", severity: "warning", countedMs: 600_000 },
      ...{ afterS: 0, firstStep: "Give it CPU time.", ...(cause && { cause }) },
    });
  const seen = (first: Finding) => {
    const records = log([[1_000, first], [20_000, first], [21_000, missed("exchanges")]]);
    const { cause, firstStep } = asLogged(missed("exchanges"), records, 21_000);
    const [ended] = endedOf(log([[22_000]], records));
    return [cause, firstStep.slice(0, 4), ended?.cause];
  };
  assert.deepEqual(seen(missed("node")), ["node", "Noth", "node"]);
  assert.deepEqual(seen(missed("exchanges")), ["exchanges", "Give", "exchanges"]);
  assert.deepEqual(seen(missed()), [undefined, "Give", undefined], "it was its own cause");
});

Deno.test("Problem log: an outage is a blip only if all that it caused are blips", () => {
  const away = { ...node, afterS: 30 };
  const gap = (afterS: number) =>
    findingOf("node", { chapter: "NodePricesMissing", afterS, sinceMs: 2_000 });
  const isBlipWith = (one: Finding) =>
    endedOf(log([[0, away], [20_000, away], [21_000, one], [30_000, one], [31_000]]))
      .map(({ service, isBlip }) => [service, isBlip]);
  assert.deepEqual(isBlipWith(gap(0)), [["node", false], ["node", false]]);
  assert.deepEqual(isBlipWith(gap(60)), [["node", true], ["node", true]]);
});

Deno.test("Problem log: a service's own failure is worded in one way, another service's with its name", () => {
  const texts = [undefined, "node", "oracle"] as const;
  assert.deepEqual(
    texts.map((cause) => causeText({ service: "node", ...(cause && { cause }) })),
    ["itself", "itself", "oracle was away"],
  );
});

Deno.test("Repairs: once the exchanges have started again since a gap, only commands with a price are left", () => {
  const bets = [thesisOf(3, { startTime: 1_000, endTime: 9_000 })];
  const lost = { from: 1_000, to: 2_000, priceBefore: 3_000_000_000n };
  const later = { ...lost, from: 50_000, to: 51_000 };
  const commandsAt = (startedMs: number, ...missing: typeof lost[]) => {
    const repair = marketRepair([{ symbol: "A/B", bets, missing }], { startedMs });
    return [repair?.commands.length, repair?.lastResort?.length, repair?.hint?.slice(0, 13)];
  };
  assert.deepEqual(commandsAt(1_001, lost), [0, 1, "The exchanges"]);
  assert.deepEqual(
    commandsAt(1_000, lost),
    [1, 1, "Where these r"],
    "it has the trades of the gap",
  );
  assert.deepEqual(commandsAt(1_001, lost, later), [1, 2, "Where these r"], "those of the second");
  const gap = { symbol: "A/B", bets, missing: [{ from: 1_000, to: 2_000 }] };
  assert.equal(marketRepair([gap], { startedMs: 5_000 })?.commands.length, 1, "no price is known");
});
