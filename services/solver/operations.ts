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
  failing,
  failingWith,
  nodeAway,
  tooLarge,
  tooMany,
} from "../../lib/http/failure_answers.ts";
import type { Operation, ServiceDescription } from "../../lib/http/openapi.ts";
import { estimateRequestSchema } from "./quoting/estimate.ts";
import { exampleEstimate, exampleExecution, exampleQuote } from "./examples.ts";
import { executionSchema } from "./execution/execution.ts";
import { pricingDetailsSchema } from "./pricing/details.ts";
import { QUOTE_REFUSALS } from "./pricing/refusals.ts";
import { STRATEGY_NAMES } from "./pricing/strategy.ts";
import { QUOTE_RULES } from "./rules.ts";
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

/** What refuses a quote or an estimate. */
const refusals = {
  400: failingWith(
    [...new Set(["INVALID_REQUEST", ...QUOTE_RULES, ...refusalsWith(400)])],
    "A field that does not fit, a broken rule, or a bet that has no price",
  ),
  413: tooLarge,
  429: tooMany,
  503: failingWith(refusalsWith(503), "No price for now, with `--pricing barrier`"),
};

function refusalsWith(status: number): string[] {
  return Object.entries(QUOTE_REFUSALS).flatMap(([code, own]) => own === status ? [code] : []);
}

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
      503: nodeAway,
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
      400: failingWith(["INVALID_REQUEST"], "A query that does not fit"),
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
    body: executionSchema,
    example: exampleExecution,
    answers: {
      200: {
        description: "What became of the transaction: `failed` is a result too",
        body: executeAnswerSchema,
      },
      400: failing("A field that does not fit, a deadline that passed, or a bound that is passed"),
      401: failing("A signature that fails its check, with the digest that was checked"),
      413: tooLarge,
      429: tooMany,
      503: failing(
        "Dry run; or the node or the store cannot be used, or risk, price or balance do not allow " +
          "it for now, and nothing was recorded; or the node refused the transaction for good",
      ),
      504: failing("The outcome is unknown: the same request may be sent again"),
    },
  },
} satisfies Record<string, Operation>;
