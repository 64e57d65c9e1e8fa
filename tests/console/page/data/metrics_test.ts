import assert from "node:assert/strict";
import { Counter, Gauge, Registry } from "prom-client";
import {
  Metrics,
  MetricsHistory,
  parseMetrics,
  TREND_MAX,
  WINDOW_MS,
} from "../../../../services/console/page/data/metrics.ts";

Deno.test("parseMetrics: reads the output of the services' own library, including odd labels", async () => {
  const registers = [new Registry()];
  const odd = 'a "quoted", \\slashed\n{line}';
  const counter = new Counter({
    name: "c_total",
    help: "Help.",
    labelNames: ["x", "y"],
    registers,
  });
  counter.inc({ x: odd, y: "1" }, 2.5);
  counter.inc({ x: "b", y: "1" }, 4);
  new Gauge({ name: "g", help: "Help.", registers }).set(-1e-7);
  new Gauge({ name: "endless", help: "Help.", registers }).set(Infinity);
  new Gauge({ name: "bottomless", help: "Help.", registers }).set(-Infinity);
  new Gauge({ name: "unknown", help: "Help.", registers }).set(NaN);
  const metrics = parseMetrics(await registers[0]!.metrics());
  assert.equal(metrics.sum("c_total"), 6.5);
  assert.equal(metrics.sum("c_total", { x: odd }), 2.5);
  assert.equal(metrics.sum("c_total", { x: "other" }), undefined);
  assert.equal(metrics.sum("g"), -1e-7);
  assert.deepEqual([metrics.sum("endless"), metrics.sum("bottomless")], [Infinity, -Infinity]);
  assert.equal(metrics.sum("unknown"), NaN, "it is no 0");
  assert.deepEqual(metrics.samplesOf("c_total", { x: "b" }), [{
    labels: { x: "b", y: "1" },
    value: 4,
  }]);
});

Deno.test("parseMetrics: skips lines that are not samples", () => {
  const metrics = parseMetrics(
    "<html>\nNo upstream\n# TYPE a gauge\na 1 1700000000000\na{b=\n9b 1\nc 1 2 x",
  );
  const sums = ["a", "b", "c", "No"].map((name) => metrics.sum(name));
  assert.deepEqual(sums, [1, undefined, undefined, undefined]);
});

Deno.test("MetricsHistory: an increase covers the last minute, also across a restart", () => {
  let history = new MetricsHistory();
  assert.deepEqual([history.latest, history.spanMs], [new Metrics(new Map()), 0]);
  assert.equal(history.increase("c"), 0);
  const at = (ms: number, value: number) => history = history.with(ms, parseMetrics(`c ${value}`));
  at(0, 100);
  assert.equal(history.increase("c"), 0);
  at(1_000, 110);
  at(2_000, 3); // began anew
  assert.deepEqual([history.increase("c"), history.spanMs], [13, 2_000]);
  at(WINDOW_MS + 1_500, 5);
  assert.equal(history.increase("c"), 2);
  assert.equal(history.increase("never"), 0);
});

Deno.test("MetricsHistory: after the clock was set back, growth is counted from then on", () => {
  let history = new MetricsHistory();
  const at = (ms: number, value: number) => history = history.with(ms, parseMetrics(`c ${value}`));
  for (const ms of [0, 70_000, 3_600_000]) at(ms, 1);
  for (const ms of [100_000, 110_000, 120_000]) at(ms, ms);
  assert.deepEqual([history.spanMs, history.recent.increase("c")], [20_000, 10_000]);
});

Deno.test("MetricsHistory: a counter's window is the alert's, also across an outage and a restart", () => {
  const missed = "node_checkpoints_missed_total";
  let history = new MetricsHistory();
  const grownAt = (minutes: number, value: number, startedMinutes = -60) => {
    const text = `${missed} ${value}\nprocess_start_time_seconds ${60 * startedMinutes}`;
    history = history.with(60_000 * minutes, parseMetrics(text));
    return history.over(600_000).increase(missed);
  };
  assert.deepEqual(
    [grownAt(0, 5), grownAt(1, 109), grownAt(4, 109), grownAt(5, 248), grownAt(10, 248)],
    [0, 104, 104, 243, 243],
  );
  assert.equal(history.increase(missed), 0, "in the last minute");
  assert.deepEqual([grownAt(11, 248), grownAt(14, 248), grownAt(15.5, 248)], [139, 139, 0]);
  assert.equal(grownAt(16, 7, 15.9), 7, "a new process");
  history = new MetricsHistory();
  assert.equal(grownAt(20, 243, 15), 243, "a page that was opened after its start");
  history = new MetricsHistory();
  assert.equal(grownAt(20, 243, 9), 0, "it may be older than the window");
});

Deno.test("MetricsHistory: keeps the last values of each figure, until an answer lacks it", () => {
  let history = new MetricsHistory();
  const oldestAt = (ms: number, text: string) => {
    history = history.with(ms, parseMetrics(text));
    const trends = [...history.trends].map(([{ title }, values]) => [title, values] as const);
    return trends.find(([title]) => title === "Oldest price")?.[1];
  };
  const ageOf = (value: number) => `oracle_price_age_seconds{pair="A/B"} ${value}`;
  assert.equal(oldestAt(0, "up 1"), undefined);
  assert.deepEqual(oldestAt(1, ageOf(1)), [1]);
  assert.deepEqual(oldestAt(2, `${ageOf(2)}\noracle_price_age_seconds{pair="C/D"} 5`), [1, 5]);
  for (let ms = 3; ms < TREND_MAX + 3; ms++) oldestAt(ms, ageOf(ms));
  const full = oldestAt(10 * WINDOW_MS, ageOf(0));
  assert.equal(full?.length, TREND_MAX, "older ones are dropped, however long ago they were read");
  assert.deepEqual(full?.slice(-2), [TREND_MAX + 2, 0]);
  assert.equal(oldestAt(10 * WINDOW_MS + 1, "up 1"), undefined);
});
