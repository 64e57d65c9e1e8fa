import { bytesToHex } from "@noble/hashes/utils";
import { callJson } from "../net/call_json.ts";
import { depositAnswerSchema } from "../protocol/answers.ts";
import { DEPOSIT_REQUEST_TYPE } from "../protocol/deposit.ts";
import type { Hex } from "../protocol/scalars.ts";
import { REQUEST_LIFE_MS } from "./bet.ts";
import { type Context, requireNodeChain, requireServiceChain, walletOf } from "./context.ts";
import { requireAmount, requireNonce } from "./input.ts";
import { typedDataOf } from "./typed_data.ts";

/** Signs a deposit and sends it to the bridge. @returns The hash of the deposit transaction. */
export async function deposit(
  context: Context,
  amount: bigint,
  nonce: bigint = randomNonce(),
): Promise<Hex> {
  requireAmount("amount", amount, 1n);
  requireNonce(nonce);
  const { urls, chainId, clock } = context;
  const wallet = walletOf(context);
  const [user] = await Promise.all([
    wallet.address(),
    requireNodeChain(context),
    requireServiceChain(context, "bridge"),
  ]);
  const deadline = clock.now() + REQUEST_LIFE_MS;
  const message = { user, amount, nonce, deadline: BigInt(deadline) };
  const signature = await wallet.sign(user, typedDataOf(DEPOSIT_REQUEST_TYPE, chainId, message));
  const body = { user, amount: amount.toString(), nonce: nonce.toString(), deadline, signature };
  return (await callJson(`${urls.bridge}/deposit`, depositAnswerSchema, body)).txHash;
}

/** 128 random bits: two nonces of one user are never the same. */
function randomNonce(): bigint {
  return BigInt(`0x${bytesToHex(crypto.getRandomValues(new Uint8Array(16)))}`);
}
