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
  being,
  calibration,
  FULL_DISK,
  gone,
  listOf,
  MISSING,
  nodeWith,
  stateOf,
  UNREADY,
  unready,
} from "./states.ts";

const CAUSES: [what: string, states: ServiceState[], expected: string][] = [
  ["all are healthy", [nodeWith()], ""],
  ["not every service was asked", [UNREADY, being("oracle", "unknown")], ""],
  ["a needed service does not answer", [gone("node"), UNREADY], "node, solver (node)"],
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
  ["nothing explains another chain", [
    gone("node"),
    stateOf("bridge", ['bridge_problem{code="CHAIN_MISMATCH"} 1']),
  ], "node, bridge"],
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
  ["nothing excuses a late source", [
    gone("exchanges"),
    stateOf("oracle", ['oracle_source_lag_seconds{pair="A/B"} 2']),
  ], "exchanges, oracle"],
];

for (const [what, states, expected] of CAUSES) {
  Deno.test(`findingsOf, causes: ${what}`, () => {
    assert.equal(listOf(...states), expected);
  });
}

Deno.test("isFolded: a consequence is folded below its cause, unless it is missing prices of open bets", () => {
  const found = findingsOf([gone("oracle"), MISSING, UNREADY]);
  assert.deepEqual(found.map(isFolded), [false, false, true]);
  assert.equal(followingText(found.filter(isFolded)), "1 problem, probably because of oracle");
});

Deno.test("serviceVerdictOf: a service is not called bad for the problem of another", () => {
  const node = nodeWith();
  const [own] = findingsOf([node, UNREADY]);
  assert(own !== undefined);
  assert.equal(serviceVerdictOf(node, [own])[1], "✓ healthy, ready");
  const verdictWith = (more: Partial<Finding>) =>
    serviceVerdictOf(UNREADY, [{ ...own, ...more }])[1];
  assert.equal(verdictWith({}), "✕ has a problem");
  assert.equal(verdictWith({ cause: "node" }), "▲ probably because of node");
  assert.equal(verdictWith({ severity: "warning" }), "▲ has a warning");
  const verdictBeing = (presence: ServiceState["presence"]) =>
    serviceVerdictOf({ ...UNREADY, presence }, [])[1];
  assert.equal(verdictBeing("unknown"), "… asking");
  assert.equal(verdictBeing("gone"), "✕ does not answer");
  assert.equal(verdictBeing("forbidden"), "✕ does not allow this page to read it");
});
