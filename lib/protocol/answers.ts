/** Answers of solver and bridge, as far as the specification defines them. */
import * as z from "zod/mini";
import type { Retry } from "../errors.ts";
import { quoteSchema } from "./quote.ts";
import { receiptSchema } from "./receipt.ts";
import {
  addressSchema,
  described,
  hash32Schema,
  timestampSchema,
  uint256Schema,
  uint64Schema,
} from "./scalars.ts";

/** {@link Retry} on the wire. */
const retrySchema = z.enum<Retry[]>(["same", "later", "new_quote", "never"]);

/** A failure: the broken rule and the received value (spec: quote solver, "Errors"). */
export const failureSchema = described(
  z.object({
    success: z.literal(false),
    error: described(z.string().check(z.minLength(1)), "What was wrong, for people"),
    code: described(z.string().check(z.minLength(1)), "What was wrong, for programs"),
    retry: described(z.optional(z.catch(z.optional(retrySchema), undefined)), "How to try again"),
    details: described(z.optional(z.record(z.string(), z.unknown())), "Facts behind it"),
  }),
  { id: "Failure", description: "A failure, whatever its status" },
);

/** `GET /health` of the solver. */
export const solverHealthSchema = z.object({
  status: z.literal("ok"),
  solver: addressSchema,
  dryRun: described(z.boolean(), "Nothing is executed"),
});

const nonnegativeSchema = z.number().check(z.nonnegative());

/** Calibration of the solver's probabilities, measured on hypothetical boxes. */
const horizonCalibrationSchema = z.object({
  horizonMs: described(z.int(), "Length of the windows, milliseconds"),
  windows: described(
    nonnegativeSchema,
    "Number of ended windows; overlapping windows count in part, older ones count less",
  ),
  boxes: z.array(z.object({
    predicted: described(
      z.number(),
      "Probability that the forecast gave to a box around the price",
    ),
    held: described(z.number(), "Share of these boxes that held"),
    error: described(nonnegativeSchema, "Standard error of `held` by chance alone"),
  })),
});

export type HorizonCalibration = z.output<typeof horizonCalibrationSchema>;

const calibrationSchema = z.object({
  symbol: described(z.string(), "Such as `ETH/USDT`"),
  horizons: described(z.array(horizonCalibrationSchema), "Shortest first; none without windows"),
});

/** Predicted and observed shares of boxes that held, of one market. */
export type MarketCalibration = z.output<typeof calibrationSchema>;

/** `GET /info` of the solver. */
export const solverInfoSchema = z.object({
  address: described(addressSchema, "Address of the solver"),
  balance: described(
    uint256Schema,
    "Balance on the chain, USDC with 6 decimals: up to 1 s old, the last known one while the node " +
      "does not answer, 0 before its first answer",
  ),
  balanceTime: described(
    z.nullable(timestampSchema),
    "When the balance was read, Unix milliseconds; null before the node's first answer",
  ),
  dryRun: described(z.boolean(), "Quotes and estimates only"),
  maxRisk: described(
    z.optional(uint64Schema),
    "Largest possible loss of the solver on one bet (payout minus bet) that it executes",
  ),
  pricing: described(
    z.string(),
    "Name of the pricing strategy",
  ),
  calibration: described(
    z.optional(z.array(calibrationSchema)),
    "Predicted and observed shares of hypothetical boxes that held, by market; absent with mock",
  ),
  config: z.object({
    basePayoutMultiplier: z.number(),
    maxPayoutRatio: described(z.number(), "Highest payout, as a multiple of the bet"),
    minBetAmount: uint64Schema,
    maxBetAmount: uint64Schema,
    minDuration: described(z.int(), "Milliseconds"),
    maxDuration: described(z.int(), "Milliseconds"),
  }),
});

/** `GET /info` of any solver: the specification has fewer fields than ours answers. */
export const anySolverInfoSchema = z.partial(solverInfoSchema, {
  balanceTime: true,
  pricing: true,
});

/**
 * The solver's answer about itself: its account, mode and bounds. `config.minDuration` and
 * `config.maxDuration` are milliseconds; amounts are USDC with 6 decimals.
 */
export type SolverInfo = z.output<typeof anySolverInfoSchema>;

/** Answer of `POST /quote`. */
export const quoteAnswerSchema = z.object({ success: z.literal(true), quote: quoteSchema });

/** Answer of `POST /estimate`. */
export const estimateAnswerSchema = z.object({
  success: z.literal(true),
  estimate: z.object({
    betAmount: uint64Schema,
    payout: described(uint64Schema, "Total payout if the user wins"),
    multiplier: described(
      z.string().check(z.regex(/^\d+\.\d{4}$/)),
      "Payout as a multiple of the bet",
    ),
    solverCollateral: described(uint64Schema, "Payout minus bet"),
  }),
});

/** An estimate in JSON form. */
export type EstimateAnswer = z.input<typeof estimateAnswerSchema>;

/** Answer of `POST /execute`: a `failed` transaction is a result too, with the node's reason. */
export const executeAnswerSchema = z.object({
  success: z.literal(true),
  result: z.pick(receiptSchema, { txHash: true, status: true, thesisId: true, error: true }),
});

/** Result of an execution (spec: quote solver, "Execute result"). */
export type ExecuteResult = z.output<typeof executeAnswerSchema>["result"];

/** Answer of `POST /deposit`. */
export const depositAnswerSchema = z.object({
  success: z.literal(true),
  txHash: described(
    hash32Schema,
    "The deposit transaction. The node has committed it; or it has failed it with " +
      "`DEPOSIT_ALREADY_PROCESSED`, since an earlier transaction has credited the same amount for that nonce",
  ),
});
