import { z } from "zod";
import { uint64Schema } from "../../../lib/protocol/scalars.ts";

/** The explanation of a price: `pricing` of quotes and estimates. */
export const pricingDetailsSchema = z.object({
  probability: z.number().describe("By the model, that the user wins"),
  chargedProbability: z.number()
    .describe("The same for a user who sees prices earlier than the solver; sets the payout"),
  volatility: z.number().describe("Annualised, forecast for the time to the end of the window"),
  volatilitySpread: z.number()
    .describe("Standard deviation of the logarithm of the volatility; prices are averaged over it"),
  stillProbability: z.number()
    .describe("That the price does not move from one 100 ms slot to the next"),
  spot: uint64Schema.describe("Current price, 6 decimals"),
  spotAgeMs: z.number().int().nonnegative().describe("Age of that price, milliseconds"),
  margin: z.number(),
  skew: z.number()
    .describe("Share of the winnings that is withheld because the solver holds similar bets"),
}).meta({ id: "Pricing", description: "How a price came about, with `--pricing barrier`" });

/** The details of a price in JSON form. */
export type PricingDetails = z.input<typeof pricingDetailsSchema>;
