import { z } from "zod";
import { type Intent, INTENT_STATES } from "../../lib/intents/intent.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import { depositRequestSchema } from "../../lib/protocol/deposit.ts";
import {
  addressSchema,
  described,
  hash32Schema,
  timestampSchema,
  uint256Schema,
} from "../../lib/protocol/scalars.ts";
import { cursorSchema, limitSchema } from "../../lib/http/page_query.ts";
import { decodeDeposit, depositKey } from "./depositor.ts";
import { bridgeError } from "./errors.ts";

/** Most deposits per page, and the default. */
const DEPOSITS_PER_PAGE_MAX = 100;
const DEPOSITS_PER_PAGE = 50;

export const depositsQuerySchema = z.object({
  limit: limitSchema(DEPOSITS_PER_PAGE_MAX, DEPOSITS_PER_PAGE),
  cursor: cursorSchema.optional(),
});

export const userPathSchema = z.object({ user: described(addressSchema, "The credited user") });

export const depositPathSchema = userPathSchema.extend({
  nonce: described(uint256Schema, "Nonce of the deposit request"),
});

const { signature: _, ...requestShape } = depositRequestSchema.shape;

export const depositViewSchema = z.object({
  ...requestShape,
  state: z.enum(INTENT_STATES)
    .describe("`accepted` and `submitted` may still change, the others are final"),
  txHash: z.nullable(hash32Schema).describe("The deposit transaction, once it is signed"),
  externalTxHash: described(
    hash32Schema,
    "Hash of user, amount and nonce; the node credits each hash once",
  ),
  reason: z.object({
    code: z.string(),
    message: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
  }).optional().describe(
    "Why it failed. A `committed` one has `DEPOSIT_ALREADY_PROCESSED` if another transaction " +
      "than `txHash` has credited it",
  ),
  createdAt: timestampSchema,
  updatedAt: timestampSchema,
}).meta({ id: "Deposit" });

type DepositView = z.input<typeof depositViewSchema>;

/** One deposit. @throws A RangemakerError: `NOT_FOUND` if there is none. */
export async function viewDeposit(
  store: Pick<IntentStore, "find">,
  { user, nonce }: z.output<typeof depositPathSchema>,
): Promise<DepositView> {
  const intent = await store.find(depositKey(user, nonce));
  if (intent !== undefined) return toDepositView(intent);
  throw bridgeError("NOT_FOUND", { user, nonce });
}

/** A page of a user's deposits, newest first, without those whose row is damaged. */
export async function viewDeposits(
  store: Pick<IntentStore, "listByUser">,
  { user }: z.output<typeof userPathSchema>,
  { limit, cursor }: z.output<typeof depositsQuerySchema>,
): Promise<{ deposits: DepositView[]; nextCursor: string | null }> {
  const { intents, nextCursor } = await store.listByUser(user, { limit, before: cursor });
  return { deposits: intents.map(toDepositView), nextCursor };
}

function toDepositView(intent: Intent): DepositView {
  const { user, amount, nonce, deadline, externalTxHash } = decodeDeposit(intent.payload);
  return {
    user,
    amount: amount.toString(),
    nonce: nonce.toString(),
    deadline,
    state: intent.state,
    txHash: intent.transaction?.txHash ?? null,
    externalTxHash,
    ...(intent.failure === null ? {} : { reason: intent.failure }),
    createdAt: intent.createdAtMs,
    updatedAt: intent.updatedAtMs,
  };
}
