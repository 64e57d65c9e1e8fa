import assert from "node:assert/strict";
import {
  isOutside,
  outsideText,
  quoteLife,
  windowText,
} from "../../services/console/page/trade/quote_life.ts";

const quote = { deadline: 30_000, endTime: 60_000 };

Deno.test("quoteLife: a quote expires five seconds before its deadline", () => {
  assert.deepEqual(quoteLife(quote, 0), { state: "valid", remainingMs: 25_000 });
  assert.deepEqual(quoteLife(quote, 24_999), { state: "valid", remainingMs: 1 });
  assert.deepEqual(quoteLife(quote, 25_000), { state: "expired", remainingMs: 0 });
});

Deno.test('quoteLife: a quote whose window has ended is "window_over", even before its deadline', () => {
  const short = { ...quote, endTime: 4_000 };
  assert.deepEqual(quoteLife(short, 1_000), { state: "valid", remainingMs: 3_000 });
  assert.deepEqual(quoteLife(short, 4_000), { state: "window_over", remainingMs: 0 });
  assert.deepEqual(quoteLife(quote, 3_600_000), { state: "window_over", remainingMs: 0 });
});

Deno.test("windowText: shows the seconds until the window starts, then until it ends", () => {
  const window = { deadline: 30_000, startTime: 10_000, endTime: 30_000 };
  assert.equal(windowText(window, 8_100), "Sign before the window starts in 2 s. It lasts 20 s.");
  assert.equal(windowText(window, 9_999), "Sign before the window starts in 1 s. It lasts 20 s.");
  assert.match(windowText(window, 10_000), /^The window has begun: 20 s left\. /);
  assert.match(
    windowText(window, 27_500),
    /: 3 s left\. The maker may refuse it now; then nothing is/,
  );
});

Deno.test("windowText: shows the seconds to sign if the quote expires before its window starts", () => {
  const window = { deadline: 15_000, startTime: 10_001, endTime: 30_001 };
  assert.equal(
    windowText(window, 100),
    "Sign within 10 s. The window starts in 10 s and lasts 20 s.",
  );
  assert.match(
    windowText({ ...window, startTime: 10_000 }, 100),
    /^Sign before the window starts /,
  );
});

Deno.test("outsideText: a price outside the box may return until the window starts", () => {
  const box = { lowerPrice: 10n, upperPrice: 12n };
  const outside = [9n, 10n, 12n, 13n].map((price) => isOutside(box, price));
  assert.deepEqual(outside, [true, false, false, true]);
  assert.match(
    outsideText({ startTime: 10_000 }, 8_100),
    /has to be inside in 2 s, .* or you lose/,
  );
});
