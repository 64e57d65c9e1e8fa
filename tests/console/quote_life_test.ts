import assert from "node:assert/strict";
import { formatTime } from "../../services/console/page/format.ts";
import {
  isOutside,
  outsideText,
  overText,
  signableMs,
  windowText,
} from "../../services/console/page/trade/quote_life.ts";

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

Deno.test("windowText: the deadline is the start of a window", () => {
  const window = { deadline: 38_000, startTime: 10_000, endTime: 30_000 };
  const text = "Sign within 2 s, before the window starts. It lasts 20 s.";
  assert.equal(windowText(window, 8_100), text);
  assert.equal(windowText(window, 9_999), text.replace("2 s", "1 s"));
});

Deno.test("windowText: the deadline is the end of the quote if that is before the window starts", () => {
  const window = { deadline: 15_000, startTime: 10_001, endTime: 30_001 };
  assert.equal(
    windowText(window, 100),
    `Sign within 10 s. The window starts at ${formatTime(10_001)} and lasts 20 s.`,
  );
  assert.match(windowText({ ...window, startTime: 10_000 }, 100), /, before the window starts\./);
});

Deno.test("outsideText: a price outside the box may return until the window starts, and the deadline is the same", () => {
  const box = { lowerPrice: 10n, upperPrice: 12n };
  const outside = [9n, 10n, 12n, 13n].map((price) => isOutside(box, price));
  assert.deepEqual(outside, [true, false, false, true]);
  const times = { deadline: 60_000, startTime: 10_000, endTime: 30_000 };
  assert.match(outsideText(times, 8_100), /inside when the window starts, or .* within 2 s\.$/);
  assert.match(outsideText({ ...times, deadline: 14_000 }, 8_100), /Sign within 1 s\.$/);
});
