import { z } from "zod";
import type { EstimateAnswer } from "../../../lib/protocol/answers.ts";
import { MARKETS, USDT } from "../../../lib/protocol/markets.ts";
import { quoteRequestSchema } from "../../../lib/protocol/quote.ts";
import { addressSchema, thesisTypeSchema, timestampSchema } from "../../../lib/protocol/scalars.ts";
import type { QuotePreview } from "./quoter.ts";

const MULTIPLIER_DECIMALS = 4;

const { user: _, ...termsShape } = quoteRequestSchema.shape;

/** Body of `POST /estimate` (spec: quote solver, "Estimate request"). */
export const estimateRequestSchema = z.object({
  ...termsShape,
  thesisType: z._default(thesisTypeSchema, "box"),
  base: z.prefault(addressSchema, MARKETS[0].base).describe("Base token; default BTC"),
  quote: z.prefault(addressSchema, USDT).describe("Quote token; default USDT"),
  deadline: z.optional(timestampSchema)
    .describe("Unix milliseconds; default one minute from now. Has no effect: nothing is signed"),
}).meta({ id: "EstimateRequest" });

/** The estimate as JSON (spec: quote solver, "Estimate"). */
export function estimateToWire({ betAmount, payout }: QuotePreview): EstimateAnswer["estimate"] {
  return {
    betAmount: betAmount.toString(),
    payout: payout.toString(),
    // Both are below 2^53, so they convert to numbers without loss.
    multiplier: (Number(payout) / Number(betAmount)).toFixed(MULTIPLIER_DECIMALS),
    solverCollateral: (payout - betAmount).toString(),
  };
}
