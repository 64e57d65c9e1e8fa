import assert from "node:assert/strict";
import { MetricsHistory, parseMetrics } from "../../../../services/console/page/data/metrics.ts";
import { formatShare, formatTime } from "../../../../services/console/page/parts/format.ts";
import type { ServiceName } from "../../../../services/console/page/data/service_watch.ts";
import {
  faultText,
  figuresText,
  formatAge,
  formatPoints,
  formatValue,
  sourceVerdictOf,
  usageOf,
} from "../../../../services/console/page/operator/figures.ts";

/** Figures of a service that were read twice, half a minute apart. */
function historyOf(before: string, after: string): MetricsHistory {
  return new MetricsHistory().with(0, parseMetrics(before)).with(30_000, parseMetrics(after));
}

const rows: [ServiceName, before: string[], after: string[], figures: string[]][] = [
  ["exchanges", ["exchanges_trades_total 5"], ["exchanges_trades_total 25"], ["40"]],
  ["oracle", ["oracle_trades_total 0"], ["oracle_trades_total 1200"], ["2,400"]],
  ["node", [], ["node_block_number 77", "node_theses_unsettled 3"], ["77", "3"]],
  ["proxy", [], ["proxy_ws_connections_active 12"], ["12"]],
  [
    "bridge",
    ['bridge_deposits_total{outcome="committed"} 1'],
    ['bridge_deposits_total{outcome="committed"} 3', 'bridge_deposits_total{outcome="failed"} 5'],
    ["4"],
  ],
  [
    "solver",
    ['solver_quotes_total{kind="quote"} 1', 'solver_quotes_total{kind="estimate"} 2'],
    [
      'solver_quotes_total{kind="quote"} 5',
      'solver_quotes_total{kind="estimate"} 4',
      'solver_executions_total{outcome="committed"} 3',
      'solver_executions_total{outcome="failed"} 5',
      "solver_exposure_limit_usdc 1000",
    ],
    ["8", "6", "1,000"],
  ],
];

for (const [name, before, after, expected] of rows) {
  Deno.test(`usageOf: the figures of ${name} are its newest values and its counts per minute`, () => {
    const figures = usageOf(name, historyOf(before.join("\n"), after.join("\n")));
    assert.deepEqual(figures.map(([, text]) => text), expected);
  });
}

Deno.test("usageOf: counts per minute are unknown until a service was watched for 15 s", () => {
  const trades = parseMetrics("exchanges_trades_total 5");
  const rateAfter = (ms: number) =>
    usageOf("exchanges", new MetricsHistory().with(0, trades).with(ms, trades));
  assert.deepEqual(rateAfter(14_999), [["Trades a minute", "–"]]);
  assert.deepEqual(rateAfter(15_000), [["Trades a minute", "0"]]);
});

Deno.test("figuresText: figures are not called good if their service is not healthy", () => {
  const since = `, watched since ${formatTime(7)}`;
  assert.equal(figuresText(5, 3, false, 7), `5 figures, 3 beyond their bounds${since}`);
  assert.equal(figuresText(5, 1, false, 7), `5 figures, 1 beyond its bound${since}`);
  assert.equal(figuresText(5, 0, true, 7), `5 figures, all within their bounds${since}`);
  assert.equal(figuresText(5, 0, false, 7), `5 figures${since}`, "it has another problem");
});

Deno.test("formatValue, formatShare, formatAge: values are written in their unit, flags as yes and no", () => {
  assert.deepEqual([0.0123, 0.5, -0.0001].map(formatShare), [
    "1.2\u00a0%",
    "50\u00a0%",
    "0.0\u00a0%",
  ]);
  const values = ([[0.02, "share"], [2, "seconds"], [1.2e9, "bytes"], [0.126, undefined]] as const)
    .map(([value, unit]) => formatValue(value, { unit }));
  assert.deepEqual(values, ["2.0\u00a0%", "2.0 s", "1,200 MB", "0.13"]);
  assert.deepEqual([1, 0].map((value) => formatValue(value, { isFlag: true })), ["yes", "no"]);
  assert.equal(formatValue(-0.5, {}), "−0.5");
  assert.deepEqual([340.4, 2_100].map(formatAge), ["340 ms", "2.1 s"]);
});

Deno.test("sourceVerdictOf: a source is faulty if it is not connected, or silent in all markets", () => {
  const streamsOf = (...ages: (number | null)[]) =>
    Object.fromEntries(ages.map((lastTradeAgeMs, index) => [`${index}`, { lastTradeAgeMs }]));
  const cases = [
    [false, [40], "✕ not connected"],
    [true, [17_000, 40], "✓"],
    [true, [17_000, 19_000], "✕ silent for 17 s"],
    [true, [10_000, null], "✓"],
    [true, [null, null], "✕ connected, but sends no prices"],
  ] as const;
  for (const [ready, ages, expected] of cases) {
    const source = { ready, streams: streamsOf(...ages) };
    assert.equal(sourceVerdictOf(source)[1], expected);
  }
  assert.deepEqual([0.04, -0.04, 1.25, -3].map(formatPoints), [
    "0.0 bp",
    "0.0 bp",
    "+1.3 bp",
    "−3.0 bp",
  ]);
});

Deno.test("faultText: does not say the kind of a fault twice", () => {
  const texts = {
    "silent: silent for 5000 ms": "silent for 5000 ms",
    "not_opened: not open after 3000 ms": "not open after 3000 ms",
    "closed: closed with 1006": "closed with 1006",
    "not_opened: cannot be connected to": "not opened: cannot be connected to",
    "stream_silent: ETH/USDT for 20000 ms": "stream silent: ETH/USDT for 20000 ms",
  };
  assert.deepEqual(Object.keys(texts).map(faultText), Object.values(texts));
});
