import assert from "node:assert/strict";
import {
  isOutside,
  overText,
  signableMs,
  windowText,
} from "../../../../services/console/page/trade/quote_life.ts";

const quote = { deadline: 30_000, startTime: 26_000, endTime: 60_000 };

Deno.test("signableMs: a quote expires five seconds before its deadline, or at the start of its window", () => {
  assert.deepEqual([0, 24_999, 25_000, 3_600_000].map((nowMs) => signableMs(quote, nowMs)), [
    25_000,
    1,
    0,
    0,
  ]);
  assert.equal(overText(quote), "The quote has expired. Nothing was placed or taken.");
  const sooner = { ...quote, startTime: 25_000 };
  assert.deepEqual([24_999, 25_000].map((nowMs) => signableMs(sooner, nowMs)), [1, 0]);
  assert.equal(overText(sooner), "Too late: the window has begun. Nothing was placed or taken.");
});

Deno.test("isOutside: a price at a side of the box is inside", () => {
  const box = { lowerPrice: 10n, upperPrice: 12n };
  const outside = [9n, 10n, 12n, 13n].map((price) => isOutside(box, price));
  assert.deepEqual(outside, [true, false, false, true]);
});

Deno.test("windowText: a window that is signed is not rounded", () => {
  const text = windowText({ startTime: 0, endTime: 4_230_000 });
  assert.match(text, /^\d\d:\d\d:\d\d for 1 h 10 min 30 s$/);
});
