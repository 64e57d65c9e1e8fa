import assert from "node:assert/strict";
import { MetricsHistory, parseMetrics } from "../../services/console/page/data/metrics.ts";
import type { ServiceName, ServiceState } from "../../services/console/page/data/service_watch.ts";
import { START_CHAPTER } from "../../services/console/page/operator/absence.ts";
import { PROBLEMS } from "../../lib/problems/mod.ts";
import { formatTime } from "../../services/console/page/format.ts";
import {
  alertText,
  countedFor,
  FIGURES,
  worstOf,
} from "../../services/console/page/operator/figures.ts";
import {
  alertTimeText,
  deadlineText,
  followingText,
  isAlarm,
  noProblemText,
  runbookOf,
  serviceVerdictOf,
  startText,
  verdictOf,
} from "../../services/console/page/operator/finding.ts";
import {
  findingsOf,
  isVisible,
  processesOf,
  withRepair,
} from "../../services/console/page/operator/problems.ts";

const guide = await Deno.readTextFile(new URL("../../docs/operating.md", import.meta.url));

/** A healthy service whose figures were read every 10 s. */
function stateOf(name: ServiceName, texts: string[], more: Partial<ServiceState> = {}) {
  const history = texts.reduce(
    (history, text, index) => history.with(1 + index * 10_000, parseMetrics(text)),
    new MetricsHistory(),
  );
  const healthy = { isUp: true, isHealthy: true, isReady: true, reason: "", health: "healthy" };
  const since = {
    checkedMs: history.latestMs,
    isRefused: false,
    awayAgoMs: Infinity,
    isForbidden: false,
    isLate: false,
  };
  const url = `http://${name}`;
  return {
    name,
    url,
    ...since,
    complaints: [],
    history,
    ...healthy,
    isSilent: more.isUp === false,
    ...more,
  };
}

/** A forecast that is off, of this many windows. */
const calibration = (windows: number) => {
  const labels = 'market="A/B",horizon_seconds="1"';
  return `solver_calibration_difference{${labels},predicted="0.5"} -0.08\n` +
    `solver_calibration_error{${labels},predicted="0.5"} 0.01\n` +
    `solver_calibration_windows{${labels}} ${windows}`;
};

/** Figures before and after, and the chapter of the problem that they show. */
const WRONG: [service: ServiceName, before: string, after: string, chapter: string][] = [
  [
    "proxy",
    "proxy_broadcast_upstream_connected 1",
    "proxy_broadcast_upstream_connected 0",
    "ProxyUpstreamDisconnected",
  ],
  [
    "proxy",
    "proxy_broadcast_reconnects_total 1",
    "proxy_broadcast_reconnects_total 7",
    "ProxyReconnecting",
  ],
  [
    "proxy",
    'proxy_upstream_errors_total{target="read"} 1',
    'proxy_upstream_errors_total{target="read"} 8',
    "ProxyUpstreamErrors",
  ],
  [
    "proxy",
    'proxy_ws_messages_total{direction="downstream"} 0',
    'proxy_ws_messages_total{direction="downstream"} 98\nproxy_ws_messages_total{direction="lagged"} 2',
    "ProxyClientsLag",
  ],
  ["oracle", "", 'oracle_sources{pair="A/B"} 3', "OraclePairWithoutPrice"],
  [
    "oracle",
    "",
    'oracle_sources{pair="A/B"} 4\noracle_price_age_seconds{pair="A/B"} 3.1',
    "OraclePriceOld",
  ],
  [
    "oracle",
    "",
    'oracle_sources{pair="A/B"} 2\noracle_price_age_seconds{pair="A/B"} 1',
    "OracleFewSources",
  ],
  [
    "oracle",
    "",
    'oracle_source_deviation_ratio{pair="A/B",provider="p"} -0.011',
    "OracleSourceDeviates",
  ],
  [
    "oracle",
    'oracle_trades_total{provider="p"} 5',
    'oracle_trades_total{provider="p"} 5',
    "OracleProviderSilent",
  ],
  ["node", "node_block_number 5", "node_block_number 5", "NodeStopped"],
  [
    "node",
    "node_checkpoints_missed_total 0",
    "node_checkpoints_missed_total 11",
    "NodeCheckpointsMissed",
  ],
  [
    "node",
    'node_oracle_pulls_total{outcome="ok"} 0',
    'node_oracle_pulls_total{outcome="ok"} 94\nnode_oracle_pulls_total{outcome="timeout"} 6\nnode_oracle_late_answers_total 0',
    "NodePullsFail",
  ],
  [
    "node",
    'node_price_slots_needed{market="A/B"} 0',
    'node_price_slots_needed{market="A/B"} 1',
    "NodePricesMissing",
  ],
  ["node", "", 'node_price_fresh{market="A/B"} 0', "NodePricesStale"],
  ["node", "", "node_theses_without_prices 1", "NodeNeedsBackfill"],
  ["node", "", "node_storage_writable 0", "NodeStorageFailed"],
  ["proxy", "", 'proxy_read_node_up{node="n"} 0', "ProxyReadNodeOut"],
  ["exchanges", "", "process_resident_memory_bytes 1000000001", "MemoryHigh"],
  ["solver", "", 'solver_problem{code="CHAIN_REWOUND"} 1', "HealthFailed"],
  [
    "bridge",
    "",
    'bridge_deposit_requests_total{status="200"} 89\nbridge_deposit_requests_total{status="503"} 11',
    "BridgeRefusesDeposits",
  ],
  ["bridge", "bridge_deposits_pending 2", "bridge_deposits_pending 1", "BridgeDepositsStuck"],
  ["bridge", "", 'bridge_deposits_total{outcome="failed"} 1', "BridgeDepositsFail"],
  ["bridge", "bridge_retries_total 0", "bridge_retries_total 7", "BridgeRetrying"],
  ["bridge", "", "bridge_signature_failures_total 11", "BridgeSignaturesFail"],
  ["solver", "", "solver_signature_failures_total 11", "SolverSignaturesFail"],
  [
    "solver",
    "",
    calibration(20),
    "SolverProbabilitiesWrong",
  ],
  ["solver", "", "solver_exposure_complete 0", "SolverExposureUnknown"],
  [
    "solver",
    "",
    "solver_exposure_usdc 81\nsolver_exposure_limit_usdc 100",
    "SolverExposureHigh",
  ],
  [
    "solver",
    "",
    "solver_exposure_usdc 96\nsolver_exposure_limit_usdc 100",
    "SolverExposureFull",
  ],
  ["solver", "", "solver_balance_usdc 9\nsolver_locked_usdc 91", "SolverBalanceLow"],
  ["solver", "", 'solver_execute_answers_total{outcome="PRICE_STALE"} 1', "SolverRefusesBets"],
  ["solver", "", 'solver_executions_total{outcome="failed"} 1', "SolverExecutionsFail"],
  [
    "solver",
    "",
    'solver_quotes_total{kind="quote",outcome="PRICE_UNAVAILABLE"} 1',
    "SolverWithoutPrices",
  ],
];

/** Makes a node seem alive where its blocks are not tested. */
const ALIVE = ["node_block_number 1", "node_block_number 2"] as const;

Deno.test("Problems: each figure beyond its bound is reported, with message, first step and chapter", () => {
  for (const [service, before, after, chapter] of WRONG) {
    const [first, second] = service === "node" && chapter !== "NodeStopped" ? ALIVE : ["", ""];
    const state = stateOf(service, [`${before}\n${first}`, `${after}\n${second}`]);
    const findings = findingsOf([state]);
    assert.deepEqual(findings.map((finding) => finding.chapter), [chapter]);
    for (const { text, firstStep, severity, effect } of findings) {
      assert.match(text, /^[\dA-Zp][^{}]+$/, chapter);
      assert.match(firstStep, /\.$/);
      assert(severity === "warning" || effect !== undefined, `${chapter}: what do users notice?`);
    }
  }
});

Deno.test("Problems: the share of refused bets is that of the alert's window, as are its parts", () => {
  const answers = (accepted: number, refused: number) =>
    `solver_execute_answers_total{outcome="accepted"} ${accepted}\n` +
    `solver_execute_answers_total{outcome="EXPOSURE_TOO_LARGE"} ${refused}`;
  const texts = [answers(0, 0), answers(60, 0), answers(60, 5), answers(60, 20)];
  const refused = () => findingsOf([stateOf("solver", texts)]);
  assert.match(refused()[0]?.text ?? "", /^It refuses 25\s% of the signed bets/);
  assert.match(refused()[0]?.details[0] ?? "", /^EXPOSURE_TOO_LARGE: 20 in the last 30/);
  texts.push(...Array.from({ length: 29 }, () => answers(60, 20)));
  assert.equal(refused().length, 1, "the alert fires for as long");
  texts.push(answers(60, 20), answers(60, 20));
  assert.deepEqual(refused(), []);
});

/** Problems that the page does not measure: it notices the first itself, and lacks the time for two. */
const NOT_MEASURED = ["ServiceDown", "ServiceRestarting", "ProxySlow"];

Deno.test("Problems: every problem in lib/problems is either tested here or listed as not measured", () => {
  const reported = new Set([...WRONG.map(([, , , chapter]) => chapter), ...NOT_MEASURED]);
  assert.deepEqual(PROBLEMS.map(({ name }) => name).filter((name) => !reported.has(name)), []);
});

Deno.test("Problems: memory of a process is reported once, for its first service", () => {
  const inProcess = (startedAtS: number) => [
    `process_start_time_seconds ${startedAtS}\nprocess_resident_memory_bytes 2e9`,
  ];
  const states = (["oracle", "bridge", "solver"] as const).map((name, index) =>
    stateOf(name, inProcess(index < 2 ? 7 : 8), { url: "http://127.0.0.1:1" })
  );
  const found = findingsOf(states).map(({ service, chapter }) => [service, chapter]);
  assert.deepEqual(found, [["oracle", "MemoryHigh"], ["solver", "MemoryHigh"]]);
  const [oracle, bridge, solver] = states;
  assert.deepEqual(processesOf(states), [[oracle, bridge], [solver]]);
  const elsewhere = { ...stateOf("bridge", inProcess(7)), url: "http://10.0.0.9:1" };
  assert.equal(processesOf([...states, elsewhere]).length, 3);
});

Deno.test("Problems: down, unhealthy and unready services have a reason; critical problems and causes come first", () => {
  const problems = findingsOf([
    stateOf("proxy", ["", "proxy_broadcast_reconnects_total 9"]),
    stateOf("oracle", [], { isUp: false, reason: "It cannot be reached" }),
    stateOf("solver", [], { isReady: false, complaints: ["The store is read-only"] }),
    stateOf("bridge", [], { isHealthy: false, health: "failed" }),
  ]);
  assert.deepEqual(problems.map(({ service, chapter, cause }) => [service, chapter, cause]), [
    ["oracle", "ServiceDown", undefined],
    ["bridge", "Health and readiness", undefined],
    ["solver", "Health and readiness", "oracle"],
    ["proxy", "ProxyReconnecting", "oracle"],
  ]);
  assert.match(problems[0]?.effect ?? "", /no new bets/);
  assert.deepEqual(problems[0]?.details, ["It cannot be reached"]);
  assert.equal(problems[1]?.text, "Its health is failed");
  assert.equal(problems[2]?.text, "It is not ready");
  assert.deepEqual(problems[2]?.details, ["The store is read-only"]);
  assert(problems.every(({ severity, effect }) => severity === "warning" || effect !== undefined));
  assert.equal(
    runbookOf({ chapter: "Health and readiness", service: "node" }),
    "/runbook/Health%20and%20readiness?service=node",
  );
  assert.deepEqual(Object.values(problems[0]?.commandsByWay ?? {}), [
    "docker compose restart oracle",
    "systemctl restart rangemaker-one@oracle",
    "ps -eo pid,stat,pcpu,etime,args | grep '[m]ain.ts oracle'",
  ], "without its process id, no command ends a process");
  assert(guide.includes("$ ps -eo pid,stat,pcpu,etime,args | grep '[m]ain.ts <service>'\n"));
  assert(guide.includes(`\n## ${START_CHAPTER}\n`));
  const [known] = findingsOf([stateOf("oracle", ["process_id 77"], { isUp: false })]);
  assert.deepEqual(Object.values(known?.commandsByWay ?? {}).slice(2), [
    "kill -CONT 77",
    "kill -KILL 77",
  ]);
  assert(known !== undefined);
  assert.equal(runbookOf(known), "/runbook/ServiceDown?service=oracle&pid=77");
  for (const name of ["exchanges", "oracle", "node", "proxy", "bridge", "solver"] as const) {
    const [gone] = findingsOf([stateOf(name, ["process_id 77"], { isUp: false, isRefused: true })]);
    assert.deepEqual(Object.keys(gone?.commandsByWay ?? {}), ["In containers", "Under systemd"]);
    assert.equal(gone?.pid, undefined, "nothing to kill");
    assert.equal(/trades/.test(gone?.firstStep ?? ""), name === "exchanges");
  }
  const back = [
    stateOf("oracle", [], { awayAgoMs: 20_000 }),
    stateOf("node", [], { isHealthy: false }),
  ];
  assert.deepEqual(findingsOf(back).map(({ cause }) => cause), ["oracle"]);
  back.push(stateOf("proxy", [], { isUp: false }));
  assert.equal(findingsOf(back)[0]?.cause, undefined, "nothing else ends a process");
  const [forbidden] = findingsOf([stateOf("node", [], { isUp: false, isForbidden: true })]);
  assert.match(forbidden?.firstStep ?? "", /--cors-origins/);
});

Deno.test("Problems: a service that is away comes first, and an absent proxy explains the solver's problems", () => {
  const found = findingsOf([
    stateOf("node", [...ALIVE].map((text) => `${text}\nnode_theses_without_prices 1`)),
    stateOf("proxy", [], { isUp: false }),
    stateOf("solver", ["", "solver_exposure_complete 0"], { isReady: false, complaints: ["x"] }),
  ]);
  assert.deepEqual(found.map(({ service, cause }) => [service, cause]), [
    ["proxy", undefined],
    ["node", undefined],
    ["solver", "proxy"],
    ["solver", "proxy"],
  ]);
});

Deno.test("Problems: missing prices are no consequence of a service that is back, as they still have to be filled", () => {
  const missing = 'node_price_slots_needed{market="A/B"} 3';
  const node = stateOf("node", ALIVE.map((text) => `${text}\n${missing}`));
  const causeBeside = (oracle: Partial<ServiceState>) =>
    findingsOf([stateOf("oracle", [], oracle), node])
      .find(({ chapter }) => chapter === "NodePricesMissing")?.cause;
  assert.equal(causeBeside({ isUp: false }), "oracle");
  assert.equal(causeBeside({ awayAgoMs: 20_000 }), undefined);
});

Deno.test("Problems: after an absence, a warning counted over it is a consequence; a critical problem is not", () => {
  const skipped = ALIVE.map((text, index) =>
    `${text}\nnode_checkpoints_missed_total ${40 * index}`
  );
  const causeOf = (more: Partial<ServiceState>, texts = skipped) =>
    findingsOf([stateOf("node", texts, more)]).map(({ chapter, cause }) => [chapter, cause]);
  assert.deepEqual(causeOf({}), [["NodeCheckpointsMissed", undefined]]);
  assert.deepEqual(causeOf({ awayAgoMs: 10_000 }), [["NodeCheckpointsMissed", "node"]]);
  const [counted] = findingsOf([stateOf("node", skipped, { awayAgoMs: 10_000 })]);
  assert.match(
    counted?.firstStep ?? "",
    /^Nothing, unless the number grows: it counts the time that it was away/,
  );
  const full = ALIVE.map((text) => `${text}\nnode_storage_writable 0`);
  assert.deepEqual(
    causeOf({ awayAgoMs: 10_000 }, full),
    [["NodeStorageFailed", undefined]],
    "critical",
  );
});

Deno.test("Problems: forecasts of under 20 windows are not judged, and are never a consequence of an absence", () => {
  const found = (windows: number) =>
    findingsOf([
      stateOf("exchanges", [], { isUp: false }),
      stateOf("solver", [calibration(windows)], { awayAgoMs: 5_000 }),
    ]).map(({ chapter, cause }) => [chapter, cause]).slice(1);
  assert.deepEqual(found(20), [["SolverProbabilitiesWrong", undefined]]);
  assert.deepEqual(found(19), []);
});

Deno.test("Problems: services that depend on a frozen node are its consequences, and effects do not contradict", () => {
  const found = findingsOf([
    stateOf("node", [], { isUp: false }),
    stateOf("solver", [], { isReady: false, complaints: ["/ready did not answer"] }),
  ]);
  assert.deepEqual(found.map(({ service, cause }) => [service, cause]), [
    ["node", undefined],
    ["solver", "node"],
  ]);
  // Not yet away: it has not answered once.
  const silent = [
    stateOf("node", [], { isSilent: true }),
    stateOf("solver", [], { isReady: false }),
  ];
  assert.deepEqual(findingsOf(silent).map(({ service, cause }) => [service, cause]), [
    ["node", undefined],
    ["solver", "node"],
  ]);
  const both = findingsOf(
    (["node", "solver"] as const).map((name) => stateOf(name, [], { isUp: false })),
  );
  const effects = both.map(({ effect }) => effect ?? "");
  assert.match(effects[0] ?? "", /no settlements/);
  assert(!/are settled/.test(effects[1] ?? ""));
});

Deno.test("Problems: a service that is slow while the node is away is its consequence, with no outage of its own", () => {
  const causesOf = (away: ServiceName, more: Partial<ServiceState>) =>
    findingsOf(
      [away, "bridge", "proxy", "solver"].map((name, index) =>
        stateOf(name as ServiceName, [], { isUp: false, ...(index > 0 && more) })
      ),
    ).map(({ cause }) => cause);
  assert.deepEqual(causesOf("node", { isLate: true }), [undefined, "node", "node", "node"]);
  assert.deepEqual(causesOf("node", {}), Array(4).fill(undefined), "their processes are gone");
  const [, , ...late] = causesOf("exchanges", { isLate: true });
  assert.deepEqual(late, [undefined, "proxy"], "nobody waits for the exchanges");
});

Deno.test("Problems: a service that still does not answer seconds after the node does again is a cause", () => {
  const causeOf = (node: Partial<ServiceState>) =>
    findingsOf([
      stateOf("node", [], node),
      stateOf("solver", [], { isUp: false, isLate: true }),
    ]).find(({ service }) => service === "solver")?.cause;
  assert.equal(causeOf({ isUp: false, awayAgoMs: 60_000 }), "node");
  assert.equal(causeOf({ awayAgoMs: 10_000 }), "node", "its answer may be under way");
  assert.equal(causeOf({ awayAgoMs: 10_001 }), undefined);
});

Deno.test("Problems: quotes without a price are normal while the solver starts", () => {
  const quotes = 'solver_quotes_total{kind="quote",outcome="VOLATILITY_UNAVAILABLE"}';
  const foundAfter = (seconds: number) => {
    const started = `process_start_time_seconds ${10 - seconds}`;
    return findingsOf([stateOf("solver", [`${quotes} 0\n${started}`, `${quotes} 9\n${started}`])])
      .map(({ chapter }) => chapter);
  };
  assert.deepEqual([foundAfter(89), foundAfter(91)], [[], ["SolverWithoutPrices"]]);
});

Deno.test("Problems: the verdict counts consequences, too", () => {
  const [critical] = findingsOf([stateOf("node", [], { isUp: false })]);
  assert(critical !== undefined);
  const warning = { ...critical, severity: "warning" } as const;
  const following = { ...critical, cause: "node" } as const;
  const cases = [
    [[warning], ["warning", "▲ 1 warning."]],
    [[critical, critical, warning, following], ["lost", "✕ 3 critical problems, ▲ 1 warning."]],
    [[warning, following], ["lost", "✕ 1 critical problem, ▲ 1 warning."]],
  ] as const;
  for (const [findings, expected] of cases) assert.deepEqual(verdictOf(findings), expected);
});

Deno.test("Problems: a counter has the window of its alert, or says how long it was counted", () => {
  const skipped = ALIVE.map((text, index) =>
    `${text}\nnode_checkpoints_missed_total ${139 * index}`
  );
  const textOf = (more = "") =>
    findingsOf([stateOf("node", skipped.map((text) => text + more))])[0]?.text;
  assert.equal(textOf(), "It has skipped at least 139 checkpoints in 10 minutes");
  assert.equal(
    textOf("\nprocess_start_time_seconds 0"),
    "It has skipped 139 checkpoints in 10 minutes",
  );
  const missed = PROBLEMS.find(({ name }) => name === "NodeCheckpointsMissed");
  assert(missed !== undefined);
  assert.equal(alertText(missed).replaceAll("\u00a0", " "), "alert above 10 in 10 min");
  assert.equal(countedFor(missed, stateOf("node", skipped).history), 10_000);
  // It missed them itself, however long ago another service was away.
  const both = findingsOf([
    stateOf("oracle", [], { awayAgoMs: 60_000 }),
    stateOf("node", skipped, { awayAgoMs: 30_000 }),
  ]);
  assert.deepEqual(both.map(({ cause }) => cause), ["node"]);
  // After an outage it is reported for as long as its alert fires.
  const node = stateOf("node", skipped, { awayAgoMs: 300_000 });
  const [finding] = findingsOf([node]);
  assert.match(finding?.firstStep ?? "", /its alert fires until 10 min after that\.$/);
  assert.equal(
    followingText(findingsOf([node]), [node]),
    "1 problem, probably because node was away: this should end within 10 min",
  );
});

Deno.test("Problems: refused bets are listed by code, with the first steps for these codes", () => {
  const answers = (full: number, stale: number) =>
    `solver_execute_answers_total{outcome="EXPOSURE_TOO_LARGE"} ${full}\n` +
    `solver_execute_answers_total{outcome="PRICE_STALE"} ${stale}\n` +
    'solver_execute_answers_total{outcome="NODE_TIMEOUT"} 4';
  const refusedBy = (full: number, stale: number) =>
    findingsOf([stateOf("solver", [answers(0, 1), answers(full, 1 + stale)])])[0];
  const both = refusedBy(185, 1);
  assert.deepEqual(both?.details, [
    "EXPOSURE_TOO_LARGE: 185 in the last 10.0 s",
    "PRICE_STALE: 1 in the last 10.0 s",
  ]);
  assert.match(both?.firstStep ?? "", /^`EXPOSURE_TOO_LARGE`: wait .*`\. “Quotes and refusals”/);
  assert.equal(both?.afterS, 120);
  const step = "`EXPOSURE_TOO_LARGE`: wait for settlements or raise `--max-exposure`.";
  assert.equal(refusedBy(9, 0)?.firstStep, step);
  assert.match(refusedBy(0, 9)?.firstStep ?? "", /^“Quotes and refusals”/);
});

Deno.test("Problems: lost sources have no effect yet only while each pair has a price", () => {
  const trades = 'oracle_trades_total{provider="p"} 5\n';
  const price = 'oracle_price_age_seconds{pair="A/B"} 1';
  const effectsOf = (figures: string) =>
    findingsOf([stateOf("oracle", [trades + figures, trades + figures])])
      .filter(({ severity }) => severity === "warning").map(({ effect }) => effect);
  const none = "none yet: prices go on with the others";
  assert.deepEqual(effectsOf(`oracle_sources{pair="A/B"} 2\n${price}`), [none, none]);
  const lost = effectsOf('oracle_sources{pair="A/B"} 0');
  assert.equal(lost.length, 2);
  for (const effect of lost) {
    assert.match(effect ?? "", /no fresh prices, so no new bets .* bets that end there wait/);
  }
});

Deno.test("Problems: bad health that a figure explains is reported once, with the service's own words", () => {
  const failed = { isHealthy: false, health: "unhealthy", complaints: ["no source"] };
  const withHealth = (figures: string) =>
    findingsOf([stateOf("oracle", [figures], failed)]).map(({ text, details }) => [text, details]);
  assert.deepEqual(withHealth('oracle_sources{pair="A/B"} 3'), [
    ["No price of A/B: too few sources, or a jump that only one source has made", ["no source"]],
  ]);
  const own = ["Its health is unhealthy", ["no source"]];
  assert.deepEqual(withHealth(""), [own]);
  const few = 'oracle_sources{pair="A/B"} 2\noracle_price_age_seconds{pair="A/B"} 1';
  assert.deepEqual(
    withHealth(few),
    [own, ["2 sources are left for A/B", []]],
    "a warning is no reason",
  );
});

Deno.test("Problems: missing prices come first, unless a service that is away explains them", () => {
  const missing = 'node_price_slots_needed{market="A/B"} 3';
  const node = stateOf("node", ALIVE.map((text) => `${text}\n${missing}`));
  const firstBeside = (name: ServiceName) =>
    findingsOf([stateOf(name, [], { isUp: false }), node])[0]?.chapter;
  assert.equal(firstBeside("bridge"), "NodePricesMissing");
  assert.equal(firstBeside("oracle"), "ServiceDown");
  const silent = stateOf("oracle", [], { isSilent: true }); // the first answer is overdue
  const causes = findingsOf([silent, node]).map(({ chapter, cause }) => [chapter, cause]);
  assert.deepEqual(causes, [["ServiceDown", undefined], ["NodePricesMissing", "oracle"]]);
  const [overdue] = findingsOf([silent]);
  assert(overdue !== undefined && !isAlarm(overdue), "nobody is woken before it is asked again");
});

Deno.test("Problems: while a service is away, or at its first reading, the end of a problem cannot be seen", () => {
  const seen = (seconds: number, isUp = true, lastMs = 0) => {
    const texts = Array.from({ length: 1 + seconds / 10 }, () => ALIVE[0]);
    const state = stateOf("node", texts, { isUp });
    return ["ServiceDown", "NodeStopped"].map((chapter) => isVisible(state, { chapter, lastMs }));
  };
  assert.deepEqual(seen(10), [true, false]);
  assert.deepEqual(seen(20), [true, true]);
  assert.deepEqual(seen(20, false), [false, false]);
  assert.deepEqual(seen(20, true, 20_002), [false, false], "another tab saw it after that");
  const state = stateOf("node", Array(4).fill(ALIVE[0]));
  const record = { chapter: "NodeCheckpointsMissed", lastMs: 5_000, countedMs: 600_000 };
  assert(!isVisible(state, { ...record, seenMs: 5_000 }), "its alert counts more than this page");
  assert(isVisible(state, { ...record, seenMs: -570_000 }), "no longer");
});

Deno.test("Problems: a problem was last seen in the newest figures, and an absence in the last request", () => {
  const late = { isSilent: true, checkedMs: 14_000 };
  const storage = ALIVE.map((text) => `${text}\nnode_storage_writable 0`);
  const times = findingsOf([stateOf("node", storage, late)]).map((one) => [one.chapter, one.atMs]);
  assert.deepEqual(times, [["ServiceDown", 14_000], ["NodeStorageFailed", 10_001]]);
});

Deno.test("Problems: a problem found at the first reading of a service may be older", () => {
  const storage = (seconds: number) =>
    Array.from({ length: 1 + seconds / 10 }, () => `${ALIVE[0]}\nnode_storage_writable 0`);
  const isOlder = (seconds: number) =>
    findingsOf([stateOf("node", storage(seconds))])
      .find(({ chapter }) => chapter === "NodeStorageFailed")?.mayBeOlder;
  assert.deepEqual([0, 10, 20].map(isOlder), [true, true, false]);
});

Deno.test("Problems: a service is away since its last answer, if it was asked shortly before", () => {
  const startOf = (more: Partial<ServiceState>) =>
    findingsOf([stateOf("node", [ALIVE[0]], { isUp: false, ...more })])
      .map(({ sinceMs, mayBeOlder }) => [sinceMs, mayBeOlder]);
  assert.deepEqual(startOf({ lastAnswerMs: 5_000 }), [[5_000, false]]);
  assert.deepEqual(startOf({}), [[undefined, true]]);
});

Deno.test("Problems: of a service that is away, only the time of its last answer is known", () => {
  const textOf = (more: Partial<ServiceState>, texts = [ALIVE[0]]) => {
    const [finding] = findingsOf([stateOf("node", texts, more)]);
    assert(finding !== undefined);
    return startText(finding, 5_000);
  };
  const time = formatTime(5_000);
  assert.equal(textOf({ isUp: false, lastAnswerMs: 5_000 }), `last answer ${time}`);
  assert.equal(textOf({ isUp: false }), `seen since ${time}, may be older`);
  const full = Array(3).fill(`${ALIVE[0]}\nnode_storage_writable 0`);
  assert.equal(textOf({}, full), `since ${time}`);
  const late = { isUp: undefined, isSilent: true };
  assert.equal(textOf(late), `seen since ${time}, may be older`, "it may hang for longer");
});

Deno.test("Problems: the worst value is the highest or the lowest, depending on the comparison", () => {
  const samples = [3, 1, 2].map((value) => ({ labels: {}, value }));
  const worst = ([">", "<", "=="] as const).map((op) => worstOf({ op, limit: 0 }, samples));
  assert.deepEqual(worst, [3, 1, 1]);
  assert.equal(worstOf({ op: ">", limit: 0 }, []), undefined);
});

Deno.test("Problems: one problem of several markets is one line, with the worst value", () => {
  const old = 'oracle_price_age_seconds{pair="A/B"} 3.1\noracle_price_age_seconds{pair="C/D"} 7';
  const sources = 'oracle_sources{pair="A/B"} 4\noracle_sources{pair="C/D"} 4';
  const problems = findingsOf([stateOf("oracle", [`${old}\n${sources}`, `${old}\n${sources}`])]);
  assert.equal(problems.length, 1);
  assert.match(problems[0]?.text ?? "", /A\/B, C\/D.*7\.0 s/);
  const [one] = findingsOf([stateOf("oracle", ['oracle_price_age_seconds{pair="C/D"} 7'])]);
  assert((one?.extent ?? NaN) < (problems[0]?.extent ?? NaN), "two markets are worse than one");
});

Deno.test("Problems: a price source has the name that logs and metrics give it", () => {
  const silent = 'oracle_trades_total{provider="provider_b"} 5';
  assert.match(
    findingsOf([stateOf("oracle", [silent, silent])])[0]?.text ?? "",
    /\bprovider_b\b/,
  );
});

Deno.test("Problems: the list is empty while all are healthy, and until every service was asked", () => {
  assert.deepEqual(findingsOf([stateOf("node", [...ALIVE])]), []);
  const unready = stateOf("solver", [], { isReady: false });
  const unasked = stateOf("oracle", [], { isUp: undefined });
  assert.deepEqual(findingsOf([unready, unasked]), []);
  const overdue = findingsOf([unready, { ...unasked, isSilent: true }]);
  assert.deepEqual(overdue.map(({ service, cause }) => [service, cause]), [
    ["oracle", undefined],
    ["solver", "oracle"],
  ]);
});

Deno.test("Problems: without problems, the page names the services that it does not watch", () => {
  assert.equal(noProblemText(["solver", "oracle", "node"]), "✓ All services work.");
  assert.match(
    noProblemText(["solver", "oracle"]),
    /The services below work\. .* --node-url\.$/,
  );
  assert.match(
    noProblemText(["solver"]),
    / --oracle-url and --node-url\.$/,
  );
});

Deno.test("Problems: two bounds of one figure are shown as one figure", () => {
  const limits = FIGURES.filter(({ title }) => /limit/.test(title)).map(({ bound }) => bound.limit);
  assert.deepEqual(limits, [0.8]);
  assert(FIGURES.length > 25);
});

Deno.test("Problems: commands are shown only after the gaps have been read", () => {
  const node = stateOf("node", ALIVE.map((text) => `${text}\nnode_theses_without_prices 1`));
  const [finding] = findingsOf([node]);
  assert(finding !== undefined);
  const reading = withRepair(finding, new Map(), []);
  assert.deepEqual([reading.firstStep, reading.commands], ["reading the gaps …", undefined]);
  const silent = withRepair(finding, new Map(), [stateOf("proxy", [], { isSilent: true })]);
  assert.match(silent.firstStep, /^Start proxy first: .* are read from it\.$/);
  const repair = { firstStep: "Run:", commands: ["a"], sinceMs: 5, harm: "1 bet" };
  assert.deepEqual(withRepair(finding, new Map([["NodeNeedsBackfill", repair]]), []), {
    ...finding,
    ...repair,
  });
  const other = { ...finding, chapter: "NodeStopped" };
  assert.equal(withRepair(other, new Map(), []), other);
});

Deno.test("Problems: while the node is away, the bets that were open before have their deadline", () => {
  const ends = [4_000, 60_000, 90_000];
  const [away] = findingsOf([stateOf("node", [], { isUp: false }), stateOf("bridge", [])])
    .map((one) => withRepair(one, new Map(), [], ends));
  assert.deepEqual(away?.deadlinesMs, ends);
  const [other] = findingsOf([stateOf("bridge", [], { isUp: false })])
    .map((one) => withRepair(one, new Map(), [], ends));
  assert.equal(other?.deadlinesMs, undefined, "bets do not need it");
  assert.deepEqual(deadlineText(ends, 10_000), {
    left: "50.0 s",
    next: `the next of 2 bets ends at ${formatTime(60_000)}, and 1 has ended`,
  });
  assert.equal(deadlineText([5_000], 0)?.next, `the bet ends at ${formatTime(5_000)}`);
  assert.equal(deadlineText(ends, 90_000), undefined);
});

Deno.test("Problems: counts down to an alert, then shows that it fires", () => {
  const [finding] = findingsOf([stateOf("node", [], { isUp: false })]);
  assert(finding?.afterS === 30);
  assert.equal(alertTimeText(finding, 1_000, 9_001), " · alert in 22 s");
  assert.equal(alertTimeText(finding, 1_000, 31_000), " · its alert fires");
  const [unready] = findingsOf([stateOf("bridge", [], { isReady: false })]);
  assert(unready !== undefined);
  assert.equal(alertTimeText(unready, 0, 0), "", "it has no alert");
});

Deno.test("Problems: a consequence names its cause", () => {
  const unready = stateOf("solver", [], { isReady: false });
  const few = ["", "proxy_broadcast_reconnects_total 9"];
  const textOf = (oracle: Partial<ServiceState>) => {
    const states = [stateOf("oracle", [], oracle), unready, stateOf("proxy", few)];
    return followingText(findingsOf(states), states);
  };
  assert.equal(
    textOf({ isUp: false }),
    "2 more problems (1 critical), probably because oracle does not answer",
  );
  assert.match(
    textOf({ awayAgoMs: 20_000 }),
    /^2 problems \(1 critical\), .* because oracle was away: this should end within 10 min$/,
  );
});

Deno.test("Problems: a service that is away waits only for another one that its absence comes from", () => {
  const node = stateOf("node", [], { isUp: false });
  const [away] = findingsOf([node]);
  assert(away !== undefined);
  const missed = { ...away, chapter: "NodeCheckpointsMissed", cause: "node" } as const;
  assert.deepEqual(serviceVerdictOf(node, [missed, away]), ["lost", "✕ does not answer"]);
  const late = stateOf("solver", [], { isUp: false });
  const waiting = { ...away, service: "solver", cause: "node" } as const;
  assert.deepEqual(serviceVerdictOf(late, [away, waiting]), ["warning", "▲ waits for node"]);
});
