/** The routes of the oracle as its document shows them (spec: price oracle, "Endpoints"). */
import { oraclePricesSchema } from "../../lib/protocol/price.ts";
import type { Operation, ServiceDescription } from "../../lib/http/openapi.ts";
import { healthSchema, providersSchema } from "./status.ts";

/** The oracle as its document introduces it. */
export const description: ServiceDescription = {
  title: "rangemaker oracle",
  description:
    "One trusted price per pair from several exchanges. Prices are decimal integers as " +
    "text, with 6 decimals; times are Unix milliseconds.",
  tags: { prices: "Prices, and where they come from", service: "The oracle itself" },
};

/** Every operation, by its id. */
export const operations = {
  prices: {
    id: "prices",
    tag: "prices",
    summary: "The price of every pair",
    description: "What the core node pulls at each checkpoint.",
    answers: {
      200: { description: "Every pair that enough sources back", body: oraclePricesSchema },
    },
  },
  providers: {
    id: "providers",
    tag: "prices",
    summary: "The providers, and what each of them says of each pair",
    answers: { 200: { description: "Every provider and every pair", body: providersSchema } },
  },
  health: {
    id: "health",
    tag: "service",
    summary: "Whether the oracle has prices",
    answers: {
      200: { description: "Some pair has a price, or all", body: healthSchema },
      503: { description: "No pair has a price", body: healthSchema },
    },
  },
} satisfies Record<string, Operation>;
