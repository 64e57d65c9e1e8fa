import assert from "node:assert/strict";
import { stepOf } from "../../services/console/page/trade/live_chart.ts";

Deno.test("LiveChart: a page that nobody has touched for ten seconds moves in steps of two prices", () => {
  assert.equal(stepOf(9_900, false), 0);
  assert.equal(stepOf(10_100, false), 200);
});

Deno.test("LiveChart: with reduced motion, time moves in half seconds, touched or not", () => {
  assert.deepEqual([0, 60_000].map((restedMs) => stepOf(restedMs, true)), [500, 500]);
});
