/**
 * The rules of every field of a request body, and of a bet, as the specification has them: one
 * table, which `tests/refusals` sends to live services and compares with their OpenAPI documents.
 */
import { MARKETS } from "../../lib/protocol/markets.ts";
import { withField } from "../support/http_answers.ts";

/** Invalid values, by the message of the answer. The first rule is also that of a missing field. */
type Kind = readonly (readonly [advice: string, ...values: unknown[]])[];

const ADDRESS: Kind = [
  ["Expected an address", "0x01", "1".repeat(42), `0x${"g".repeat(40)}`, 1, null],
  ["Expected an address", `0x${"1".repeat(39)}`, `0x${"1".repeat(41)}`],
];
const BOX: Kind = [['Expected "box"', "range", "BOX", "", 1, null]];
const DECIMAL: Kind = [["Expected a decimal integer", "", "1.5", "-1", "0x10", "1e3", 1, null]];
const UINT64: Kind = [...DECIMAL, ["Expected an integer of at most 64 bits", `${2n ** 64n}`]];
const AMOUNT: Kind = [...UINT64, ["Expected an amount of at least 1", "0"]];
const UINT256: Kind = [...DECIMAL, ["Expected an integer of at most 256 bits", `${2n ** 256n}`]];
const TIME: Kind = [
  ["Expected a time in Unix milliseconds", "1700000000000", null],
  ["Expected a whole number", 1.5],
  ["Expected a time that is not negative", -1],
];
const SIGNATURE: Kind = [["Expected a signature", "nothing", "0xzz", "0x123", 1, null]];
const OBJECT: Kind = [["Expected an object", "x", 1, null]];

/** The fields of a body, and those that may be missing. */
export interface BodyRules {
  fields: Readonly<Record<string, Kind>>;
  optional: readonly string[];
}

const betFields = {
  thesisType: BOX,
  base: ADDRESS,
  quote: ADDRESS,
  lowerPrice: UINT64,
  upperPrice: UINT64,
  betAmount: UINT64,
  startTime: TIME,
  endTime: TIME,
  deadline: TIME,
};

export const BODIES = {
  "/quote": { fields: { user: ADDRESS, ...betFields }, optional: [] },
  "/estimate": { fields: betFields, optional: ["thesisType", "base", "quote", "deadline"] },
  "/execute": {
    fields: {
      quote: OBJECT,
      "quote.solver": ADDRESS,
      "quote.user": ADDRESS,
      "quote.thesisType": BOX,
      "quote.oraclePair": OBJECT,
      "quote.oraclePair.base": ADDRESS,
      "quote.oraclePair.quote": ADDRESS,
      "quote.priceRange": OBJECT,
      "quote.priceRange.lower": UINT64,
      "quote.priceRange.upper": UINT64,
      "quote.betAmount": UINT64,
      "quote.payout": UINT64,
      "quote.startTime": TIME,
      "quote.endTime": TIME,
      "quote.deadline": TIME,
      "quote.signature": SIGNATURE,
      userSignature: SIGNATURE,
    },
    optional: ["quote.solver"],
  },
  "/deposit": {
    fields: {
      user: ADDRESS,
      amount: AMOUNT,
      nonce: UINT256,
      deadline: TIME,
      signature: SIGNATURE,
    },
    optional: [],
  },
} satisfies Record<string, BodyRules>;

/** Copies of a valid body with one invalid field, and the message of the answer. */
export function* wrongBodies({ fields, optional }: BodyRules, good: object) {
  for (const [field, kind] of Object.entries(fields)) {
    const values = kind.flatMap(([advice, ...wrong]) => wrong.map((value) => [advice, value]));
    const missing = optional.includes(field) ? [] : [[kind[0]?.[0], undefined]];
    for (const [advice, value] of [...missing, ...values]) {
      // Long numbers are cut, as if they were keys.
      const received = value === undefined ? "nothing" : JSON.stringify(value);
      const body = withField(good, field, value);
      yield {
        body,
        words: [
          `${field}: `,
          String(advice),
          `received ${received.length > 60 ? '"…' : received}`,
        ] as const,
      };
    }
  }
}

const [btc, , sol] = MARKETS.map(({ base, quote }) => ({ base, quote }));
const turned = { base: btc?.quote, quote: btc?.base };
const unsupported = { base: `0x${"9".repeat(40)}` };
const bet = (betAmount: string) => ({ betAmount });
const lasting = (durationMs: number) => ({ startTime: 0, endTime: durationMs });
const turnedWindow = { startTime: 5_002, endTime: 0 };
const between = (lowerPrice: string, upperPrice: string) => ({ lowerPrice, upperPrice });

type Change = Record<string, unknown>;

/** Rules of a bet: a bet that breaks one, the answer, and the nearest bet that is accepted. */
export const BET_RULES: [bad: Change, code: string, words: [string, string], good?: Change][] = [
  [unsupported, "UNSUPPORTED_PAIR", [unsupported.base, "GET /pairs"], sol],
  [turned, "UNSUPPORTED_PAIR", ["is not supported", "GET /pairs"], btc],
  [bet("0"), "BET_TOO_SMALL", ["0 USDC is below 0.000001", "bet more"], bet("1")],
  [bet("1000000000001"), "BET_TOO_LARGE", ["1000000.000001", "less"], bet("1000000000000")],
  [lasting(999), "DURATION_TOO_SHORT", ["999 ms", "longer window"], lasting(1_000)],
  [turnedWindow, "DURATION_TOO_SHORT", ["ends 5002 ms before it starts", "choose a later end"]],
  [lasting(86_400_001), "DURATION_TOO_LONG", ["86400001 ms", "shorter"], lasting(86_400_000)],
  [between("5", "5"), "INVALID_PRICE_RANGE", ["0.000005 is not below", "raise"], between("4", "5")],
  [between("6", "5"), "INVALID_PRICE_RANGE", ["0.000006 is not below", "raise"], between("5", "6")],
  // Of several broken rules the first is reported.
  [{ ...unsupported, ...bet("0") }, "UNSUPPORTED_PAIR", ["Pair", "GET /pairs"]],
  [{ ...bet("0"), ...lasting(0) }, "BET_TOO_SMALL", ["0 USDC", "bet more"]],
  [{ ...lasting(0), ...between("6", "5") }, "DURATION_TOO_SHORT", ["0 ms", "longer"]],
];
