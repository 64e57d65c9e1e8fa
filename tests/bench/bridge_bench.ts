/**
 * Deposits a second of the bridge over HTTP, every one flushed to disk before its answer, with a
 * node that answers at once; and the same path on plain viem calls. Run with
 * `deno run --allow-all tests/bench/bridge_bench.ts [deposits]`.
 */
import assert from "node:assert/strict";
import { hashTypedData, recoverTypedDataAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { systemClock } from "../../lib/clock.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { SignedTransactionText } from "../../lib/intents/intent.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import type { SubmissionNode } from "../../lib/intents/node_answer.ts";
import { TransactionBuilder } from "../../lib/intents/transactions.ts";
import type { Submitter } from "../../lib/intents/submitter.ts";
import { DEPOSIT_REQUEST_TYPE, type DepositRequest } from "../../lib/protocol/deposit.ts";
import type { Hex } from "../../lib/protocol/scalars.ts";
import {
  type Deposit,
  hashTransaction,
  TRANSACTION_TYPES,
  transactionSchema,
  transactionToText,
} from "../../lib/protocol/transaction.ts";
import { depositKey, Depositor, encodeDeposit } from "../../services/bridge/depositor.ts";
import { relayer, signedRequest } from "../bridge/support.ts";
import { onlyChain } from "../support/intents.ts";
import { bridgeAppOf } from "../openapi/support/apps.ts";
import { CHAIN_ID, compare, definitionOf, type Figures, post, withStore } from "./driver.ts";

const CONCURRENCY = 64;

const instantNode: SubmissionNode = {
  sendTransactionText(text) {
    const tx = transactionSchema.parse(JSON.parse(text));
    const txHash = hashTransaction(tx, CHAIN_ID);
    return Promise.resolve({ txHash, status: "committed", blockNumber: 1 });
  },
  getTransaction: () => Promise.resolve(null),
  simulateTransactionText: () => Promise.reject(new Error("No deposit is late")),
};

type Path = (store: IntentStore, submitter: Submitter) => Pick<Depositor, "deposit">;

const ours: Path = (store, submitter) =>
  new Depositor({
    store,
    submitter,
    guard: onlyChain(systemClock),
    findNodeRefusal: () => Promise.resolve(undefined),
    transactions: new TransactionBuilder(relayer, CHAIN_ID, systemClock),
    chainId: CHAIN_ID,
    clock: systemClock,
    onRefused() {},
  });

const onViem: Path = (store, submitter) => ({
  async deposit(request: DepositRequest): Promise<Hex> {
    const { signature, ...terms } = request;
    const message = { ...terms, deadline: BigInt(request.deadline) };
    const definition = definitionOf(DEPOSIT_REQUEST_TYPE, message);
    if (Date.now() > request.deadline) throw new Error("expired");
    const recovered = await recoverTypedDataAddress({ ...definition, signature });
    if (recovered !== request.user) throw new Error("signature");
    const externalTxHash = hashTypedData(definition);
    const { intent } = await store.insert({
      key: depositKey(request.user, request.nonce),
      user: request.user,
      payload: encodeDeposit(request, externalTxHash),
      transaction: await signOnViem(request, externalTxHash),
      expiresAtMs: request.deadline,
      createdAtMs: Date.now(),
    });
    await submitter.submitNew(intent);
    return intent.transaction?.txHash ?? "0x";
  },
});

const account = privateKeyToAccount(DEV_ACCOUNTS.relayer.privateKey);

async function signOnViem(
  { user, amount }: DepositRequest,
  externalTxHash: Hex,
): Promise<SignedTransactionText> {
  const tx = {
    type: "Deposit" as const,
    timestamp: Date.now(),
    from: account.address,
    user,
    amount,
    externalTxHash,
  };
  const definition = definitionOf(TRANSACTION_TYPES.Deposit, {
    ...tx,
    timestamp: BigInt(tx.timestamp),
  });
  const txHash = hashTypedData(definition);
  const signed: Deposit = { ...tx, signature: await account.signTypedData(definition) };
  return { txHash, text: transactionToText(signed) };
}

/** Bodies of `POST /deposit` that differ in their nonce. */
function signedBodies(count: number): string[] {
  const deadline = Date.now() + 3_600_000;
  return Array.from(
    { length: count },
    (_, nonce) => JSON.stringify(signedRequest({ nonce: BigInt(nonce), deadline })),
  );
}

function measure(path: Path, bodies: string[]): Promise<Figures> {
  const unused = () => assert.fail("Nothing is read from the store or signed twice here");
  const transactions = { sign: unused, requireOwn: unused };
  const options = { node: instantNode, handler: { termsOf: unused }, transactions };
  return withStore(options, (store, submitter) => {
    const app = bridgeAppOf(path(store, submitter), store);
    return post(app, { path: "/deposit", bodies, concurrency: CONCURRENCY });
  });
}

const bodies = signedBodies(Number(Deno.args[0] ?? 3_000));
console.log(`${bodies.length} deposits, ${CONCURRENCY} at a time, full sync`);
const { bridge, viem } = await compare("deposits", {
  bridge: () => measure(ours, bodies),
  viem: () => measure(onViem, bodies),
});
console.log(`ratio bridge / viem: ${(bridge / viem).toFixed(2)}`);
