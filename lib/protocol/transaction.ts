import * as z from "zod";
import {
  type Address,
  addressSchema,
  hash32Schema,
  type Hex,
  positiveUint64Schema,
  signatureSchema,
  timestampSchema,
  UINT64_MAX,
  uint64Schema,
} from "./scalars.ts";
import { toWire } from "../json.ts";
import { BACKFILL_SLOTS_MAX, SLOT_MS } from "./constants.ts";
import { hashFlat } from "./hashes.ts";
import { type FlatType, parseFlatType } from "./typed_data.ts";
import type { UnsignedQuote } from "./quote.ts";
import { betOf, betShape } from "./bet.ts";

const envelope = { timestamp: timestampSchema, from: addressSchema, signature: signatureSchema };

const depositSchema = z.object({
  type: z.literal("Deposit"),
  ...envelope,
  user: addressSchema,
  amount: positiveUint64Schema("Expected an amount of at least 1"),
  externalTxHash: hash32Schema,
});

const rfqSubmitSchema = z.object({
  type: z.literal("RfqSubmit"),
  ...envelope,
  user: addressSchema,
  ...betShape,
  betAmount: positiveUint64Schema("Expected a bet of at least 1"),
  payout: uint64Schema,
  deadline: timestampSchema,
  solverSignature: signatureSchema,
  userSignature: signatureSchema,
});

const slotPriceSchema = positiveUint64Schema("Expected a price above 0");

/**
 * The prices of a `BackfillOracle`. Parsing each item with a schema would block the node for 20 ms
 * with a full list, so the schema only parses an invalid item, for its message.
 */
const slotPricesSchema = z.array(z.unknown())
  .min(1, "Expected at least one price")
  .max(BACKFILL_SLOTS_MAX, `Expected at most ${BACKFILL_SLOTS_MAX} prices`)
  .transform((items, context) => {
    const prices: bigint[] = [];
    for (const [index, item] of items.entries()) {
      const isDecimal = typeof item === "string" && /^[1-9][0-9]{0,19}$/.test(item);
      const price = isDecimal ? BigInt(item) : 0n;
      if (price > 0n && price <= UINT64_MAX) prices.push(price);
      else {
        const message = slotPriceSchema.safeParse(item).error?.issues[0]?.message;
        context.addIssue({ code: "custom", path: [index], message });
        return z.NEVER;
      }
    }
    return prices;
  });

const backfillOracleSchema = z.object({
  type: z.literal("BackfillOracle"),
  ...envelope,
  base: addressSchema,
  quote: addressSchema,
  startTime: timestampSchema.check(
    z.multipleOf(SLOT_MS, `Expected a multiple of ${SLOT_MS} ms`),
  ),
  prices: slotPricesSchema,
});

/** The one parameter of `core_sendTransaction` and `core_simulateTransaction`. */
export const transactionSchema = z.discriminatedUnion(
  "type",
  [depositSchema, rfqSubmitSchema, backfillOracleSchema],
  { error: "Expected type Deposit, RfqSubmit or BackfillOracle" },
).superRefine((tx, context) => {
  if (tx.type === "RfqSubmit" && tx.payout < tx.betAmount) {
    context.addIssue({ code: "custom", path: ["payout"], message: "Expected at least betAmount" });
  }
});

/** A parsed signed transaction: amounts and prices are bigints. */
export type Transaction = z.output<typeof transactionSchema>;

/** Credits a user (spec: deposit bridge, "Deposit transaction"). Relayer only. */
export type Deposit = z.output<typeof depositSchema>;

/** Opens a thesis from a quote that solver and user signed. Only the quote's solver may send it. */
export type RfqSubmit = z.output<typeof rfqSubmitSchema>;

/** Fills missing price slots (spec: price oracle, "needs backfill"). Admin only. */
export type BackfillOracle = z.output<typeof backfillOracleSchema>;

/** Distributes `Omit` over the union, so that each kind keeps its own fields. */
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** A transaction before its sender signs it. */
export type UnsignedTransaction = DistributiveOmit<Transaction, "signature">;

/** The typed-data string of each kind of transaction. */
export const TRANSACTION_TYPES: Record<Transaction["type"], FlatType> = {
  Deposit: parseFlatType(
    "Core:Deposit(uint64 timestamp,address from,address user,uint64 amount,bytes32 externalTxHash)",
  ),
  RfqSubmit: parseFlatType(
    "Core:RfqSubmit(uint64 timestamp,address from,address user,string thesisType,address base,address quote,uint64 lowerPrice,uint64 upperPrice,uint64 betAmount,uint64 payout,uint64 startTime,uint64 endTime,uint64 deadline,bytes solverSignature,bytes userSignature)",
  ),
  BackfillOracle: parseFlatType(
    "Core:BackfillOracle(uint64 timestamp,address from,address base,address quote,uint64 startTime,uint64[] prices)",
  ),
};

/** The digest that the sender signs, which is also the transaction's hash. */
export function hashTransaction(tx: UnsignedTransaction, chainId: number): Hex {
  const message: Record<string, unknown> = { ...tx, timestamp: BigInt(tx.timestamp) };
  if (tx.type === "RfqSubmit") {
    message.startTime = BigInt(tx.startTime);
    message.endTime = BigInt(tx.endTime);
    message.deadline = BigInt(tx.deadline);
  } else if (tx.type === "BackfillOracle") {
    message.startTime = BigInt(tx.startTime);
  }
  return hashFlat(TRANSACTION_TYPES[tx.type], chainId, message);
}

/** Signs transactions: a key in this process, which needs only the digest, or a remote signer. */
export interface TransactionSigner {
  readonly address: Address;
  sign(digest: Hex, tx: UnsignedTransaction, chainId: number): Hex | Promise<Hex>;
}

/** Signs a transaction with a local or a remote signer. */
export async function signTransactionBy<T extends UnsignedTransaction>(
  tx: T,
  signer: TransactionSigner,
  chainId: number,
): Promise<{ tx: T & { signature: Hex }; txHash: Hex }> {
  const txHash = hashTransaction(tx, chainId);
  return { tx: { ...tx, signature: await signer.sign(txHash, tx, chainId) }, txHash };
}

/** The transaction as JSON text, exactly as it is stored and sent. */
export function transactionToText(tx: Transaction): string {
  return JSON.stringify(toWire(tx));
}

/** The quote in an `RfqSubmit`: its sender is the solver. */
export function quoteOf(tx: DistributiveOmit<RfqSubmit, "signature">): UnsignedQuote {
  const { from: solver, user, payout, deadline } = tx;
  return { solver, user, ...betOf(tx), payout, deadline };
}
