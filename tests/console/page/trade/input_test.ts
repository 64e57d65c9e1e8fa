import assert from "node:assert/strict";
import { durationText } from "../../../../services/console/page/parts/format.ts";
import {
  numberError,
  tryParseDecimal,
  tryParseDuration,
  unitOf,
} from "../../../../services/console/page/trade/input.ts";

const numbers: Record<string, bigint | undefined> = {
  "10": 10_000_000n,
  " 10.5 ": 10_500_000n,
  "10,5": 10_500_000n,
  "0,000001": 1n,
  "1234": 1_234_000_000n,
  "1 234,5": 1_234_500_000n,
  "1'234.5": 1_234_500_000n,
  "1,234.5": 1_234_500_000n,
  "1.234,5": 1_234_500_000n,
  "1,234,567.25": 1_234_567_250_000n,
  "3,000.00": 3_000_000_000n,
  "0,123": 123_000n,
  "1.234": 1_234_000n,
  "1234,567": 1_234_567_000n,
  "12,34.5": undefined,
  "1234,567.5": undefined,
  "12,345.5": 12_345_500_000n,
  "1,2345.5": undefined,
  "1.2.3": undefined,
  "1,5,5": undefined,
  "0": undefined,
  "0,0": undefined,
  "-1": undefined,
  "1e3": undefined,
  "10,": undefined,
  "": undefined,
  "ten": undefined,
  "0.0000001": undefined,
  "12.3456789": undefined,
  "12,3456789": undefined,
};

for (const [text, expected] of Object.entries(numbers)) {
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

const durations: Record<string, number | undefined> = {
  "15": 15_000,
  "15 s": 15_000,
  "1.5s": 1_500,
  "0,5 sec": 500,
  "5 m": 300_000,
  "5MIN": 300_000,
  "2 minutes": 120_000,
  "2 h": 7_200_000,
  "1 hour": 3_600_000,
  "1 d": 86_400_000,
  "2 days": 172_800_000,
  "1 day": 86_400_000,
  "2 hours": 7_200_000,
  "1 min": 60_000,
  "1 minute": 60_000,
  "2 mins": 120_000,
  "1 second": 1_000,
  "2 secs": 2_000,
  "2.125 s": 2_125,
  " 3 s ": 3_000,
  "0": 0,
  "": undefined,
  "-1 s": undefined,
  "5 x": undefined,
  "1e3": undefined,
  "1 m 30 s": 90_000,
  "1h 10min": 4_200_000,
  "1:30": undefined,
  "1 30 s": undefined,
  "1 m x": undefined,
  "5 xm": undefined,
  "5 mx": undefined,
  "5 xh": undefined,
  "5 hx": undefined,
  "5 xd": undefined,
  "5 dx": undefined,
  "5 s!": undefined,
};

for (const [text, expected] of Object.entries(durations)) {
  Deno.test(`tryParseDuration: ${JSON.stringify(text)} is ${expected ?? "no duration"}`, () => {
    assert.equal(tryParseDuration(text), expected);
  });
}

Deno.test("durationText: a duration is read back as the same", () => {
  for (const ms of [0, 100, 15_000, 90_000, 125_000, 300_000, 3_600_000, 5_400_000, 86_400_000]) {
    assert.equal(tryParseDuration(durationText(ms)), ms);
  }
});

Deno.test("unitOf: a plain number counts seconds, also while it is typed", () => {
  for (const text of ["25", " 2.5 ", "1,", "0"]) assert.equal(unitOf(text), "s", text);
  for (const text of ["", "25 s", "2:05", "5 min", "-1", "a"]) {
    assert.equal(unitOf(text), undefined);
  }
});
