import assert from "node:assert/strict";
import { quoteLife } from "../../services/console/page/trade/quote_life.ts";

const quote = { deadline: 30_000, endTime: 60_000 };

Deno.test("quoteLife: counts to five seconds before the deadline, after which nothing is signed", () => {
  assert.deepEqual(quoteLife(quote, 0), { state: "valid", remainingMs: 25_000 });
  assert.deepEqual(quoteLife(quote, 24_999), { state: "valid", remainingMs: 1 });
  assert.deepEqual(quoteLife(quote, 25_000), { state: "expired", remainingMs: 0 });
});

Deno.test("quoteLife: ends with the window where that is sooner, also for a page that slept", () => {
  const short = { ...quote, endTime: 4_000 };
  assert.deepEqual(quoteLife(short, 1_000), { state: "valid", remainingMs: 3_000 });
  assert.deepEqual(quoteLife(short, 4_000), { state: "window_over", remainingMs: 0 });
  assert.deepEqual(quoteLife(quote, 3_600_000), { state: "window_over", remainingMs: 0 });
});
