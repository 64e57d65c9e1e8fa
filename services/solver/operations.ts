/** The OpenAPI operations of the solver (spec: quote solver, "Endpoints"). */
import { z } from "zod";
import {
  estimateAnswerSchema,
  executeAnswerSchema,
  quoteAnswerSchema,
  solverHealthSchema,
  solverInfoSchema,
} from "../../lib/protocol/answers.ts";
import { PRICE_DECIMALS } from "../../lib/protocol/markets.ts";
import { quoteRequestSchema } from "../../lib/protocol/quote.ts";
import { addressSchema, hash32Schema } from "../../lib/protocol/scalars.ts";
import { typedDataSchema } from "../../lib/protocol/typed_data.ts";
import { BODY_CODES, failureAnswersOf } from "../../lib/http/error_answers.ts";
import type { Operation, ServiceDescription } from "../../lib/http/openapi.ts";
import { readyOperation } from "../../lib/http/readiness.ts";
import { SUBMISSION_CODES } from "../../lib/intents/error_answers.ts";
import { estimateRequestSchema } from "./quoting/quoter.ts";
import { executionRequestSchema } from "./execution/execution.ts";
import { PRICING_REFUSALS, pricingDetailsSchema, type PricingRefusal } from "./pricing/strategy.ts";
import { readinessSchema } from "./readiness.ts";
import { QUOTE_RULE_CODES } from "./quoting/quote_rules.ts";
import { thesesAnswerSchema, thesesQuerySchema } from "./theses.ts";
import { SOLVER_ERRORS } from "./error_answers.ts";

const failures = failureAnswersOf(SOLVER_ERRORS);

/** Introduction of the OpenAPI document. */
export const description: ServiceDescription = {
  title: "rangemaker solver",
  description:
    "Signs quotes for range bets, and submits the quotes that the user has signed too. " +
    "Amounts and prices are decimal integers as text, with 6 decimals; times are Unix milliseconds.",
  tags: {
    quotes: "Prices of bets",
    executions: "Bets that are opened",
    service: "The solver itself",
  },
};

const failedHealthSchema = z.object({
  ...solverHealthSchema.shape,
  status: z.literal("failed"),
  code: z.string().describe("Code of the failure"),
  reason: z.string().describe("What cannot be used, and what to do"),
});

const pairsSchema = z.object({
  pairs: z.array(z.object({
    symbol: z.string().describe("Such as `ETH/USDT`"),
    base: addressSchema,
    quote: addressSchema,
    decimals: z.literal(PRICE_DECIMALS).describe("Decimals of its prices"),
  })),
});

const pricing = pricingDetailsSchema.optional();

const PRICING = Object.keys(PRICING_REFUSALS) as PricingRefusal[]; // its keys are all known

/** Without PRICE_MOVED and PRICE_IMPROVED, which only a recheck gives. */
const QUOTE_CODES = [
  ...BODY_CODES,
  ...QUOTE_RULE_CODES,
  "INVALID_TIME_RANGE",
  ...PRICING.filter((code) => code !== "PRICE_MOVED" && code !== "PRICE_IMPROVED"),
] as const;

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

/** A well-formed signature, made by no key. */
const signature = `0x${"1a".repeat(64)}1b`;

export const exampleEstimate = {
  ...bet,
  ...oraclePair,
  lowerPrice: priceRange.lower,
  upperPrice: priceRange.upper,
};

export const exampleQuote = { user, ...exampleEstimate };

export const exampleExecution = {
  quote: { user, ...bet, oraclePair, priceRange, payout: "107500000", signature },
  userSignature: signature,
};

export const operations = {
  health: {
    id: "health",
    tag: "service",
    summary: "Liveness",
    answers: {
      200: { description: "The solver runs", body: solverHealthSchema },
      503: {
        description: "The store cannot be used, or the node has another chain",
        body: failedHealthSchema,
      },
    },
  },
  info: {
    id: "info",
    tag: "service",
    summary: "Address, balance and bounds of the solver",
    answers: {
      200: { description: "Address, balance and bounds", body: solverInfoSchema },
    },
  },
  ready: readyOperation("Readiness: whether bets can be quoted and executed now", readinessSchema),
  pairs: {
    id: "pairs",
    tag: "quotes",
    summary: "Supported pairs",
    answers: { 200: { description: "The supported pairs", body: pairsSchema } },
  },
  typedData: {
    id: "typedData",
    tag: "quotes",
    summary: "EIP-712 type that a user signs to accept a quote",
    answers: {
      200: {
        description: "Add `EIP712Domain` to `types` for `eth_signTypedData_v4`",
        body: typedDataSchema,
      },
    },
  },
  theses: {
    id: "theses",
    tag: "executions",
    summary: "Open theses of the solver, and its exposure",
    query: thesesQuerySchema,
    answers: {
      200: { description: "A page of theses, oldest first", body: thesesAnswerSchema },
      ...failures("INVALID_REQUEST", "RATE_LIMITED"),
    },
  },
  quote: {
    id: "quote",
    tag: "quotes",
    summary: "A signed quote",
    description:
      "`POST /execute` executes it until its deadline, and checks its risk then. A quote with a " +
      "past deadline is signed too, with 0 as `expiresInMs`, but `POST /execute` refuses it. " +
      "Replace the times of the example.",
    body: quoteRequestSchema,
    example: exampleQuote,
    answers: {
      200: {
        description: "The quote, and the quote hash for the user to sign",
        body: z.object({
          ...quoteAnswerSchema.shape,
          quoteHash: hash32Schema,
          expiresInMs: z.number().int().nonnegative().describe("Milliseconds to the deadline"),
          pricing,
        }),
      },
      ...failures(...QUOTE_CODES),
    },
  },
  estimate: {
    id: "estimate",
    tag: "quotes",
    summary: "Preview of a quote, without a signature",
    body: estimateRequestSchema,
    example: exampleEstimate,
    answers: {
      200: {
        description: "The estimate",
        body: z.object({ ...estimateAnswerSchema.shape, pricing }),
      },
      ...failures(...QUOTE_CODES, "EXPOSURE_TOO_LARGE"),
    },
  },
  execute: {
    id: "execute",
    tag: "executions",
    summary: "Executes a quote that its user has signed",
    description: "Idempotent: the same quote returns the first result. Replace the times and " +
      "signatures of the example.",
    body: executionRequestSchema,
    example: exampleExecution,
    answers: {
      200: {
        description: "Result of the transaction, which may be `failed`",
        body: executeAnswerSchema,
      },
      ...failures(
        ...SUBMISSION_CODES,
        "RECEIPT_DROPPED",
        "RISK_TOO_LARGE",
        "INSUFFICIENT_BALANCE",
        "DRY_RUN",
        "PRICE_STALE",
        "HEDGE_REFUSED",
        "BALANCE_TOO_LOW",
        "EXPOSURE_UNKNOWN",
        "EXPOSURE_TOO_LARGE",
        ...PRICING,
      ),
    },
  },
} satisfies Record<string, Operation>;
