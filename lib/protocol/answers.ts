/** Answers of solver and bridge, as far as the specification defines them. */
import * as z from "zod";
import { quoteSchema } from "./quote.ts";
import { receiptSchema } from "./receipt.ts";
import {
  addressSchema,
  hash32Schema,
  timestampSchema,
  uint256Schema,
  uint64Schema,
} from "./scalars.ts";

/** A failure: which rule was broken, and by what (spec: quote solver, "Errors"). */
export const failureSchema = z.object({
  success: z.literal(false),
  error: z.string().min(1).describe("What was wrong, for people"),
  code: z.string().min(1).describe("What was wrong, for programs"),
  details: z.record(z.string(), z.unknown()).optional().describe("Facts behind it"),
}).meta({ id: "Failure", description: "A failure, whatever its status" });

/** `GET /health` of the solver. */
export const solverHealthSchema = z.object({
  status: z.literal("ok"),
  solver: addressSchema,
  dryRun: z.boolean().describe("Nothing is executed"),
});

/** How true the solver's probabilities are, from windows of one length that nobody has to bet on. */
const horizonCalibrationSchema = z.object({
  horizonMs: z.number().int().describe("Length of the windows, milliseconds"),
  windows: z.number().nonnegative()
    .describe("Windows that ended; overlapping ones count as their own part, older ones less"),
  boxes: z.array(z.object({
    predicted: z.number().describe("Probability that the forecast gave to a box around the price"),
    held: z.number().describe("Share of these boxes that held"),
    error: z.number().nonnegative().describe("Standard error of `held` by chance alone"),
  })),
});

const calibrationSchema = z.object({
  symbol: z.string().describe("Such as `ETH/USDT`"),
  horizons: z.array(horizonCalibrationSchema).describe("Shortest first; none without windows"),
});

/** How often boxes held, compared with the probability that was predicted, of one market. */
export type MarketCalibration = z.output<typeof calibrationSchema>;

/** `GET /info` of the solver. */
export const solverInfoSchema = z.object({
  address: addressSchema.describe("Address of the solver"),
  balance: uint256Schema.describe(
    "Balance on the chain, USDC with 6 decimals: up to 1 s old, the last known one while the node " +
      "does not answer, 0 before its first answer",
  ),
  balanceTime: timestampSchema.nullable()
    .describe("When the balance was read, Unix milliseconds; null before the node's first answer"),
  dryRun: z.boolean().describe("Quotes and estimates only"),
  pricing: z.string().describe("Strategy that prices bets: mock, barrier or the name of your own"),
  calibration: z.array(calibrationSchema).optional()
    .describe(
      "By market: predicted against held, in windows that nobody has to bet on; not of mock",
    ),
  config: z.object({
    basePayoutMultiplier: z.number(),
    maxPayoutRatio: z.number().describe("Highest payout, as a multiple of the bet"),
    minBetAmount: uint64Schema,
    maxBetAmount: uint64Schema,
    minDuration: z.number().int().describe("Milliseconds"),
    maxDuration: z.number().int().describe("Milliseconds"),
  }),
});

/** The solver's answer about itself: its account, mode and bounds. */
export type SolverInfo = z.output<typeof solverInfoSchema>;

/** Answer of `POST /quote`. */
export const quoteAnswerSchema = z.object({ success: z.literal(true), quote: quoteSchema });

/** Answer of `POST /estimate`. */
export const estimateAnswerSchema = z.object({
  success: z.literal(true),
  estimate: z.object({
    betAmount: uint64Schema,
    payout: uint64Schema.describe("Total payout if the user wins"),
    multiplier: z.string().regex(/^\d+\.\d{4}$/).describe("Payout as a multiple of the bet"),
    solverCollateral: uint64Schema.describe("Payout minus bet"),
  }),
});

/** An estimate in JSON form. */
export type EstimateAnswer = z.input<typeof estimateAnswerSchema>;

/** Answer of `POST /execute`: a `failed` transaction is a result too, with the node's reason. */
export const executeAnswerSchema = z.object({
  success: z.literal(true),
  result: receiptSchema.pick({ txHash: true, status: true, thesisId: true, error: true }),
});

/** Result of an execution (spec: quote solver, "Execute result"). */
export type ExecuteResult = z.output<typeof executeAnswerSchema>["result"];

/** Answer of `POST /deposit`. */
export const depositAnswerSchema = z.object({
  success: z.literal(true),
  txHash: hash32Schema.describe("The deposit transaction, committed"),
});
