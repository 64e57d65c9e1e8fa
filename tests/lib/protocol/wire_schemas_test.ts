/**
 * What goes over the wire: each schema needs its fields, no others, and refuses wrong values.
 * Bodies of requests: tests/refusals.
 */
import assert from "node:assert/strict";
import type * as z from "zod/mini";
import { accountSchema } from "../../../lib/protocol/account.ts";
import * as answers from "../../../lib/protocol/answers.ts";
import * as prices from "../../../lib/protocol/price.ts";
import { quoteSchema, quoteToWire } from "../../../lib/protocol/quote.ts";
import { receiptSchema, TRANSACTION_ERROR_CODES } from "../../../lib/protocol/receipt.ts";
import { isUnsettled, thesisSchema } from "../../../lib/protocol/thesis.ts";
import { toWire } from "../../../lib/json.ts";
import { typedDataSchema } from "../../../lib/protocol/typed_data.ts";

const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const hash = `0x${"ab".repeat(32)}`;
const signature = `0x${"11".repeat(65)}`;
const pair = { base: address, quote: address };
const box = { user: address, thesisType: "box" as const };
const range = { lowerPrice: "1", upperPrice: "2" };
const times = { startTime: 100, endTime: 200 };
const error = { code: "QUOTE_EXPIRED", message: "late" };

const quote = {
  ...box,
  ...times,
  betAmount: "3",
  payout: "4",
  deadline: 300,
  signature,
  solver: address,
  oraclePair: pair,
  priceRange: { lower: "1", upper: "2" },
};
const thesis = {
  id: 1,
  ...box,
  ...pair,
  ...range,
  ...times,
  solver: address,
  betAmount: "3",
  payout: "4",
  createdAt: 50,
  quoteHash: hash,
  txHash: hash,
  status: "lost" as const,
  settledAt: 250,
  breach: { time: 100, price: "18446744073709551615" },
};
const price = { ...pair, price: "5", decimals: 6 as const, lastUpdate: 9 };
const entry = { ...price, sources: ["provider_a", "provider_b"] };
const receipt = { txHash: hash, status: "failed", thesisId: 1, error };
const estimate = { betAmount: "3", payout: "4", multiplier: "13.3333", solverCollateral: "1" };

interface Wire {
  schema: z.ZodMiniType;
  example: Record<string, unknown>;
  /** Parses and encodes again, for types with a different inner form. */
  encode?: (value: unknown) => unknown;
  optional?: string[];
  /** Values that one field, by its name, must not have. */
  wrong?: Record<string, unknown[]>;
}

const wires: Record<string, Wire> = {
  account: {
    schema: accountSchema,
    example: { address, balance: "0", locked: "1", permissions: ["relayer", "admin"] },
    wrong: { permissions: ["", ["solver"], [""]] },
  },
  quote: {
    schema: quoteSchema,
    encode: (value) => quoteToWire(quoteSchema.parse(value)),
    example: quote,
    wrong: { oraclePair: [{}], priceRange: [{}, { lower: "1" }, { upper: "1" }] },
  },
  receipt: {
    schema: receiptSchema,
    example: { ...receipt, blockNumber: 0, filledSlots: 0 },
    optional: ["thesisId", "filledSlots", "error"],
    wrong: { status: ["", "pending"], error: [{}, { ...error, code: "" }], blockNumber: [-1, 0.5] },
  },
  thesis: {
    schema: thesisSchema,
    example: thesis,
    optional: ["settledAt", "breach"],
    wrong: { breach: [{}, { time: 1 }, { price: "1" }], status: [""], id: [0, 1.5] },
  },
  "price of the oracle": {
    schema: prices.priceEntrySchema,
    example: entry,
    wrong: { price: ["0"], decimals: [5], sources: [[], [1]] },
  },
  "prices of the oracle": {
    schema: prices.oraclePricesSchema,
    example: { timestamp: 1, prices: { "ETH/USDT": entry } },
    wrong: { prices: [{ "ETH/USDT": price }] },
  },
  "price of the node": {
    schema: prices.nodePriceSchema,
    example: { ...price, ageMs: 0, state: "stale" },
    wrong: { decimals: [5], ageMs: [-1, 0.5], state: ["", "gone"] },
  },
  "health of the solver": {
    schema: answers.solverHealthSchema,
    example: { status: "ok", solver: address, dryRun: false },
    wrong: { status: [""] },
  },
  "answer to a quote request": {
    schema: answers.quoteAnswerSchema,
    encode: (value) => {
      const { success, quote } = answers.quoteAnswerSchema.parse(value);
      return { success, quote: quoteToWire(quote) };
    },
    example: { success: true, quote },
    wrong: { success: [false], quote: [{}] },
  },
  "answer to an estimate request": {
    schema: answers.estimateAnswerSchema,
    example: { success: true, estimate },
    wrong: {
      success: [false],
      estimate: [
        {},
        ...["1.33", "x1.3333", "1.33330"].map((text) => ({ ...estimate, multiplier: text })),
      ],
    },
  },
  "answer to an execution": {
    schema: answers.executeAnswerSchema,
    example: { success: true, result: receipt },
    wrong: { success: [false], result: [{}, { txHash: hash }] },
  },
  "answer to a deposit": {
    schema: answers.depositAnswerSchema,
    example: { success: true, txHash: hash },
    wrong: { success: [false] },
  },
  "typed data": {
    schema: typedDataSchema,
    example: {
      domain: { name: "Core", version: "1", chainId: 1 },
      types: { "Core:A": [{ name: "a", type: "address" }] },
      primaryType: "Core:A",
    },
    wrong: { domain: [{}, { name: "Core", version: "1", chainId: 0 }], types: [{ A: [{}] }] },
  },
};

function fieldsOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return null;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fieldsOf(inner)]));
}

for (
  const [what, { schema, example, encode, optional = [], wrong = {} }] of Object.entries(wires)
) {
  Deno.test(`Wire, ${what}: every field is read and checked, and required unless optional`, () => {
    const accepts = (value: unknown) => schema.safeParse(value).success;
    const parsed = schema.parse(example);
    assert.deepEqual(fieldsOf(encode === undefined ? parsed : encode(example)), fieldsOf(example));
    for (const name of Object.keys(example)) {
      const { [name]: _, ...rest } = example;
      assert.equal(accepts(rest), optional.includes(name), `without ${name}`);
      const isRecord = name === "prices" || name === "types"; // these may be empty
      for (const value of [null, Symbol("odd"), ...isRecord ? [] : [{}], ...wrong[name] ?? []]) {
        assert(!accepts({ ...example, [name]: value }), `${name}: ${Deno.inspect(value)}`);
      }
    }
  });
}

Deno.test("Wire: each code of a failed transaction, state of a price and status of a thesis is accepted", () => {
  for (const code of TRANSACTION_ERROR_CODES) {
    assert.match(code, /^[A-Z_]+$/);
    receiptSchema.parse({ ...receipt, blockNumber: 1, error: { ...error, code } });
  }
  receiptSchema.parse({ ...receipt, blockNumber: 1, error: { ...error, code: "ANOTHER_NODES" } });
  receiptSchema.parse({ txHash: hash, status: "committed", blockNumber: 1 });
  prices.nodePriceSchema.parse({ ...price, ageMs: 1, state: "fresh" });
  const statuses = ["open", "needs_backfill", "won", "lost"] as const;
  for (const status of statuses) thesisSchema.parse({ ...thesis, status });
  assert.deepEqual(statuses.filter(isUnsettled), ["open", "needs_backfill"]);
});

Deno.test("Wire, thesis: parse and toWire are inverse, with and without a breach", () => {
  for (const each of [thesis, { ...thesis, breach: undefined }]) {
    assert.deepEqual(toWire(thesisSchema.parse(each)), each);
  }
});

Deno.test("toWire: converts only bigints, at every depth", () => {
  const other = { text: "a", number: 1.5, none: null, absent: undefined, flag: true };
  assert.deepEqual(toWire({ big: 7n, list: [8n, { big: 9n, ...other }], ...other }), {
    big: "7",
    list: ["8", { big: "9", ...other }],
    ...other,
  });
  assert.equal(toWire(null), null);
});
