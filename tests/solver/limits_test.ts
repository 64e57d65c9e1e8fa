import assert from "node:assert/strict";
import { RangemakerError } from "../../lib/errors.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import type { BetTerms } from "../../lib/protocol/terms.ts";
import {
  requireDeadline,
  requireRules,
  requireStart,
  type TimeBounds,
} from "../../services/solver/limits.ts";
import { user } from "./support.ts";
import { termsAt } from "./theses.ts";

const DAY_MS = 86_400_000;

/** What a check refuses with; undefined if it accepts. */
function refusalOf(check: () => void): RangemakerError | undefined {
  try {
    check();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof RangemakerError) return thrown;
    throw thrown;
  }
}

const rules: readonly [given: Partial<BetTerms>, code?: string][] = [
  [{}, undefined],
  [{ base: user.address }, "UNSUPPORTED_PAIR"],
  [{ quote: user.address }, "UNSUPPORTED_PAIR"],
  [{ betAmount: 0n }, "BET_TOO_SMALL"],
  [{ betAmount: 1n }, undefined],
  [{ betAmount: 10n ** 12n }, undefined],
  [{ betAmount: 10n ** 12n + 1n }, "BET_TOO_LARGE"],
  [{ startTime: 5, endTime: 1_004 }, "DURATION_TOO_SHORT"],
  [{ startTime: 5, endTime: 1_005 }, undefined],
  [{ startTime: 5, endTime: 5 + DAY_MS }, undefined],
  [{ startTime: 5, endTime: 6 + DAY_MS }, "DURATION_TOO_LONG"],
  [{ lowerPrice: 7n, upperPrice: 8n }, undefined],
  [{ lowerPrice: 7n, upperPrice: 7n }, "INVALID_PRICE_RANGE"],
  [{ lowerPrice: 8n, upperPrice: 7n }, "INVALID_PRICE_RANGE"],
  // The first rule that is broken.
  [{ base: user.address, betAmount: 0n }, "UNSUPPORTED_PAIR"],
  [{ betAmount: 0n, startTime: 5, endTime: 4 }, "BET_TOO_SMALL"],
  [{ startTime: 5, endTime: 4, lowerPrice: 7n, upperPrice: 7n }, "DURATION_TOO_SHORT"],
];

for (const [given, code] of rules) {
  const name = Object.entries(given).map(([field, value]) => `${field} ${value}`).join(", ");
  Deno.test(`Limits: a bet with ${name || "good terms"} is ${code ?? "accepted"}`, () => {
    const refusal = refusalOf(() => requireRules({ ...termsAt(0), ...given }, SPEC_MARKETS));
    assert.equal(refusal?.code, code);
  });
}

const bounds: TimeBounds = { maxStartAheadMs: 10, maxStartBehindMs: 20, maxDeadlineMs: 30 };
const nowMs = 1_000;

const starts: readonly [startTime: number, code: string | undefined][] = [
  [1_010, undefined],
  [1_011, "INVALID_TIME_RANGE"],
  [980, undefined],
  [979, "INVALID_TIME_RANGE"],
];

for (const [startTime, code] of starts) {
  const name = `a window that starts in ${startTime - nowMs} ms is ${code ?? "accepted"}`;
  Deno.test(`Limits: ${name}`, () => {
    assert.equal(refusalOf(() => requireStart(termsAt(startTime), nowMs, bounds))?.code, code);
  });
}

Deno.test("Limits: a deadline is at most as far away as its bound", () => {
  assert.equal(refusalOf(() => requireDeadline(1_030, nowMs, bounds)), undefined);
  assert.equal(refusalOf(() => requireDeadline(1_031, nowMs, bounds))?.code, "INVALID_REQUEST");
});

Deno.test("Limits: a refusal has the numbers of its text in its details", () => {
  const refusal = refusalOf(() => requireRules({ ...termsAt(0), betAmount: 0n }, SPEC_MARKETS));
  assert.equal(refusal?.message, "Bet of 0 USDC is below 0.000001 USDC: bet more");
  assert.deepEqual(refusal?.details, { betAmount: "0", minBetAmount: "1" });
  const start = refusalOf(() => requireStart(termsAt(979), nowMs, bounds));
  assert.match(start?.message ?? "", /^Window started 21 ms ago, at most 20 ms are allowed/);
  assert.deepEqual([start?.details.startsInMs, start?.details.maxStartBehindMs], [-21, 20]);
});
