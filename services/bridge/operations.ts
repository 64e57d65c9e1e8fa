/** The routes of the bridge as its document shows them (spec: deposit bridge, "Endpoints"). */
import { z } from "zod";
import { depositAnswerSchema } from "../../lib/protocol/answers.ts";
import { depositRequestSchema } from "../../lib/protocol/deposit.ts";
import { addressSchema, timestampSchema } from "../../lib/protocol/scalars.ts";
import { typedDataSchema } from "../../lib/protocol/typed_data.ts";
import { failureAnswer, NODE_FAILURES, tooLarge, tooMany } from "../../lib/http/failure_answers.ts";
import type { Operation, ServiceDescription } from "../../lib/http/openapi.ts";
import { nextCursorSchema } from "../../lib/http/page_query.ts";
import {
  depositPathSchema,
  depositsQuerySchema,
  depositViewSchema,
  userPathSchema,
} from "./deposits.ts";
import { readinessSchema } from "./readiness.ts";

/** The bridge as its document introduces it. */
export const description: ServiceDescription = {
  title: "rangemaker bridge",
  description: "Turns signed deposit requests into deposit transactions, each exactly once. " +
    "Amounts are decimal integers as text, with 6 decimals; times are Unix milliseconds.",
  tags: { deposits: "Deposits, and what became of them", service: "The bridge itself" },
};

const healthSchema = z.object({
  status: z.literal("healthy"),
  rpc: z.boolean().describe("The core node answers"),
  bridge: addressSchema.describe("The relayer's"),
  timestamp: timestampSchema,
});

const infoSchema = z.object({
  name: z.string(),
  version: z.string(),
  bridge: addressSchema.describe("The relayer's"),
  rpcUrl: z.string().describe("Of the core node"),
});

const invalid = failureAnswer(["INVALID_REQUEST"], "A parameter does not fit");

/** For routes that ask the store alone. */
const storeFailures = {
  503: failureAnswer(["STORE_UNAVAILABLE"], "The store cannot be used"),
  504: failureAnswer(["STORE_CONNECTION_LOST"], "The connection to the store was lost"),
};

/** Every operation, by its id. */
export const operations = {
  health: {
    id: "health",
    tag: "service",
    summary: "Whether the bridge runs, and reaches the core node",
    answers: { 200: { description: "It runs", body: healthSchema } },
  },
  ready: {
    id: "ready",
    tag: "service",
    summary: "Whether a deposit would be carried out now",
    answers: {
      200: { description: "It would", body: readinessSchema },
      503: { description: "It would not", body: readinessSchema },
    },
  },
  info: {
    id: "info",
    tag: "service",
    summary: "Who the bridge is",
    answers: { 200: { description: "Name, version, address and node", body: infoSchema } },
  },
  typedData: {
    id: "typedData",
    tag: "deposits",
    summary: "What a user signs to deposit",
    answers: { 200: { description: "For `eth_signTypedData_v4`", body: typedDataSchema } },
  },
  deposit: {
    id: "deposit",
    tag: "deposits",
    summary: "Carries out a signed deposit request",
    description:
      "One nonce of one user is one deposit at most, whatever is sent again. User, nonce, " +
      "deadline and signature of the example stand for the caller's own.",
    body: depositRequestSchema,
    example: {
      user: "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A",
      amount: "25000000",
      nonce: "1",
      deadline: 4102444800000,
      signature: `0x${"1a".repeat(64)}1b`,
    },
    answers: {
      200: { description: "The deposit is committed", body: depositAnswerSchema },
      400: failureAnswer(
        ["INVALID_REQUEST", "DEADLINE_PASSED"],
        "A field does not fit, or the deadline has passed",
      ),
      401: failureAnswer(
        ["INVALID_SIGNATURE"],
        "The signature fails its check; `details` has the digest that was checked",
      ),
      409: failureAnswer(
        ["NONCE_USED", "DEPOSIT_ALREADY_PROCESSED"],
        "The nonce is used; `error` names its transaction and state",
      ),
      413: tooLarge,
      429: tooMany,
      503: failureAnswer(
        [...NODE_FAILURES, "STORE_UNAVAILABLE", "PERMISSION_DENIED", "TRANSACTION_FAILED"],
        "The core node or the store cannot be used, and nothing was recorded; or the node refused " +
          "the transaction for good",
      ),
      504: failureAnswer(
        ["OUTCOME_UNKNOWN", "STORE_CONNECTION_LOST"],
        "The outcome is not known yet: ask `GET /deposits/{user}/{nonce}`",
      ),
    },
  },
  deposits: {
    id: "deposits",
    tag: "deposits",
    summary: "A user's deposits, newest first",
    path: userPathSchema,
    query: depositsQuerySchema,
    answers: {
      200: {
        description: "A page of them",
        body: z.object({
          success: z.literal(true),
          deposits: z.array(depositViewSchema),
          nextCursor: nextCursorSchema,
        }),
      },
      400: invalid,
      429: tooMany,
      ...storeFailures,
    },
  },
  depositByNonce: {
    id: "depositByNonce",
    tag: "deposits",
    summary: "What became of a deposit",
    path: depositPathSchema,
    answers: {
      200: {
        description: "The deposit as it is now",
        body: z.object({ success: z.literal(true), deposit: depositViewSchema }),
      },
      400: invalid,
      404: failureAnswer(["NOT_FOUND"], "The bridge knows no such deposit"),
      429: tooMany,
      ...storeFailures,
    },
  },
} satisfies Record<string, Operation>;
