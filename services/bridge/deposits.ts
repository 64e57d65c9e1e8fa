import { z } from "zod";
import { addressSchema, type Hex, uint256Schema } from "../../lib/protocol/scalars.ts";
import type { Intent, IntentFailure, IntentState, IntentStore } from "../../lib/store/intent.ts";
import { RequestError } from "../../lib/service/envelope.ts";
import { decodePayload } from "./payload.ts";
import { depositKey } from "./depositor.ts";

/** Deposits in one answer at most, and where the caller names no number. */
const PAGE_MAX = 100;
const PAGE_DEFAULT = 50;

/** Query of `GET /deposits/:user`. */
export const depositsQuerySchema = z.object({
  limit: z.string().regex(/^\d{1,3}$/, `Expected 1 to ${PAGE_MAX}`).transform(Number)
    .refine((limit) => limit >= 1 && limit <= PAGE_MAX, `Expected 1 to ${PAGE_MAX}`)
    .default(PAGE_DEFAULT),
  cursor: z.string().regex(/^\d{1,15}$/, "Expected the nextCursor of an answer").transform(Number)
    .optional(),
});

/** Path of `GET /deposits/:user`. */
export const userPathSchema = z.object({ user: addressSchema });

/** Path of `GET /deposits/:user/:nonce`. */
export const depositPathSchema = userPathSchema.extend({ nonce: uint256Schema });

/** A deposit as its user may see it; times in Unix milliseconds. */
export interface DepositView {
  user: string;
  amount: string;
  nonce: string;
  deadline: number;
  state: IntentState;
  txHash: Hex | null;
  externalTxHash: Hex;
  reason?: IntentFailure;
  createdAt: number;
  updatedAt: number;
}

/** Tells what became of deposits. */
export class DepositBook {
  readonly #store: Pick<IntentStore, "find" | "listBySubject">;

  constructor(store: Pick<IntentStore, "find" | "listBySubject">) {
    this.#store = store;
  }

  /** One deposit. @throws {RequestError} 404 where the bridge knows none. */
  async find({ user, nonce }: z.output<typeof depositPathSchema>): Promise<DepositView> {
    const intent = await this.#store.find(depositKey(user, nonce));
    if (intent !== undefined) return viewOf(intent);
    throw new RequestError(404, "NOT_FOUND", `NOT_FOUND: No deposit of ${user} has nonce ${nonce}`);
  }

  /** A page of a user's deposits, newest first. */
  async list(
    { user }: z.output<typeof userPathSchema>,
    { limit, cursor }: z.output<typeof depositsQuerySchema>,
  ): Promise<{ deposits: DepositView[]; nextCursor: string | null }> {
    const page = await this.#store.listBySubject(user, { limit, before: cursor });
    const last = page.at(-1);
    const nextCursor = page.length < limit || last === undefined ? null : String(last.sequence);
    return { deposits: page.map(viewOf), nextCursor };
  }
}

function viewOf(intent: Intent): DepositView {
  const { user, amount, nonce, deadline, externalTxHash } = decodePayload(intent.payload);
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
