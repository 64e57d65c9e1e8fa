/** The maker's page: the solver's answers. */
import assert from "node:assert/strict";
import { parseMetrics } from "../../../../services/console/page/data/metrics.ts";
import {
  answersOf,
  countText,
  meaningOf,
  refusedText,
  startText,
} from "../../../../services/console/page/maker/answers.ts";

Deno.test("answersOf: lists successes, then refusals at the maker's limits, then other refusals by count, without estimates", () => {
  const metrics = parseMetrics(
    `solver_execute_answers_total{outcome="executed"} 12
    solver_execute_answers_total{outcome="DURATION_TOO_LONG"} 3
    solver_execute_answers_total{outcome="PRICE_MOVED"} 50
    solver_quotes_total{kind="quote",outcome="EXPOSURE_TOO_LARGE"} 1
    solver_execute_answers_total{outcome="WINDOW_ENDED"} 0
    solver_quotes_total{kind="quote",outcome="quoted"} 70
    solver_quotes_total{kind="estimate",outcome="quoted"} 90
    solver_quotes_total{kind="estimate",outcome="RATE_LIMITED"} 99
    solver_quotes_total{kind="quote",outcome="PRICE_STALE"} 8
    solver_execute_answers_total{outcome="INVALID_REQUEST"} 40
    solver_execute_answers_total{outcome="UNSUPPORTED_MEDIA_TYPE"} 30
    solver_execute_answers_total{outcome="ORIGIN_NOT_ALLOWED"} 20
    solver_quotes_total{kind="quote",outcome="DURATION_TOO_LONG"} 9`.replace(/^ +/gm, ""),
  );
  const answers = answersOf(metrics);
  assert.deepEqual(answers.map(({ outcome, counts }) => [outcome, counts]), [
    ["executed", [12, 0]],
    ["quoted", [0, 70]],
    ["EXPOSURE_TOO_LARGE", [0, 1]],
    ["PRICE_MOVED", [50, 0]],
    ["INVALID_REQUEST", [40, 0]],
    ["UNSUPPORTED_MEDIA_TYPE", [30, 0]],
    ["ORIGIN_NOT_ALLOWED", [20, 0]],
    ["DURATION_TOO_LONG", [3, 9]],
    ["PRICE_STALE", [0, 8]],
  ]);
  assert.equal(
    refusedText(answers),
    "53 of 65 signed bets (82\u00a0%) and 18 of 88 quotes (20\u00a0%) refused",
    "without requests that say nothing about the offer",
  );
  assert.deepEqual(
    answers.map((answer) => countText(answer, 0, answers).replace("\u00a0", " ")),
    ["12 (18\u00a0%)", "0", "0", "50 (77\u00a0%)", "40", "30", "20", "3 (4.6\u00a0%)", "0"],
    "shares of the same 65",
  );
  assert.deepEqual(answersOf(parseMetrics("")), []);
  assert.equal(refusedText([]), "0 of 0 signed bets and 0 of 0 quotes refused");
});

Deno.test("meaningOf: a refusal has its meaning, and an unknown one none, whatever its name", () => {
  const textOf = (outcome: string) => meaningOf({ outcome, counts: [] });
  assert.equal(textOf("PRICE_STALE"), "The node had no fresh price.");
  for (const odd of ["executed", "NEW", "constructor", "__proto__"]) assert.equal(textOf(odd), "");
});

Deno.test("startText: has the time of the solver's start, if it is known", () => {
  assert.match(
    startText(parseMetrics("process_start_time_seconds 1700000007")),
    /^the solver’s start at \d\d:\d\d:27$/,
  );
  assert.equal(startText(parseMetrics("")), "the solver’s start");
});
