import { bytesToHex } from "@noble/hashes/utils";
import * as z from "zod/mini";
import {
  addressSchema,
  described,
  positiveUint64Schema,
  signatureSchema,
  timestampSchema,
  uint256Schema,
} from "./scalars.ts";
import { type FlatType, parseFlatType } from "./typed_data.ts";

/** Body of `POST /deposit` (spec: deposit bridge, "Deposit request"). */
export const depositRequestSchema = described(
  z.object({
    user: described(addressSchema, "User to credit, who signs the request"),
    amount: described(
      positiveUint64Schema("Expected an amount of at least 1"),
      "USDC with 6 decimals: a decimal integer of at most 64 bits, above 0, as text",
    ),
    nonce: described(uint256Schema, "A number that this user never used before"),
    deadline: described(timestampSchema, "Request deadline, Unix milliseconds"),
    signature: signatureSchema,
  }),
  { id: "DepositRequest" },
);

/** A parsed deposit request: amount in USDC with 6 decimals, a nonce new for this user. */
export type DepositRequest = z.output<typeof depositRequestSchema>;

/** The type that the user signs; `GET /typed-data` of the bridge describes it to wallets. */
export const DEPOSIT_REQUEST_TYPE: FlatType = parseFlatType(
  "Core:Deposit(address user,uint256 amount,uint256 nonce,uint256 deadline)",
);

/** What makes a deposit this one, whenever it is carried out; nobody signs it. */
export const DEPOSIT_ID_TYPE: FlatType = parseFlatType(
  "Core:DepositId(address user,uint256 amount,uint256 nonce)",
);

/**
 * A nonce of 128 random bits: two of one user are never the same.
 *
 * @example
 * ```ts
 * const nonce = randomNonce();
 * await client.deposit(25_000_000n, nonce); // after a lost answer, the same again
 * ```
 */
export function randomNonce(): bigint {
  return BigInt(`0x${bytesToHex(crypto.getRandomValues(new Uint8Array(16)))}`);
}
