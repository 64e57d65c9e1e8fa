/** The maker's page: the solver's answers and its limit. */
import assert from "node:assert/strict";
import { MetricsHistory, parseMetrics } from "../../services/console/page/data/metrics.ts";
import {
  answersTo,
  headroomOf,
  RECENT_MS,
  REQUESTS,
  spanOf,
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

Deno.test("answersTo: lists executed bets first, then refusals by their count since the start, with both counts", () => {
  const history = historyOf(
    { executed: 10, PRICE_MOVED: 50, WINDOW_ENDED: 0 },
    { executed: 12, PRICE_MOVED: 50, DURATION_TOO_LONG: 3, WINDOW_ENDED: 0 },
  );
  assert.deepEqual(answersTo(BETS, history), [
    { outcome: "executed", recent: 2, total: 12, lastMs: 60_000 },
    { outcome: "PRICE_MOVED", recent: 0, total: 50, lastMs: undefined },
    { outcome: "DURATION_TOO_LONG", recent: 3, total: 3, lastMs: 60_000 },
  ]);
  assert.deepEqual(answersTo(QUOTES, history), []);
});

Deno.test("answersTo: counts the last five minutes, also across a restart of the counter", () => {
  const counts = [100, 130, 4, 5, 6, 7, 8].map((executed) => ({ executed }));
  assert.deepEqual(answersTo(BETS, historyOf(...counts.slice(0, 4))), [
    { outcome: "executed", recent: 30 + 4 + 1, total: 5, lastMs: 180_000 },
  ]);
  const [last] = answersTo(BETS, historyOf(...counts)); // the first minute is too old
  assert.deepEqual(last, { outcome: "executed", recent: 4 + 4, total: 8, lastMs: 360_000 });
});

Deno.test("answersTo: keeps recent answers from before a restart that have not come since", () => {
  const history = historyOf(
    { executed: 1, VOLATILITY_UNAVAILABLE: 10 },
    { executed: 3, VOLATILITY_UNAVAILABLE: 50 },
    { executed: 2 },
  );
  assert.deepEqual(answersTo(BETS, history), [
    { outcome: "executed", recent: 4, total: 2, lastMs: 120_000 },
    { outcome: "VOLATILITY_UNAVAILABLE", recent: 40, total: 0, lastMs: 60_000 },
  ]);
});

Deno.test("spanOf: a history of less than 10 s has no time to show", () => {
  const spans = [0, 9_999, 10_000, 39_700, 300_000].map((spanMs) => spanOf({ spanMs }));
  assert.deepEqual(spans, [undefined, undefined, "last 10 s", "last 40 s", "last 5 min"]);
});

const roomAt = (atRisk: bigint, maxExposure: bigint | null) =>
  headroomOf(atRisk, { maxExposure, info: { config: { minBetAmount: 1_000_000n } } });

Deno.test("headroomOf: the exposure limit is fine up to 80 % used, nearly full above, and full above 95 %", () => {
  const at = (atRisk: bigint) => {
    const { style, text, used } = roomAt(atRisk, 100_000_000n);
    return [style, text, used];
  };
  assert.deepEqual(at(80_000_000n), [
    ...["won", "✓ Fine: 20.00 USDC is free. 80\u00a0% of the limit of 100.00 is used.", 0.8],
  ]);
  assert.deepEqual(at(81_000_000n), [
    "warning",
    "▲ Nearly full: bets that may lose more than 19.00 USDC are refused. " +
    "81\u00a0% of the limit of 100.00 is used.",
    0.81,
  ]);
  const [style, text] = at(95_005_001n);
  assert.equal(style, "lost");
  assert.match(
    `${text}`,
    /^✕ Full: bets that may lose more than 4\.99 USDC are refused/,
    "cut off",
  );
  assert.match(`${at(120_000_000n)[1]}`, /more than 0\.00 USDC/);
});

Deno.test("headroomOf: a limit below the smallest bet gets a warning about its decimals", () => {
  const { style, text, used } = roomAt(0n, 5_000n);
  assert.deepEqual([style, used], ["warning", undefined]);
  assert.match(text, /^▲ The limit is 0\.005 USDC: .* counts 6 decimals/);
});

Deno.test("headroomOf: notes that no limit is set, or that the solver has not answered", () => {
  const rooms = [headroomOf(1n, undefined), roomAt(1n, null)];
  assert.deepEqual(rooms.map(({ style }) => style), ["note", "note"]);
  assert.match(rooms[0]?.text ?? "", /once solver and chain answer/);
  assert.match(rooms[1]?.text ?? "", /^No limit is set/);
});
