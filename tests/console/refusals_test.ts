/** The maker's page: the solver's answers. */
import assert from "node:assert/strict";
import { MetricsHistory, parseMetrics } from "../../services/console/page/data/metrics.ts";
import {
  answersOf,
  lacksHistory,
  RECENT_MS,
  startText,
} from "../../services/console/page/maker/refusals.ts";

/** Answers to bets by outcome, read a minute apart. */
function historyOf(...reads: Record<string, number>[]): MetricsHistory {
  return reads.reduce((history, counts, index) => {
    const lines = Object.entries(counts).map(([outcome, count]) =>
      `solver_execute_answers_total{outcome="${outcome}"} ${count}`
    );
    return history.with(60_000 * index, parseMetrics(lines.join("\n")), RECENT_MS);
  }, new MetricsHistory());
}

/** The counts of answers to bets. */
const betsOf = (history: MetricsHistory) =>
  answersOf(history).map((
    { outcome, counts: [bets] },
  ) => [outcome, bets?.recent, bets?.sinceStart]);

Deno.test("answersOf: the accepted requests first, then refusals by their count since the start, of bets before quotes and estimates", () => {
  const history = [[10, 50, 0], [12, 50, 3]].reduce(
    (history, [executed, moved, long], index) =>
      history.with(
        60_000 * index,
        parseMetrics(
          `solver_execute_answers_total{outcome="executed"} ${executed}
          solver_execute_answers_total{outcome="DURATION_TOO_LONG"} ${long}
          solver_execute_answers_total{outcome="PRICE_MOVED"} ${moved}
          solver_execute_answers_total{outcome="WINDOW_ENDED"} 0
          solver_quotes_total{kind="quote",outcome="quoted"} 70
          solver_quotes_total{kind="estimate",outcome="quoted"} 90
          solver_quotes_total{kind="estimate",outcome="RATE_LIMITED"} 99
          solver_quotes_total{kind="quote",outcome="PRICE_STALE"} 8
          solver_quotes_total{kind="quote",outcome="DURATION_TOO_LONG"} 9`.replace(/^ +/gm, ""),
        ),
        RECENT_MS,
      ),
    new MetricsHistory(),
  );
  const rows = answersOf(history);
  assert.deepEqual(rows.map(({ outcome, counts }) => [outcome, counts.map((c) => c.sinceStart)]), [
    ["accepted", [12, 70, 90]],
    ["PRICE_MOVED", [50, 0, 0]],
    ["DURATION_TOO_LONG", [3, 9, 0]],
    ["PRICE_STALE", [0, 8, 0]],
    ["RATE_LIMITED", [0, 0, 99]],
  ]);
  assert.deepEqual(rows.map(({ counts }) => counts[0]?.recent), [2, 0, 3, 0, 0]);
});

Deno.test("answersOf: counts the last five minutes, also across a restart of the counter", () => {
  const counts = [100, 130, 4, 5, 6, 7, 8].map((executed) => ({ executed }));
  assert.deepEqual(betsOf(historyOf(...counts.slice(0, 4))), [["accepted", 30 + 4 + 1, 5]]);
  assert.deepEqual(betsOf(historyOf(...counts)), [["accepted", 4 + 4, 8]], "one minute is too old");
});

Deno.test("answersOf: keeps recent answers from before a restart that have not come since", () => {
  const history = historyOf(
    { executed: 1, VOLATILITY_UNAVAILABLE: 10 },
    { executed: 3, VOLATILITY_UNAVAILABLE: 50 },
    { executed: 2 },
  );
  assert.deepEqual(betsOf(history), [
    ["accepted", 4, 2],
    ["VOLATILITY_UNAVAILABLE", 40, 0],
  ]);
});

Deno.test("lacksHistory: from the first refusal for lack of price history until something is priced", () => {
  const textOf = (outcome: string, count: number) =>
    `solver_quotes_total{kind="estimate",outcome="${outcome}"} ${count}`;
  const refused = textOf("VOLATILITY_UNAVAILABLE", 3);
  const cases = [[], [textOf("VOLATILITY_UNAVAILABLE", 0)], [refused, textOf("quoted", 0)], [
    refused,
    textOf("quoted", 1),
  ]];
  assert.deepEqual(cases.map((lines) => lacksHistory(parseMetrics(lines.join("\n")))), [
    ...[false, false, true, false],
  ]);
});

Deno.test("startText: has the time of the solver's start, if it is known", () => {
  assert.match(
    startText(parseMetrics("process_start_time_seconds 1700000007")),
    /^the solver’s start at \d\d:\d\d:27$/,
  );
  assert.equal(startText(parseMetrics("")), "the solver’s start");
});
