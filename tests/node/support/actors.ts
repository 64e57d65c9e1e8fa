import { hashQuote } from "../../../lib/protocol/hashes.ts";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { LocalSigner } from "../../../lib/protocol/signature.ts";
import {
  type BackfillOracle,
  type Deposit,
  quoteOf,
  type RfqSubmit,
} from "../../../lib/protocol/transaction.ts";
import { signTransaction } from "../../support/signing.ts";

export const CHAIN_ID = 1337;

/** ETH/USDT: the market of most tests. */
export const ETH = MARKETS[1]!; // the table has three rows

function signerOf(byte: string): LocalSigner {
  return new LocalSigner(`0x${byte.repeat(32)}`);
}

export const actors = {
  relayer: signerOf("a1"),
  admin: signerOf("a2"),
  solver: signerOf("a3"),
  user: signerOf("a4"),
  stranger: signerOf("a5"),
};

export function hashOf(number: number): Hex {
  return `0x${number.toString(16).padStart(64, "0")}`;
}

/** A signed `Deposit`: by default the first one, 5 USDC for the user. */
export function deposit(
  { timestamp, by = actors.relayer, ...rest }:
    & { timestamp: number; by?: LocalSigner }
    & Partial<Pick<Deposit, "user" | "amount" | "externalTxHash">>,
): Deposit {
  const unsigned = {
    type: "Deposit" as const,
    timestamp,
    from: by.address,
    user: actors.user.address,
    amount: 5_000_000n,
    externalTxHash: hashOf(1),
    ...rest,
  };
  return signTransaction(unsigned, by, CHAIN_ID).tx;
}

/** Fields of a quote that a test sets; by default a box of ±5 % around 3,000 for 1 USDC. */
export interface QuoteFields extends Partial<Omit<RfqSubmit, "type" | "from" | "user">> {
  timestamp: number;
  user?: LocalSigner;
  solver?: LocalSigner;
  /** Signs in place of the solver or the user. */
  solverSigner?: LocalSigner;
  userSigner?: LocalSigner;
  from?: LocalSigner;
}

/** A signed `RfqSubmit`: from now for a second, by default. */
export function rfqSubmit(fields: QuoteFields): RfqSubmit {
  const { user = actors.user, solver = actors.solver, solverSigner, userSigner, from, ...rest } =
    fields;
  const unsigned = {
    type: "RfqSubmit" as const,
    from: (from ?? solver).address,
    user: user.address,
    thesisType: "box" as const,
    base: ETH.base,
    quote: ETH.quote,
    lowerPrice: 2_850_000_000n,
    upperPrice: 3_150_000_000n,
    betAmount: 1_000_000n,
    payout: 1_070_000n,
    startTime: fields.timestamp,
    endTime: fields.timestamp + 1_000,
    deadline: fields.timestamp + 60_000,
    solverSignature: "0x" as Hex,
    userSignature: "0x" as Hex,
    ...rest,
  };
  const quoteHash = hashQuote(quoteOf(unsigned), CHAIN_ID);
  unsigned.solverSignature = (solverSigner ?? solver).sign(quoteHash);
  unsigned.userSignature = (userSigner ?? user).sign(quoteHash);
  return signTransaction(unsigned, from ?? solver, CHAIN_ID).tx;
}

export function backfill(
  fields:
    & { timestamp: number; startTime: number; prices: bigint[]; by?: LocalSigner }
    & Partial<
      Pick<BackfillOracle, "base" | "quote">
    >,
): BackfillOracle {
  const { by = actors.admin, ...rest } = fields;
  const { base, quote } = ETH;
  return signTransaction(
    { type: "BackfillOracle", from: by.address, base, quote, ...rest },
    by,
    CHAIN_ID,
  ).tx;
}
