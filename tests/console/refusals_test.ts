/** What the maker's page says about the solver's answers and its limit. */
import assert from "node:assert/strict";
import { MetricsHistory, parseMetrics } from "../../services/console/page/data/metrics.ts";
import {
  answersTo,
  RECENT_MS,
  REQUESTS,
  roomOf,
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

const [BETS, QUOTES] = REQUESTS;

Deno.test("answersTo: the success first, then what was most frequent lately, with both counts", () => {
  const history = historyOf(
    { executed: 10, PRICE_MOVED: 50, WINDOW_ENDED: 0 },
    { executed: 12, PRICE_MOVED: 50, DURATION_TOO_LONG: 3, WINDOW_ENDED: 0 },
  );
  assert.deepEqual(answersTo(BETS, history), [
    { outcome: "executed", recent: 2, total: 12 },
    { outcome: "DURATION_TOO_LONG", recent: 3, total: 3 },
    { outcome: "PRICE_MOVED", recent: 0, total: 50 },
  ]);
  assert.deepEqual(answersTo(QUOTES, history), []);
});

Deno.test("answersTo: the last five minutes count, and a counter that went back was restarted", () => {
  const counts = [100, 130, 4, 5, 6, 7, 8].map((executed) => ({ executed }));
  assert.deepEqual(answersTo(BETS, historyOf(...counts.slice(0, 4))), [
    { outcome: "executed", recent: 30 + 4 + 1, total: 5 },
  ]);
  const [last] = answersTo(BETS, historyOf(...counts)); // the first minute is too old
  assert.deepEqual(last, { outcome: "executed", recent: 4 + 4, total: 8 });
});

Deno.test("roomOf: fine, nearly full, and refusing while bets of the last minutes were refused", () => {
  const max = 100_000_000n;
  const quiet = historyOf({ executed: 5, EXPOSURE_TOO_LARGE: 5 }, {
    ...{ executed: 9, EXPOSURE_TOO_LARGE: 5 },
  });
  const at = (atRisk: bigint, answers = quiet) => roomOf(atRisk, { maxExposure: max, answers });
  assert.deepEqual(at(90_000_000n), { style: "won", text: "✓ Fine: 10.00 USDC is free." });
  assert.deepEqual(at(91_000_000n), {
    style: "warning",
    text: "▲ Nearly full: bets that may lose more than 9.00 USDC will be refused.",
  });
  const refusing = historyOf({ executed: 5 }, { executed: 8, EXPOSURE_TOO_LARGE: 1 });
  assert.deepEqual(at(20_000_000n, refusing), {
    style: "warning",
    text: "▲ Refusing bets that may lose more than 80.00 USDC: " +
      "25 % of the bets of the last 1 min were refused for it.",
  });
  const full = at(120_000_000n, refusing);
  assert.equal(full.style, "lost");
  assert.match(full.text, /^✕ Refusing bets that may lose more than 0\.00 USDC/);
});

Deno.test("roomOf: without a limit, and without an answer of the solver", () => {
  const texts = [undefined, { maxExposure: null, answers: historyOf() }]
    .map((solver) => roomOf(1n, solver).text);
  assert.deepEqual(texts, ["The limit is not known yet.", "No limit is set (--max-exposure)."]);
});
