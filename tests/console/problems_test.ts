import assert from "node:assert/strict";
import { MetricsHistory, parseMetrics } from "../../services/console/page/data/metrics.ts";
import type { ServiceName, ServiceState } from "../../services/console/page/data/service_watch.ts";
import {
  anchorOf,
  noProblemText,
  problemsOf,
} from "../../services/console/page/operator/problems.ts";

/** A healthy service whose figures were read every 10 s. */
function stateOf(name: ServiceName, texts: string[], more: Partial<ServiceState> = {}) {
  const history = texts.reduce(
    (history, text, index) => history.with(index * 10_000, parseMetrics(text)),
    new MetricsHistory(),
  );
  const healthy = { isUp: true, isHealthy: true, isReady: true, reason: "", health: "healthy" };
  return { name, url: "", version: "1", complaints: [], history, ...healthy, ...more };
}

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
  ["oracle", "", 'oracle_sources{pair="A/B"} 1', "OraclePairWithoutPrice"],
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
    'oracle_prints_total{provider="p"} 5',
    'oracle_prints_total{provider="p"} 5',
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
    'node_oracle_pulls_total{outcome="ok"} 94\nnode_oracle_pulls_total{outcome="timeout"} 6',
    "NodePullsFail",
  ],
  [
    "node",
    'node_price_slots_missing_total{market="A/B"} 0',
    'node_price_slots_missing_total{market="A/B"} 1',
    "NodePricesMissing",
  ],
  ["node", "", 'node_theses_settled_total{status="needs_backfill"} 1', "NodeNeedsBackfill"],
  ["node", "", "node_storage_writable 0", "NodeStorageFailed"],
  ["bridge", "", 'bridge_deposits_total{outcome="failed"} 1', "BridgeDepositsFail"],
  ["bridge", "bridge_retries_total 0", "bridge_retries_total 7", "BridgeRetrying"],
  ["solver", "", "solver_exposure_complete 0", "SolverExposureUnknown"],
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

/** So that a node counts as alive where its blocks are not what is looked at. */
const ALIVE = ["node_block_number 1", "node_block_number 2"] as const;

Deno.test("Problems: each figure out of bounds is said, with the chapter that says what to do", async () => {
  const guide = await Deno.readTextFile(new URL("../../docs/operating.md", import.meta.url));
  for (const [service, before, after, chapter] of WRONG) {
    const [first, second] = service === "node" && chapter !== "NodeStopped" ? ALIVE : ["", ""];
    const state = stateOf(service, [`${before}\n${first}`, `${after}\n${second}`]);
    assert.deepEqual(problemsOf([state]).map((problem) => problem.chapter), [chapter]);
    assert(guide.includes(`### ${chapter}\n`), chapter);
  }
});

Deno.test("Problems: a service that is away, ill or not ready says why; critical ones come first", () => {
  const problems = problemsOf([
    stateOf("proxy", ["", "proxy_broadcast_reconnects_total 9"]),
    stateOf("oracle", [], { isUp: false, reason: "It cannot be reached" }),
    stateOf("solver", [], { isReady: false, complaints: ["The store is read-only"] }),
    stateOf("bridge", [], { isHealthy: false, health: "failed" }),
  ]);
  assert.deepEqual(problems.map(({ service, chapter }) => [service, chapter]), [
    ["oracle", "ServiceDown"],
    ["solver", "Health and readiness"],
    ["bridge", "Health and readiness"],
    ["proxy", "ProxyReconnecting"],
  ]);
  assert.match(problems[0]?.text ?? "", /^It cannot be reached\. .*--cors-origins/);
  assert.equal(problems[1]?.text, "It is not ready: The store is read-only");
  assert.equal(problems[2]?.text, "Its health is failed.");
  assert.equal(anchorOf("Health and readiness"), "docs/operating.md#health-and-readiness");
});

Deno.test("Problems: healthy services, and those not asked yet, have none", () => {
  const unknown = { isUp: undefined };
  assert.deepEqual(problemsOf([stateOf("node", [...ALIVE]), stateOf("oracle", [], unknown)]), []);
});

Deno.test("Problems: without one, the page says which services it does not watch", () => {
  assert.equal(noProblemText(["solver", "oracle", "node"]), "✓ Nothing: all services work.");
  assert.match(
    noProblemText(["solver", "oracle"]),
    /the services below work.* the node: .* --node-url\.$/,
  );
  assert.match(
    noProblemText(["solver"]),
    /the oracle and the node: .* --oracle-url and --node-url\.$/,
  );
});
