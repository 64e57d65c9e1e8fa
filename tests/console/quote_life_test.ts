import assert from "node:assert/strict";
import { formatTime } from "../../services/console/page/format.ts";
import {
  isOutside,
  outsideText,
  overText,
  signableMs,
  windowText,
} from "../../services/console/page/trade/quote_life.ts";

/** Its window starts at once. */
const quote = { deadline: 30_000, startTime: 2_999, endTime: 60_000 };

Deno.test("signableMs: a quote expires five seconds before its deadline", () => {
  assert.equal(signableMs(quote, 0), 25_000);
  assert.equal(signableMs(quote, 24_999), 1);
  assert.equal(signableMs(quote, 25_000), 0);
});

Deno.test("signableMs: a quote whose window has ended expires even before its deadline", () => {
  const short = { ...quote, endTime: 4_000 };
  assert.equal(signableMs(short, 1_000), 3_000);
  assert.equal(signableMs(short, 4_000), 0);
  assert.equal(signableMs(quote, 3_600_000), 0);
});

Deno.test("signableMs: a quote for a later window expires at its start", () => {
  const later = { ...quote, startTime: 3_000 };
  assert.equal(signableMs(later, 2_999), 1);
  assert.equal(signableMs(later, 3_000), 0);
  for (const [nowMs, text] of [[3_000, "begun"], [26_000, "begun"], [60_000, "ended"]] as const) {
    assert.equal(overText(later, nowMs), `Too late: the window has ${text}.`);
  }
  assert.equal(overText(quote, 26_000), "The quote has expired.");
  assert.equal(overText({ ...quote, startTime: 25_001 }, 26_000), "The quote has expired.");
});

Deno.test("windowText: the deadline is the start of a window; of one that starts at once then the end of the quote or the window", () => {
  const window = { deadline: 38_000, startTime: 10_000, endTime: 30_000 };
  const text = "Sign within 2 s, before the window starts. It lasts 20 s.";
  assert.equal(windowText(window, 8_100), text);
  assert.equal(windowText(window, 9_999), text.replace("2 s", "1 s"));
  const begun = (left: string) =>
    `The window has begun. Sign within ${left}: ` +
    "the maker may refuse it now; then nothing is taken.";
  assert.equal(windowText(window, 10_000), begun("20 s"));
  assert.equal(windowText(window, 27_500), begun("3 s"));
  assert.equal(windowText(window, 29_999), begun("1 s"));
  assert.equal(windowText({ ...window, endTime: 60_000 }, 28_000), begun("5 s"));
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
