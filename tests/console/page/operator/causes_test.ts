/** Which problem is the cause, and which follow from it. */
import assert from "node:assert/strict";
import type { ServiceState } from "../../../../services/console/page/data/service_watch.ts";
import { followingText, isFolded } from "../../../../services/console/page/operator/causes.ts";
import {
  type Finding,
  serviceVerdictOf,
} from "../../../../services/console/page/operator/finding.ts";
import { findingsOf } from "../../../../services/console/page/operator/problems.ts";
import {
  ALIVE,
  backFor,
  being,
  calibration,
  FULL_DISK,
  gone,
  listOf,
  MISSING,
  nodeWith,
  SKIPPED,
  stateOf,
  UNREADY,
  unready,
} from "./states.ts";

const CAUSES: [what: string, states: ServiceState[], expected: string][] = [
  ["all are healthy", [nodeWith()], ""],
  ["not every service was asked", [UNREADY, being("oracle", "unknown")], ""],
  [
    "the first answer of one is overdue",
    [UNREADY, being("oracle", "overdue")],
    "oracle, solver (oracle)",
  ],
  ["a needed service does not answer", [gone("node"), UNREADY], "node, solver (node)"],
  [
    "a needed service was away until 20 s ago",
    [backFor("oracle", 20_000), UNREADY],
    "solver (oracle)",
  ],
  ["a needed service has been back for longer", [backFor("oracle", 20_001), UNREADY], "solver"],
  ["a service that is away comes before its consequences and other problems", [
    nodeWith("node_theses_without_prices 1"),
    gone("proxy"),
    stateOf("solver", ["", "solver_exposure_complete 0"], { isReady: false }),
  ], "proxy, node, solver (proxy), solver (proxy)"],
  [
    "all but the bridge need the exchanges",
    [
      gone("exchanges"),
      ...(["oracle", "node", "proxy", "bridge", "solver"] as const).map(unready),
    ],
    "exchanges, bridge, oracle (exchanges), node (exchanges), proxy (exchanges), solver (exchanges)",
  ],
  ["nothing explains that a service is away", [gone("node"), gone("solver")], "node, solver"],
  ["a service that does not allow the page to read it works for others", [
    being("node", "forbidden"),
    UNREADY,
  ], "node, solver"],
  ["missing prices come before services that are away, unless one of these is the cause", [
    MISSING,
    gone("bridge"),
  ], "node, bridge"],
  ["missing prices, and their cause", [MISSING, gone("oracle")], "oracle, node (oracle)"],
  ["missing prices stay missing when their cause is back", [MISSING, backFor("oracle", 1)], "node"],
  ["nothing explains another chain", [
    backFor("node", 1),
    stateOf("bridge", ['bridge_problem{code="CHAIN_MISMATCH"} 1']),
  ], "bridge"],
  [
    "a needed service cannot store anything",
    [FULL_DISK, unready("bridge"), UNREADY],
    "node, bridge (node), solver (node)",
  ],
  ["the first of several that fail is the cause; without prices, proxy and bridge work", [
    stateOf("oracle", ['oracle_sources{pair="A/B"} 0']),
    nodeWith('node_price_fresh{market="A/B"} 0'),
    ...(["proxy", "bridge", "solver"] as const).map(unready),
  ], "oracle, proxy, bridge, node (oracle), solver (oracle), oracle (oracle)"],
  ["a service that works with a problem explains nothing", [
    stateOf(
      "proxy",
      ALIVE.map((_, index) => `proxy_upstream_errors_total{target="read"} ${99 * index}`),
    ),
    UNREADY,
  ], "proxy, solver"],
  ["a full disk explains that no block is sealed", [
    stateOf("node", [
      "node_block_number 1\nnode_storage_writable 1",
      "node_block_number 1\nnode_storage_writable 0",
    ]),
  ], "node, node (node)"],
  ["the other problems of a service without its read node follow from that", [
    stateOf(
      "proxy",
      ALIVE.map((_, index) =>
        `proxy_broadcast_upstream_connected 0\nproxy_read_node_up{node="n"} 0\n` +
        `proxy_upstream_errors_total{target="read"} ${99 * index}`
      ),
    ),
    UNREADY,
  ], "proxy, proxy (proxy), solver (proxy), proxy (proxy)"],
  ["a full exposure has no other cause than an outage", [
    FULL_DISK,
    stateOf("solver", ["solver_exposure_usdc 99000000\nsolver_exposure_limit_usdc 99000000"]),
  ], "node, solver"],
  ["nothing explains a full disk", [gone("oracle"), FULL_DISK], "oracle, node"],
  [
    "nothing explains wrong forecasts",
    [gone("exchanges"), stateOf("solver", [calibration(20)])],
    "exchanges, solver",
  ],
  ["forecasts of under 20 windows are not judged", [stateOf("solver", [calibration(19)])], ""],
  ["a warning counts what happened while its service was away", [
    backFor("oracle", 60_000),
    stateOf("node", SKIPPED, { awayAgoMs: 590_000 }),
  ], "node (node)"],
  ["a service was not away while its warning was counted", [
    stateOf("node", SKIPPED, { awayAgoMs: 600_001 }),
  ], "node"],
  ["a later outage of another service does not change that", [
    gone("exchanges"),
    stateOf("node", SKIPPED, { awayAgoMs: 590_000 }),
  ], "exchanges, node (node)"],
  ["a service that is back may take 20 s", [
    stateOf("bridge", [], { isHealthy: false, awayAgoMs: 20_000 }),
  ], "bridge (bridge)"],
  ["what is wrong now comes before an absence that is over", [
    gone("node"),
    stateOf("solver", [], { isReady: false, awayAgoMs: 1 }),
  ], "node, solver (node)"],
  ["nothing excuses a late source", [
    backFor("exchanges", 1),
    stateOf("oracle", ['oracle_source_lag_seconds{pair="A/B"} 2']),
  ], "oracle"],
  [
    "it has had time since",
    [stateOf("bridge", [], { isHealthy: false, awayAgoMs: 20_001 })],
    "bridge",
  ],
  ["a node that is back needs the missing prices", [{
    ...MISSING,
    lastAwayAtMs: MISSING.lastAnswerAtMs!,
  }], "node"],
];

for (const [what, states, expected] of CAUSES) {
  Deno.test(`findingsOf, causes: ${what}`, () => {
    assert.equal(listOf(...states), expected);
  });
}

Deno.test("followingText: consequences of an outage that is over are not critical, and say when they end", () => {
  const few = stateOf("proxy", ["", "proxy_broadcast_reconnects_total 9"]);
  const textOf = (oracle: ServiceState) => {
    const states = [oracle, UNREADY, few];
    return followingText(findingsOf(states), states);
  };
  assert.equal(
    textOf(gone("oracle")),
    "2 more problems (1 critical), probably because oracle does not answer",
  );
  assert.equal(
    textOf(unready("oracle")),
    "1 more problem (1 critical), probably because oracle does not work",
  );
  assert.equal(
    textOf(backFor("oracle", 20_000)),
    "2 problems, probably because oracle was away: this should end within 10 min",
  );
  assert.match(
    textOf({ ...backFor("oracle", 1), presence: "forbidden" }),
    /because oracle was away/,
  );
  const back = [{ ...MISSING, lastAwayAtMs: MISSING.history.latestMs }, UNREADY];
  assert.match(followingText(findingsOf(back), back), /because node was away/);
});

Deno.test("withCause: after a start, the first step is to wait; a number that was counted before needs no step", () => {
  const [started] = findingsOf([stateOf("bridge", [], { isHealthy: false, awayAgoMs: 1 })]);
  assert.match(
    started?.firstStep ?? "",
    /wait 20 s\. If the problem remains: Fix what it reports in its log/,
  );
  const [counting] = findingsOf([stateOf("node", SKIPPED, { awayAgoMs: 60_000 })]);
  assert.match(counting?.firstStep ?? "", /^Nothing, unless the number grows/);
});

Deno.test("isFolded: after a start, what a service lacks is shown; what it counted before is folded", () => {
  const foldedOf = (state: ServiceState) => findingsOf([state]).map(isFolded);
  assert.deepEqual(foldedOf(stateOf("solver", [], { isReady: false, awayAgoMs: 1 })), [false]);
  assert.deepEqual(foldedOf(stateOf("node", SKIPPED, { awayAgoMs: 1 })), [true]);
});

Deno.test("isFolded: a consequence is folded below its cause, unless it is missing prices of open bets", () => {
  const states = [gone("oracle"), MISSING, UNREADY];
  const found = findingsOf(states);
  assert.deepEqual(found.map(isFolded), [false, false, true]);
  assert.match(followingText(found, states), /^1 more problem \(1 critical\), probably because/);
});

Deno.test("serviceVerdictOf: a service is not called bad for the problem of another", () => {
  const states = [nodeWith(), UNREADY];
  const [own] = findingsOf(states);
  assert(own !== undefined);
  const verdictWith = (more: Partial<Finding>) =>
    serviceVerdictOf(UNREADY, [{ ...own, ...more }])[1];
  assert.equal(verdictWith({}), "✕ has a problem");
  assert.equal(verdictWith({ cause: "node" }), "▲ probably because of node");
  assert.equal(verdictWith({ cause: "solver" }), "▲ was away");
  assert.equal(verdictWith({ severity: "warning" }), "▲ has a warning");
  const verdictBeing = (presence: ServiceState["presence"]) =>
    serviceVerdictOf({ ...UNREADY, presence }, [])[1];
  assert.equal(verdictBeing("unknown"), "… asking");
  assert.equal(verdictBeing("gone"), "✕ does not answer");
  assert.equal(verdictBeing("forbidden"), "✕ does not allow this page to read it");
});
