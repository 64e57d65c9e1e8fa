import assert from "node:assert/strict";
import { PROBLEMS } from "../../../../lib/problems/mod.ts";
import { FIGURES, worstOf } from "../../../../services/console/page/data/metrics.ts";
import type {
  ServiceName,
  ServiceState,
} from "../../../../services/console/page/data/service_watch.ts";
import { alertText, countedFor } from "../../../../services/console/page/operator/figures.ts";
import {
  type Look,
  nextLook,
  verdictOf,
} from "../../../../services/console/page/operator/finding.ts";
import { findingsOf, processesOf } from "../../../../services/console/page/operator/problems.ts";
import { ALIVE, being, calibration, FULL_DISK, gone, SKIPPED, stateOf } from "./states.ts";

const readDocument = (name: string) =>
  Deno.readTextFile(new URL(`../../../../docs/${name}.md`, import.meta.url));
const runbooks = await readDocument("runbooks");

/** Figures that show the problems of services, with those before if they are not new. */
const WRONG: Record<ServiceName, Record<string, string | [before: string, after: string]>> = {
  proxy: {
    ProxyUpstreamDisconnected: "proxy_broadcast_upstream_connected 0",
    ProxyReconnecting: ["proxy_broadcast_reconnects_total 1", "proxy_broadcast_reconnects_total 7"],
    ProxyUpstreamErrors: [
      'proxy_upstream_errors_total{target="read"} 1',
      'proxy_upstream_errors_total{target="read"} 8',
    ],
    ProxyClientsLag: [
      'proxy_ws_messages_total{direction="downstream"} 0',
      'proxy_ws_messages_total{direction="downstream"} 98\nproxy_ws_messages_total{direction="lagged"} 2',
    ],
    ProxyReadNodeOut: 'proxy_read_node_up{node="n"} 0',
  },
  oracle: {
    OraclePairWithoutPrice: 'oracle_sources{pair="A/B"} 3',
    OraclePriceOld: 'oracle_sources{pair="A/B"} 4\noracle_price_age_seconds{pair="A/B"} 3.1',
    OracleFewSources: 'oracle_sources{pair="A/B"} 2\noracle_price_age_seconds{pair="A/B"} 1',
    OracleSourceDeviates: 'oracle_source_deviation_ratio{pair="A/B",provider="p"} -0.011',
    OracleSourceLate: 'oracle_source_lag_seconds{pair="A/B",provider="p"} -1.1',
    OracleProviderSilent: [
      'oracle_trades_total{provider="p"} 5',
      'oracle_trades_total{provider="p"} 5',
    ],
  },
  node: {
    NodeStopped: ["node_block_number 5", "node_block_number 5"],
    NodeCheckpointsMissed: ["node_checkpoints_missed_total 0", "node_checkpoints_missed_total 11"],
    NodePullsFail: [
      'node_oracle_pulls_total{outcome="ok"} 0',
      'node_oracle_pulls_total{outcome="ok"} 94\nnode_oracle_pulls_total{outcome="timeout"} 6\nnode_oracle_late_answers_total 0',
    ],
    NodePricesMissing: 'node_price_slots_needed{market="A/B"} 1',
    NodePricesStale: 'node_price_fresh{market="A/B"} 0',
    NodeNeedsBackfill: "node_theses_without_prices 1",
    NodeStorageFailed: "node_storage_writable 0",
  },
  exchanges: { MemoryHigh: "process_resident_memory_bytes 1000000001" },
  bridge: {
    BridgeRefusesDeposits:
      'bridge_deposit_requests_total{status="200"} 89\nbridge_deposit_requests_total{status="503"} 11',
    BridgeNotRelayer: "bridge_relayer_permitted 0",
    BridgeDepositsStuck: ["bridge_deposits_pending 2", "bridge_deposits_pending 1"],
    BridgeDepositsFail: 'bridge_deposits_total{outcome="failed"} 1',
  },
  solver: {
    HealthFailed: 'solver_problem{code="CHAIN_REWOUND"} 1',
    SolverProbabilitiesWrong: calibration(20),
    SolverExposureUnknown: "solver_exposure_complete 0",
    SolverExposureHigh: "solver_exposure_usdc 81\nsolver_exposure_limit_usdc 100",
    SolverExposureFull: "solver_exposure_usdc 96\nsolver_exposure_limit_usdc 100",
    SolverBalanceLow: "solver_balance_usdc 0\nsolver_locked_usdc 0",
    SolverRefusesBets: 'solver_execute_answers_total{outcome="PRICE_STALE"} 1',
    SolverExecutionsFail: 'solver_executions_total{outcome="failed"} 1',
    SolverWithoutPrices: 'solver_quotes_total{kind="quote",outcome="PRICE_UNAVAILABLE"} 1',
  },
};

/** The page notices the first itself, and the second has a test of its own. */
const OTHERS = ["ServiceDown", "ServiceRestarting"];

Deno.test("findingsOf: each figure beyond its bound is reported, with message, first step and chapter", () => {
  for (const [service, problems] of Object.entries(WRONG) as [ServiceName, typeof WRONG.node][]) {
    for (const [chapter, figures] of Object.entries(problems)) {
      const [before, after] = typeof figures === "string" ? ["", figures] : figures;
      const [first, second] = service === "node" && chapter !== "NodeStopped" ? ALIVE : ["", ""];
      const state = stateOf(service, [`${before}\n${first}`, `${after}\n${second}`]);
      const findings = findingsOf([state]);
      assert.deepEqual(findings.map((finding) => finding.chapter), [chapter]);
      for (const { text, firstStep, severity, effect } of findings) {
        assert.match(text, /^[\dA-Zp][^{}]+$/, chapter);
        assert.match(firstStep, /^[^{}]+\.$/);
        assert(severity === "warning" || effect !== undefined, `${chapter}: what do users notice?`);
      }
    }
  }
});

Deno.test("findingsOf: the command of a first step names the market", () => {
  const { NodePricesMissing } = WRONG.node;
  const [found] = findingsOf([
    stateOf("node", ALIVE.map((figures) => `${figures}\n${NodePricesMissing}`)),
  ]);
  assert.match(found?.firstStep ?? "", / rangemaker backfill --market A\/B --from /);
});

Deno.test("PROBLEMS: every one is tested here", () => {
  const reported = new Set([...Object.values(WRONG).flatMap(Object.keys), ...OTHERS]);
  assert.deepEqual(PROBLEMS.map(({ name }) => name).filter((name) => !reported.has(name)), []);
});

Deno.test("findingsOf: a deposit that is pending at the first look is not one that stays pending", () => {
  assert.deepEqual(findingsOf([stateOf("bridge", ["bridge_deposits_pending 1"])]), []);
});

Deno.test("findingsOf: deposits stay pending also while their number is unknown for a moment", () => {
  const found = (...pending: string[]) =>
    findingsOf([stateOf("bridge", pending.map((count) => `bridge_deposits_pending ${count}`))])
      .map(({ chapter }) => chapter);
  assert.deepEqual(found("2", "Nan", "1"), ["BridgeDepositsStuck"]);
  assert.deepEqual(found("Nan", "Nan", "Nan"), []);
});

Deno.test("findingsOf: three restarts are reported until 15 minutes have passed", () => {
  const found = (...startedS: number[]) =>
    findingsOf([stateOf("oracle", startedS.map((s) => `process_start_time_seconds ${s}`))])
      .map(({ chapter, text, cause }) => [chapter, text, cause]);
  const text = "It has restarted 3 times in 15 minutes";
  assert.deepEqual(found(1, 1, 2, 3, 4, 4), [["ServiceRestarting", text, undefined]]);
  assert.deepEqual(found(1, 2, 2, 3), []);
  const since = (count: number) => found(1, 2, 3, ...Array(count).fill(4)).map(([name]) => name);
  assert.deepEqual(since(88), ["ServiceRestarting"]);
  assert.deepEqual(since(89), []);
});

Deno.test("findingsOf: memory of a process is reported once, for its first service", () => {
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

Deno.test("findingsOf: a service that is down, unhealthy or unready has a reason; causes come first", () => {
  const problems = findingsOf([
    stateOf("proxy", ["", "proxy_broadcast_reconnects_total 9"]),
    stateOf("oracle", [], { presence: "gone", reason: "It cannot be reached" }),
    stateOf("solver", [], { isReady: false, complaints: ["The store is read-only"] }),
    stateOf("bridge", [], { isHealthy: false, health: "failed" }),
  ]);
  assert.deepEqual(problems.map(({ service, chapter, cause }) => [service, chapter, cause]), [
    ["oracle", "ServiceDown", undefined],
    ["bridge", "Health and readiness", undefined],
    ["solver", "Health and readiness", "oracle"],
    ["proxy", "ProxyReconnecting", "oracle"],
  ]);
  const [oracle, bridge, solver] = problems;
  assert.match(oracle?.effect ?? "", /no new bets/);
  assert.deepEqual([oracle?.details, solver?.details], [
    ["It cannot be reached"],
    ["The store is read-only"],
  ]);
  assert.deepEqual([bridge?.text, solver?.text], ["Its health is failed", "It is not ready"]);
  assert.match(bridge?.firstStep ?? "", /^Fix what it reports in its log; /);
  assert.match(solver?.firstStep ?? "", /^Fix what it reports here or in its log; /);
  assert(problems.every(({ severity, effect }) => severity === "warning" || effect !== undefined));
});

Deno.test("findingsOf: a service that is away has a first step, and its chapters exist", () => {
  for (const name of ["exchanges", "oracle", "node", "proxy", "bridge", "solver"] as const) {
    const [found = assert.fail()] = findingsOf([gone(name)]);
    assert.equal(/continues/.test(found.firstStep), name !== "exchanges", "its trades are lost");
    assert.equal(found.chapter, "ServiceDown");
  }
  // Naming this origin alone would shut out the pages that are allowed now.
  const { firstStep } = findingsOf([being("oracle", "forbidden")])[0] ?? assert.fail();
  assert.match(firstStep, /^Add .* to its --cors-origins, and restart it\.$/);
  const commands = [
    "docker compose restart <service>",
    "systemctl restart rangemaker-one@<service>",
    "kill -CONT <pid>",
    "kill -KILL <pid>",
    "ps -eo pid,stat,pcpu,etime,args | grep '[m]ain.ts <service>'",
  ];
  for (const command of commands) assert(runbooks.includes(command), command);
});

Deno.test("nextLook: problems and verdicts keep the time when they were first seen until they end", () => {
  const [healthy, failing] = [stateOf("node", [...ALIVE]), FULL_DISK];
  const look = (last: Look, state: ServiceState, nowMs: number) =>
    nextLook(last, [state], findingsOf([state]), nowMs);
  const timesOf = ({ findings, verdicts }: Look) => [
    ...findings.map(({ chapter, sinceMs }) => [chapter, sinceMs]),
    ...verdicts.map(({ text, sinceMs }) => [text, sinceMs]),
  ];
  const first = look({ findings: [], verdicts: [] }, failing, 1_000);
  assert.deepEqual(timesOf(first), [["NodeStorageFailed", 1_000], ["✕ has a problem", 1_000]]);
  const second = look(first, failing, 2_000);
  assert.deepEqual(second, first);
  const ended = look(second, healthy, 3_000);
  assert.deepEqual(timesOf(ended), [["✓ healthy, ready", 3_000]]);
  const again = look(ended, failing, 4_000);
  assert.deepEqual(timesOf(again)[0], ["NodeStorageFailed", 4_000], "it is another one");
});

Deno.test("findingsOf: refused bets are the share of the alert's window, by code, with the steps for them", () => {
  const answers = (accepted: number, full: number, stale = 0) =>
    `solver_execute_answers_total{outcome="accepted"} ${accepted}\n` +
    `solver_execute_answers_total{outcome="EXPOSURE_TOO_LARGE"} ${full}\n` +
    `solver_execute_answers_total{outcome="PRICE_STALE"} ${stale}`;
  const refusedAfter = (...texts: string[]) => findingsOf([stateOf("solver", texts)]);
  const texts = [answers(0, 0), answers(60, 0), answers(60, 5), answers(60, 20)];
  const [refused] = refusedAfter(...texts);
  assert.match(refused?.text ?? "", /^It refuses 25\s% of the signed bets/);
  assert.deepEqual(refused?.details, ["EXPOSURE_TOO_LARGE: 20 in the last 30 s"]);
  assert.match(refused?.firstStep ?? "", /^`EXPOSURE_TOO_LARGE`: wait .* raise `--max-exposure`\./);
  const later = Array.from({ length: 29 }, () => answers(60, 20));
  assert.equal(refusedAfter(...texts, ...later).length, 1, "the alert fires for as long");
  assert.deepEqual(refusedAfter(...texts, ...later, ...later.slice(0, 2)), []);
  const [both] = refusedAfter(answers(0, 0), answers(0, 185, 1));
  assert.equal(both?.details[1], "PRICE_STALE: 1 in the last 10 s");
});

Deno.test("findingsOf: quotes without a price are normal while the solver starts", () => {
  const quotes = 'solver_quotes_total{kind="quote",outcome="VOLATILITY_UNAVAILABLE"}';
  const foundAfter = (seconds: number) => {
    const started = `process_start_time_seconds ${10 - seconds}`;
    return findingsOf([stateOf("solver", [`${quotes} 0\n${started}`, `${quotes} 9\n${started}`])])
      .map(({ chapter }) => chapter);
  };
  assert.deepEqual([foundAfter(89), foundAfter(91)], [[], ["SolverWithoutPrices"]]);
});

Deno.test("verdictOf: the verdict counts consequences, too, and names the services", () => {
  const [critical] = findingsOf([gone("node")]);
  assert(critical !== undefined);
  const warning = { ...critical, severity: "warning" } as const;
  const following = { ...critical, cause: "node" } as const;
  const cases = [
    [[warning], ["warning", "▲ 1 warning: node."]],
    [[critical, critical, warning, following], [
      "lost",
      "✕ 3 critical problems, ▲ 1 warning: node.",
    ]],
    [[warning, following], ["lost", "✕ 1 critical problem, ▲ 1 warning: node."]],
  ] as const;
  for (const [findings, expected] of cases) assert.deepEqual(verdictOf(findings), expected);
});

Deno.test("findingsOf: a number counted for less than the window of its alert is called “at least”", () => {
  const textOf = (more = "") =>
    findingsOf([stateOf("node", SKIPPED.map((text) => text + more))])[0]?.text;
  assert.equal(textOf(), "It has skipped at least 139 checkpoints in 10 minutes");
  assert.equal(
    textOf("\nprocess_start_time_seconds 0"),
    "It has skipped 139 checkpoints in 10 minutes",
  );
  const missed = PROBLEMS.find(({ name }) => name === "NodeCheckpointsMissed");
  assert(missed !== undefined);
  assert.equal(alertText(missed).replaceAll("\u00a0", " "), "alert above 10 in 10 min");
  assert.equal(countedFor(missed, stateOf("node", SKIPPED).history), 10_000);
});

Deno.test("findingsOf: bad health that a figure explains is reported once, with the service's own words", () => {
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
  const full = "solver_exposure_usdc 99000000\nsolver_exposure_limit_usdc 99000000";
  const unready = { isReady: false, complaints: ["no prices"] };
  assert.deepEqual(
    findingsOf([stateOf("solver", [full], unready)]).map(({ text }) => text)[0],
    "It is not ready",
    "a full exposure is no reason",
  );
});

Deno.test("worstOf: the worst value is the highest or the lowest, depending on the comparison", () => {
  const samples = [3, 1, 2].map((value) => ({ labels: {}, value }));
  const worst = ([">", "<", "=="] as const).map((op) => worstOf({ op, limit: 0 }, samples));
  assert.deepEqual(worst, [3, 1, 1]);
  assert.equal(worstOf({ op: ">", limit: 0 }, []), undefined);
  assert.equal(
    worstOf({ op: ">", limit: 1 }, [{ labels: {}, value: -1 }]),
    0,
    "far from its bound",
  );
});

Deno.test("findingsOf: one problem of several markets is one line, with the worst value", () => {
  const old = 'oracle_price_age_seconds{pair="A/B"} 3.1\noracle_price_age_seconds{pair="C/D"} 7';
  const sources = 'oracle_sources{pair="A/B"} 4\noracle_sources{pair="C/D"} 4';
  const problems = findingsOf([stateOf("oracle", [`${old}\n${sources}`, `${old}\n${sources}`])]);
  assert.equal(problems.length, 1);
  assert.match(problems[0]?.text ?? "", /A\/B, C\/D.*7\.0 s/);
});

Deno.test("FIGURES: two bounds of one figure are shown as one figure", () => {
  const limits = FIGURES.filter(({ title }) => /limit/.test(title ?? "")).map(({ bound }) =>
    bound.limit
  );
  assert.deepEqual(limits, [0.8]);
  assert(FIGURES.length > 25);
});
