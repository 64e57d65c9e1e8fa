import assert from "node:assert/strict";
import {
  numberError,
  tryParseDecimal,
  tryParseDuration,
} from "../../../../services/console/page/trade/input.ts";

const numbers: Record<string, bigint> = {
  "10": 10_000_000n,
  " 10.5 ": 10_500_000n,
  "10,5": 10_500_000n,
  "0,000001": 1n,
  "1 234,5": 1_234_500_000n,
  "1'234.5": 1_234_500_000n,
  "1,234.5": 1_234_500_000n,
  "1.234,5": 1_234_500_000n,
  "1,234,567.25": 1_234_567_250_000n,
  "0,123": 123_000n,
  "1.234": 1_234_000n,
  "1234,567": 1_234_567_000n,
};
const mixed = ["1234,567.5", "1,2345.5", "1.2.3"];
const noNumbers = ["0", "-1", "1e3", "10,", "", "0.0000001", "12.3456789", "12,3456789"];

for (const text of [...Object.keys(numbers), ...mixed, ...noNumbers]) {
  const expected = numbers[text];
  Deno.test(`tryParseDecimal: ${JSON.stringify(text)} is ${expected ?? "no number"}`, () => {
    assert.equal(tryParseDecimal(text), expected);
  });
}

Deno.test("numberError: a comma before three digits is ambiguous, with both readings", () => {
  for (const text of ["1,234", "10,500", " 100,000 "]) {
    assert.equal(tryParseDecimal(text), undefined);
    const plain = text.trim();
    const [whole, decimal] = [plain.replace(",", ""), plain.replace(",", ".")];
    const error = `Write ${whole} or ${decimal}: “${plain}” can mean both`;
    assert.equal(numberError(text, "a price", "above 0"), error);
  }
});

const durations: Record<string, number> = {
  "15": 15_000,
  "15 s": 15_000,
  "1.5s": 1_500,
  "0,5 sec": 500,
  "5MIN": 300_000,
  "2.125 s": 2_125,
  " 3 s ": 3_000,
  "0": 0,
  "1 m 30 s": 90_000,
  "1h 10min": 4_200_000,
};
const noDurations = ["", "-1 s", "1e3", "1:30", "1 30 s", "1 m x", "5 s!"];

for (const text of [...Object.keys(durations), ...noDurations]) {
  const expected = durations[text];
  Deno.test(`tryParseDuration: ${JSON.stringify(text)} is ${expected ?? "no duration"}`, () => {
    assert.equal(tryParseDuration(text), expected);
  });
}

Deno.test("tryParseDuration: each unit has its names, and no others", () => {
  const names = {
    86_400_000: ["d", "day", "days"],
    3_600_000: ["h", "hour", "hours"],
    60_000: ["m", "min", "mins", "minute", "minutes"],
    1_000: ["s", "sec", "secs", "second", "seconds"],
  };
  for (const [ms, units] of Object.entries(names)) {
    for (const unit of units) {
      assert.equal(tryParseDuration(`2 ${unit}`), 2 * Number(ms), unit);
      for (const other of [`x${unit}`, `${unit}x`]) {
        assert.equal(tryParseDuration(`2 ${other}`), undefined, other);
      }
    }
  }
});
