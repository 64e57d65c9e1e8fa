import assert from "node:assert/strict";
import {
  amountText,
  betFromDraft,
  type DraftFields,
  draftOf,
  fieldsOf,
  parseFields,
} from "../../../../services/console/page/trade/draft.ts";
import {
  repeatedDraft,
  suggestedDraft,
  timesOf,
} from "../../../../services/console/page/trade/suggested_draft.ts";

const FIELDS: DraftFields = {
  lower: "2990.5",
  upper: "3010",
  startsIn: "8",
  lasts: "15",
  amount: "10",
};

Deno.test("draftOf: corners in any order make the same box, rounded to the digits shown", () => {
  const corners = { fromMs: 8_012, toMs: 23_044, low: 2990.123456, high: 3010.987654 };
  const draft = {
    lowerPrice: 2_990_120_000n,
    upperPrice: 3_010_990_000n,
    startsInMs: 8_000,
    durationMs: 15_000,
  };
  assert.deepEqual(draftOf(corners), draft);
  const turned = { fromMs: 23_044, toMs: 8_012, low: corners.high, high: corners.low };
  assert.deepEqual(draftOf(turned), draft);
});

Deno.test("draftOf: a box leaves 8 s to sign before it begins, and lasts a second at least", () => {
  for (const [toMs, durationMs] of [[300, 1_000], [8_300, 1_000], [20_000, 12_000]] as const) {
    const draft = draftOf({ fromMs: -5_000, toMs, low: 1, high: 2 });
    assert.deepEqual([draft?.startsInMs, draft?.durationMs], [8_000, durationMs]);
  }
});

Deno.test("draftOf: times are rounded as they are displayed", () => {
  const timesOf = (fromMs: number, lastsMs: number) => {
    const draft = draftOf({ fromMs, toMs: fromMs + lastsMs, low: 1, high: 2 });
    return [draft?.startsInMs, draft?.durationMs];
  };
  assert.deepEqual(timesOf(17_840, 122_200), [17_800, 122_000]);
  assert.deepEqual(timesOf(4_250_000, 3_000), [4_260_000, 3_000]);
});

Deno.test("draftOf: no box without height, without length, or below zero", () => {
  const corners = { fromMs: 0, toMs: 15_000, low: 100, high: 101 };
  assert.equal(draftOf({ ...corners, high: 100.0001 }), undefined);
  assert.equal(draftOf({ ...corners, toMs: 0 }), undefined);
  assert.equal(draftOf({ ...corners, fromMs: -9_000, toMs: -1_000 }), undefined, "in the past");
  assert.equal(draftOf({ ...corners, low: -1 }), undefined);
});

Deno.test("parseFields: reads the text of fieldsOf as the same box", () => {
  const draft = draftOf({ fromMs: 11_200, toMs: 19_900, low: 149.8, high: 150.2 });
  assert(draft);
  const fields = fieldsOf(draft);
  assert.deepEqual(fields, {
    lower: "149.800",
    upper: "150.200",
    startsIn: "11.2 s",
    lasts: "8.7 s",
  });
  const parsed = parseFields({ ...fields, amount: "0.51" });
  assert.deepEqual(parsed, { draft, betAmount: 510_000n, errors: {} });
});

Deno.test("fieldsOf: both prices have the digits of the market, and further ones that they need", () => {
  const times = { startsInMs: 0, durationMs: 1_000 };
  const pricesOf = (lowerPrice: bigint, upperPrice: bigint) => {
    const { lower, upper } = fieldsOf({ lowerPrice, upperPrice, ...times });
    return [lower, upper];
  };
  assert.deepEqual(pricesOf(2_998_700_000n, 2_999_380_000n), ["2998.70", "2999.38"]);
  assert.deepEqual(pricesOf(999_990_000n, 3_000_000_000n), ["999.99", "3000.00"]);
  assert.deepEqual(pricesOf(2_998_700_001n, 2_999_000_000n), ["2998.700001", "2999.00"]);
  assert.deepEqual(pricesOf(1_500_000n, 1_600_010n), ["1.50000", "1.60001"]);
  assert.deepEqual(pricesOf(123_456_000_000n, 123_457_000_000n), ["123456", "123457"]);
});

Deno.test("amountText: an amount is whole or has at least two decimals", () => {
  const texts = [10_000_000n, 12_500_000n, 12_345_000n].map(amountText);
  assert.deepEqual(texts, ["10", "12.50", "12.345"]);
});

Deno.test("repeatedDraft: an earlier box is moved around the price, with its height, length and amount", () => {
  const sides = { lowerPrice: 2_990_000_000n, upperPrice: 3_010_000_000n };
  const bet = {
    ...sides,
    betAmount: 7_500_000n,
    startTime: 50_000,
    endTime: 80_000,
  };
  const fields = { startsIn: "10 s", lasts: "30 s", amount: "7.50" };
  const again = repeatedDraft(bet, 4_000_000_000n, 10_000);
  assert.deepEqual(again, { lower: "3990.00", upper: "4010.00", ...fields });
  const cheap = { ...bet, lowerPrice: 5_000n, upperPrice: 35_000n };
  assert.equal(repeatedDraft(cheap, 10_000n, 10_000).lower, "0.001000", "not below zero");
  const endTime = bet.startTime + 4_230_000;
  const long = repeatedDraft({ ...bet, endTime }, 4_000_000_000n, 10_500);
  assert.deepEqual([long.startsIn, long.lasts], ["10.5 s", "1 h 10 min 30 s"], "to the second");
  const flat = repeatedDraft({ ...bet, upperPrice: bet.lowerPrice }, 4_000_000_000n, 10_000);
  assert.deepEqual(flat, { ...fieldsOf(suggestedDraft(4_000_000_000n)), ...fields });
});

const mistakes: readonly (readonly [keyof DraftFields, string])[] = [
  ["lower", ""],
  ["lower", "abc"],
  ["upper", "2990.5"],
  ["upper", "-1"],
  ["startsIn", "7.9"],
  ["startsIn", "86401"],
  ["lasts", "0.9"],
  ["lasts", "90000"],
  ["lasts", "1e3"],
  ["amount", "0"],
  ["amount", "0.009"],
  ["amount", "ten"],
];

Deno.test("parseFields: each wrong field has its error, and bounds are accepted", () => {
  const parsed = parseFields({ ...FIELDS, lower: "abc", lasts: "" });
  assert.deepEqual(Object.keys(parsed.errors), ["lower", "lasts"]);
  for (const wrong of [{ lower: "9999", upper: "ten" }, { lower: "ten", upper: "0.000001" }]) {
    const both = parseFields({ ...FIELDS, ...wrong, startsIn: "x" });
    assert.equal(Object.keys(both.errors).length, 2, "a field is compared with a right one only");
    assert.match(both.errors.startsIn ?? "", /^Enter 8 s to 1 d/);
  }
  for (const fields of [{ lasts: "1 d", startsIn: "1 d" }, { lasts: "1", startsIn: "8" }]) {
    assert.deepEqual(parseFields({ ...FIELDS, ...fields }).errors, {});
  }
});

Deno.test("parseFields: the length of a window has the maker's bounds", () => {
  const maker = { minDuration: 15_000, maxDuration: 3_600_000 };
  for (const lasts of ["15", "1 h"]) {
    assert.deepEqual(parseFields({ ...FIELDS, lasts }, maker).errors, {});
  }
  for (const lasts of ["14.9", "3601"]) {
    const parsed = parseFields({ ...FIELDS, lasts, startsIn: "1 d" }, maker);
    assert.deepEqual(Object.keys(parsed.errors), ["lasts"]);
    assert.match(parsed.errors.lasts ?? "", /^Enter 15 s to 1 h/);
  }
});

Deno.test("parseFields: an amount has the bounds of balance and maker, once there is a box", () => {
  const cases = [
    [{ balance: 9_999_999n }, "Enter at most 9.999999 USDC, your balance"],
    [{ balance: 10_000_000n, minBetAmount: 10_000_000n, maxBetAmount: 10_000_000n }, undefined],
    [{ balance: 0n }, undefined], // money is taken first
    [{ minBetAmount: 10_500_000n }, "Enter at least 10.50 USDC, the maker’s smallest bet"],
    [{ maxBetAmount: 9_999_999n }, "Enter at most 9.999999 USDC, the maker’s largest bet"],
  ] as const;
  for (const [bounds, amount] of cases) {
    const { errors, betAmount } = parseFields(FIELDS, bounds);
    assert.deepEqual([errors, betAmount], [amount === undefined ? {} : { amount }, 10_000_000n]);
    const other = parseFields({ ...FIELDS, lower: "abc" }, bounds);
    assert.deepEqual([other.errors.amount, Object.keys(other.errors)[0]], [amount, "lower"]);
    assert.deepEqual(parseFields({ ...FIELDS, lower: "", upper: "" }, bounds).errors, {});
  }
});

for (const [field, text] of mistakes) {
  Deno.test(`parseFields: ${field} ${JSON.stringify(text)} is refused at its field`, () => {
    const parsed = parseFields({ ...FIELDS, [field]: text });
    assert.deepEqual(Object.keys(parsed.errors), [field]);
    assert.equal(parsed.draft !== undefined, field === "amount", "the box is known");
  });
}

Deno.test("parseFields: for a text without a number, the error asks for one", () => {
  const errorOf = (text: string) => {
    const parsed = parseFields({ ...FIELDS, lower: text, amount: text });
    return [parsed.errors.lower, parsed.errors.amount];
  };
  const noNumber = "Enter a number such as 10.50, with 6 decimals at most";
  for (const text of ["1e9", "xyz", "10x", "1.2.3"]) {
    assert.deepEqual(errorOf(text), Array(2).fill(noNumber));
  }
  const small = ["Enter a price above 0", "Enter an amount of at least 0.01"];
  for (const text of ["0", "-1", "0,0000001"]) assert.deepEqual(errorOf(text), small);
  assert.deepEqual(errorOf(" "), ["Enter a price", "Enter an amount"]);
  const largest = "of at most 18,446,744,073,709";
  const large = [`Enter a price ${largest}`, `Enter an amount ${largest}`];
  for (const text of ["1000000000000000", "20,000,000,000,000", "20 000 000 000 000,5"]) {
    assert.deepEqual(errorOf(text), large);
  }
});

Deno.test("betFromDraft: times are relative to the moment of the quote", () => {
  const { draft = assert.fail(), betAmount = 0n } = parseFields(FIELDS);
  const bet = betFromDraft("ETH/USDT", draft, betAmount, 1_000_000.4);
  assert.equal(bet.startTime, 1_008_000);
  assert.equal(bet.endTime, 1_023_000);
  assert.equal(bet.deadline, 1_030_000);
});

Deno.test("suggestedDraft: lies around the price, whatever its size", () => {
  for (const price of [60_000_000_000n, 3_000_000_000n, 150_000_000n, 1_000n]) {
    for (const move of [undefined, 0, 0.0001, 1]) {
      const { lowerPrice, upperPrice, ...times } = suggestedDraft(price, move);
      assert(lowerPrice < price && price < upperPrice, `${price}`);
      assert.deepEqual(times, { startsInMs: 20_000, durationMs: 60_000 });
      const offset = Number(price - lowerPrice) / Number(upperPrice - price);
      assert(offset > 0.9 && offset < 1.1, `${price}: in the middle`);
    }
  }
});

Deno.test("timesOf: invalid times become those of the suggested box", () => {
  assert.deepEqual(timesOf(FIELDS), { startsInMs: 8_000, durationMs: 15_000 });
  const wrong = timesOf({ ...FIELDS, startsIn: "abc", lasts: "0.9" });
  assert.deepEqual(wrong, { startsInMs: 20_000, durationMs: 60_000 });
});

Deno.test("suggestedDraft: keeps the times, and is taller for a longer box", () => {
  const heights = [15_000, 61_500, 4_230_000].map((durationMs) => {
    const times = { startsInMs: 8_000, durationMs };
    const { lowerPrice, upperPrice, ...kept } = suggestedDraft(3_000_000_000n, 0.0001, times);
    assert.deepEqual(kept, times);
    return Number(upperPrice - lowerPrice) / 1e6;
  });
  assert.deepEqual(heights.map(Math.round), [4, 6, 50]);
});

Deno.test("suggestedDraft: keeps the height of a given box exactly", () => {
  const sides = { lowerPrice: 2_000_000_000n, upperPrice: 2_002_345_678n };
  const { lowerPrice, upperPrice } = suggestedDraft(3_000_000_000n, 0.0001, undefined, sides);
  assert.equal(upperPrice - lowerPrice, 2_345_678n);
});

Deno.test("suggestedDraft: is taller if the price moves more, between a lower and an upper bound", () => {
  const heights = [0, 0.0001, 0.0002, 1].map((move) => {
    const { lowerPrice, upperPrice } = suggestedDraft(3_000_000_000n, move);
    return Number(upperPrice - lowerPrice) / 3e9;
  });
  assert.deepEqual(heights.map((height) => Number(height.toFixed(4))), [
    0.0004,
    0.0023,
    0.0045,
    0.02,
  ]);
});
