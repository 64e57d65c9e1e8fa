/** The routes of the solver as its document shows them (spec: quote solver, "Endpoints"). */
import { z } from "zod";
import {
  estimateAnswerSchema,
  executeAnswerSchema,
  quoteAnswerSchema,
  solverHealthSchema,
} from "../../lib/protocol/answers.ts";
import { quoteRequestSchema } from "../../lib/protocol/quote.ts";
import {
  addressSchema,
  hash32Schema,
  uint256Schema,
  uint64Schema,
} from "../../lib/protocol/scalars.ts";
import { typedDataSchema } from "../../lib/protocol/typed_data.ts";
import {
  failureAnswer,
  NODE_FAILURES,
  nodeUnavailable,
  tooLarge,
  tooMany,
} from "../../lib/http/failure_answers.ts";
import type { Operation, ServiceDescription } from "../../lib/http/openapi.ts";
import { estimateRequestSchema } from "./quoting/estimate.ts";
import { executionRequestSchema } from "./execution/execution.ts";
import { pricingDetailsSchema, STRATEGY_NAMES } from "./pricing/strategy.ts";
import { QUOTE_RULES } from "./limits.ts";
import { thesesAnswerSchema, thesesQuerySchema } from "./risk/theses.ts";

/** The solver as its document introduces it. */
export const description: ServiceDescription = {
  title: "rangemaker solver",
  description: "Signs quotes for range bets, and submits those that the user has signed too. " +
    "Amounts and prices are decimal integers as text, with 6 decimals; times are Unix milliseconds.",
  tags: {
    quotes: "What a bet would pay",
    executions: "Bets that are taken",
    service: "The solver itself",
  },
};

const infoSchema = z.object({
  address: addressSchema.describe("The solver's own"),
  balance: uint256Schema.describe("The solver's on the chain up to 1 s ago, USDC with 6 decimals"),
  dryRun: z.boolean().describe("Nothing is executed"),
  pricing: z.enum(STRATEGY_NAMES).describe("How bets are priced"),
  config: z.object({
    basePayoutMultiplier: z.number(),
    maxPayoutRatio: z.number().describe("Highest payout, as a multiple of the bet"),
    minBetAmount: uint64Schema,
    maxBetAmount: uint64Schema,
    minDuration: z.number().int().describe("Milliseconds"),
    maxDuration: z.number().int().describe("Milliseconds"),
  }),
});

const pairsSchema = z.object({
  pairs: z.array(z.object({ base: addressSchema, quote: addressSchema })),
});

const pricing = pricingDetailsSchema.optional();

const PRICE_MISSING = [
  "PRICE_UNAVAILABLE",
  "VOLATILITY_UNAVAILABLE",
  "HISTORY_UNAVAILABLE",
] as const;
const BET_WITHOUT_PRICE = ["RANGE_BROKEN", "OUTSIDE_RANGE", "WINDOW_ENDED"] as const;

/** Failures of quotes and estimates. */
const refusals = {
  400: failureAnswer(
    ["INVALID_REQUEST", ...QUOTE_RULES, "INVALID_TIME_RANGE", ...BET_WITHOUT_PRICE],
    "A field does not fit, a rule is broken, or the bet has no price",
  ),
  413: tooLarge,
  429: tooMany,
  503: failureAnswer(PRICE_MISSING, "No price for now, with `--pricing barrier`"),
};

/** The bet of all example bodies. */
const bet = {
  thesisType: "box",
  betAmount: "100000000",
  startTime: 4102441200000,
  endTime: 4102441260000,
  deadline: 4102444800000,
};

const user = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";

const oraclePair = {
  base: "0x0000000000000000000000000000000000000002",
  quote: "0x0000000000000000000000000000000000000100",
};

const priceRange = { lower: "2970000000", upper: "3030000000" };

/** Well-formed, but nobody's. */
const signature = `0x${"1a".repeat(64)}1b`;

/** Body of `POST /estimate`. */
export const exampleEstimate = {
  ...bet,
  ...oraclePair,
  lowerPrice: priceRange.lower,
  upperPrice: priceRange.upper,
};

/** Body of `POST /quote`. */
export const exampleQuote = { user, ...exampleEstimate };

/** Body of `POST /execute`. */
export const exampleExecution = {
  quote: { user, ...bet, oraclePair, priceRange, payout: "107500000", signature },
  userSignature: signature,
};

/** Every operation, by its id. */
export const operations = {
  health: {
    id: "health",
    tag: "service",
    summary: "Whether the solver runs",
    answers: { 200: { description: "It does", body: solverHealthSchema } },
  },
  info: {
    id: "info",
    tag: "service",
    summary: "Who the solver is, and the bounds of its quotes",
    answers: {
      200: { description: "Address, balance and bounds", body: infoSchema },
      503: nodeUnavailable,
    },
  },
  pairs: {
    id: "pairs",
    tag: "quotes",
    summary: "Supported pairs",
    answers: { 200: { description: "Every pair that quotes are given for", body: pairsSchema } },
  },
  typedData: {
    id: "typedData",
    tag: "quotes",
    summary: "What a user signs to accept a quote",
    answers: { 200: { description: "For `eth_signTypedData_v4`", body: typedDataSchema } },
  },
  theses: {
    id: "theses",
    tag: "executions",
    summary: "The solver's open theses, and what it may lose on them",
    query: thesesQuerySchema,
    answers: {
      200: { description: "A page of them, oldest first", body: thesesAnswerSchema },
      400: failureAnswer(["INVALID_REQUEST"], "The query does not fit"),
      429: tooMany,
    },
  },
  quote: {
    id: "quote",
    tag: "quotes",
    summary: "A signed quote",
    description: "Whoever has it may have it executed until its deadline, with `POST /execute`. " +
      "What it risks is looked at then. A deadline that has passed is refused there too: the " +
      "quote itself is signed, with 0 as `expiresInMs`. The times of the example stand for the " +
      "caller's own.",
    body: quoteRequestSchema,
    example: exampleQuote,
    answers: {
      200: {
        description: "The quote, and the quote hash that its user signs",
        body: quoteAnswerSchema.extend({
          quoteHash: hash32Schema,
          expiresInMs: z.number().int().nonnegative().describe("Milliseconds to the deadline"),
          pricing,
        }),
      },
      ...refusals,
    },
  },
  estimate: {
    id: "estimate",
    tag: "quotes",
    summary: "What a quote would pay, without a signature",
    body: estimateRequestSchema,
    example: exampleEstimate,
    answers: {
      200: { description: "The estimate", body: estimateAnswerSchema.extend({ pricing }) },
      ...refusals,
    },
  },
  execute: {
    id: "execute",
    tag: "executions",
    summary: "Has a quote executed that its user has signed",
    description: "The same quote again gives the first result again. The times and signatures of " +
      "the example stand for the caller's own.",
    body: executionRequestSchema,
    example: exampleExecution,
    answers: {
      200: {
        description: "What became of the transaction: `failed` is a result too",
        body: executeAnswerSchema,
      },
      400: failureAnswer(
        [
          "INVALID_REQUEST",
          "DEADLINE_PASSED",
          "RISK_TOO_LARGE",
          "INSUFFICIENT_BALANCE",
          "PRICE_MOVED",
          ...BET_WITHOUT_PRICE,
        ],
        "A field does not fit, the deadline has passed, the user's balance is too low, or the quote " +
          "is no longer acceptable. Nothing was recorded",
      ),
      401: failureAnswer(
        ["INVALID_SIGNATURE"],
        "A signature fails its check; `details` has the digest that was checked",
      ),
      413: tooLarge,
      429: tooMany,
      503: failureAnswer(
        [
          "DRY_RUN",
          ...NODE_FAILURES,
          "STORE_UNAVAILABLE",
          "PRICE_STALE",
          "BALANCE_TOO_LOW",
          "EXPOSURE_UNKNOWN",
          "EXPOSURE_TOO_LARGE",
          ...PRICE_MISSING,
        ],
        "Dry run; or the node or the store cannot be used, or risk, price or balance do not allow " +
          "it for now, and nothing was recorded; or the node refused the transaction for good",
      ),
      504: failureAnswer(
        ["OUTCOME_UNKNOWN", "STORE_CONNECTION_LOST"],
        "The outcome is not known yet: send the same request again",
      ),
    },
  },
} satisfies Record<string, Operation>;
