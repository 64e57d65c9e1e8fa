/** The OpenAPI operations of the bridge (spec: deposit bridge, "Endpoints"). */
import { z } from "zod";
import { depositAnswerSchema } from "../../lib/protocol/answers.ts";
import { depositRequestSchema } from "../../lib/protocol/deposit.ts";
import { addressSchema, described, timestampSchema } from "../../lib/protocol/scalars.ts";
import { typedDataSchema } from "../../lib/protocol/typed_data.ts";
import { failureAnswersOf } from "../../lib/http/error_answers.ts";
import type { Operation, ServiceDescription } from "../../lib/http/openapi.ts";
import { readyOperation } from "../../lib/http/readiness.ts";
import { STORE_CODES, SUBMISSION_CODES } from "../../lib/intents/error_answers.ts";
import { nextCursorSchema } from "../../lib/http/page_query.ts";
import {
  depositPathSchema,
  depositsQuerySchema,
  depositViewSchema,
  userPathSchema,
} from "./deposits.ts";
import { readinessSchema } from "./readiness.ts";
import { BRIDGE_ERRORS } from "./errors.ts";

const failures = failureAnswersOf(BRIDGE_ERRORS);

/** Introduction of the OpenAPI document. */
export const description: ServiceDescription = {
  title: "rangemaker bridge",
  description: "Turns signed deposit requests into deposit transactions, each exactly once. " +
    "Amounts are decimal integers as text, with 6 decimals; times are Unix milliseconds.",
  tags: { deposits: "Deposits and their states", service: "The bridge itself" },
};

const healthSchema = z.object({
  status: z.enum(["healthy", "failed"]),
  code: z.string().optional().describe("Code of the failure"),
  reason: z.string().optional().describe("What cannot be used, and what to do"),
  rpc: z.boolean().describe("Whether the core node answers"),
  bridge: described(addressSchema, "Address of the relayer"),
  timestamp: timestampSchema,
});

const infoSchema = z.object({
  name: z.string(),
  version: z.string(),
  bridge: described(addressSchema, "Address of the relayer"),
  rpcUrl: z.string().describe("URL of the core node"),
});

export const operations = {
  health: {
    id: "health",
    tag: "service",
    summary: "Liveness, and whether the core node answers",
    answers: {
      200: { description: "The bridge runs", body: healthSchema },
      503: {
        description: "The store cannot be used, or the node has another chain",
        body: healthSchema,
      },
    },
  },
  ready: readyOperation("Readiness: whether a deposit would succeed now", readinessSchema),
  info: {
    id: "info",
    tag: "service",
    summary: "Name, version, address and node of the bridge",
    answers: { 200: { description: "Name, version, address and node", body: infoSchema } },
  },
  typedData: {
    id: "typedData",
    tag: "deposits",
    summary: "EIP-712 type that a user signs to deposit",
    answers: {
      200: {
        description: "Add `EIP712Domain` to `types` for `eth_signTypedData_v4`",
        body: typedDataSchema,
      },
    },
  },
  deposit: {
    id: "deposit",
    tag: "deposits",
    summary: "Carries out a signed deposit request",
    description:
      "A nonce of a user can be used for one deposit only, so a request may be repeated. " +
      "Replace user, nonce, deadline and signature of the example.",
    body: depositRequestSchema,
    example: {
      user: "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A",
      amount: "25000000",
      nonce: "1",
      deadline: 4102444800000,
      signature: `0x${"1a".repeat(64)}1b`,
    },
    answers: {
      200: { description: "The deposit is credited", body: depositAnswerSchema },
      ...failures(
        ...SUBMISSION_CODES,
        "NONCE_USED",
        "SIGNER_UNAVAILABLE",
        "PERMISSION_DENIED",
        "TRANSACTION_FAILED",
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
        description: "A page of deposits",
        body: z.object({
          success: z.literal(true),
          deposits: z.array(depositViewSchema),
          nextCursor: nextCursorSchema,
        }),
      },
      ...failures("INVALID_REQUEST", "RATE_LIMITED", ...STORE_CODES),
    },
  },
  depositByNonce: {
    id: "depositByNonce",
    tag: "deposits",
    summary: "State of a deposit",
    path: depositPathSchema,
    answers: {
      200: {
        description: "The deposit",
        body: z.object({ success: z.literal(true), deposit: depositViewSchema }),
      },
      ...failures("INVALID_REQUEST", "NOT_FOUND", "RATE_LIMITED", ...STORE_CODES),
    },
  },
} satisfies Record<string, Operation>;
