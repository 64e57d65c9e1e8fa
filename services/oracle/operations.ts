/** The routes of the oracle for its OpenAPI document (spec: price oracle, "Endpoints"). */
import { oraclePricesSchema } from "../../lib/protocol/price.ts";
import { readyOperation } from "../../lib/http/readiness.ts";
import type { Operation, ServiceDescription } from "../../lib/http/openapi.ts";
import { healthSchema, providersSchema, readinessSchema } from "./status.ts";

/** Introduction of the OpenAPI document. */
export const description: ServiceDescription = {
  title: "rangemaker oracle",
  description:
    "One trusted price per market, aggregated from several exchanges. Prices are integers as " +
    "decimal text, scaled by 10^6; times are Unix milliseconds.",
  tags: { prices: "Prices and their sources", service: "The oracle itself" },
};

export const operations = {
  prices: {
    id: "prices",
    tag: "prices",
    summary: "The price of every market",
    description: "The core node pulls this at each checkpoint.",
    answers: {
      200: { description: "Every market with a price", body: oraclePricesSchema },
    },
  },
  providers: {
    id: "providers",
    tag: "prices",
    summary: "The providers, and the sources of each market",
    answers: { 200: { description: "Every provider and every market", body: providersSchema } },
  },
  health: {
    id: "health",
    tag: "service",
    summary: "Whether the oracle has prices",
    answers: {
      200: { description: "At least one market has a price", body: healthSchema },
      503: { description: "No market has a price", body: healthSchema },
    },
  },
  ready: readyOperation("Whether every market has a price", readinessSchema),
} satisfies Record<string, Operation>;
