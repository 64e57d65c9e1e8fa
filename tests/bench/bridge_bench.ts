/**
 * Deposits a second of the bridge over HTTP, every one flushed to disk before its answer, with a node
 * that answers at once; and the same path on plain viem calls. Run with
 * `deno run --allow-all tests/bench/bridge_bench.ts [deposits]`.
 */
import { getLogger } from "@logtape/logtape";
import { hashTypedData, recoverTypedDataAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { systemClock } from "../../lib/clock.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { SignedTransactionText } from "../../lib/intents/intent.ts";
import { SqliteDriver } from "../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../lib/intents/store.ts";
import { TransactionSigner } from "../../lib/intents/signed_transaction.ts";
import { Submitter } from "../../lib/intents/submitter.ts";
import type { SubmissionNode } from "../../lib/intents/submitter_options.ts";
import { hashDepositRequest } from "../../lib/protocol/hashes.ts";
import { DEPOSIT_REQUEST_TYPE, type DepositRequest } from "../../lib/protocol/deposit.ts";
import type { Hex } from "../../lib/protocol/scalars.ts";
import { Signer } from "../../lib/protocol/signature.ts";
import {
  type Deposit,
  hashTransaction,
  TRANSACTION_TYPES,
  transactionSchema,
  transactionToText,
} from "../../lib/protocol/transaction.ts";
import { type FlatType, signingDomain } from "../../lib/protocol/typed_data.ts";
import { listen } from "../../lib/http/listener.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { createBridgeApi } from "../../services/bridge/api.ts";
import { depositKey, Depositor } from "../../services/bridge/depositor.ts";
import { DepositBook } from "../../services/bridge/deposits.ts";
import { BridgeMetrics } from "../../services/bridge/metrics.ts";
import { encodePayload } from "../../services/bridge/depositor.ts";

const CHAIN_ID = 1337;
const CONCURRENCY = 64;
const ROUNDS = 3;
const relayer = DEV_ACCOUNTS.relayer;

/** Commits at once what it is sent. */
const instantNode: SubmissionNode = {
  sendTransactionText(text) {
    const tx = transactionSchema.parse(JSON.parse(text));
    const txHash = hashTransaction(tx, CHAIN_ID);
    return Promise.resolve({ txHash, status: "committed", blockNumber: 1 });
  },
  getTransaction: () => Promise.resolve(null),
  getHead: () => Promise.resolve({ number: 1, timestampMs: Date.now() }),
};

interface Path {
  name: string;
  depositor(store: IntentStore, submitter: Submitter): Pick<Depositor, "deposit">;
}

const ours: Path = {
  name: "bridge",
  depositor: (store, submitter) =>
    new Depositor({
      intents: {
        store,
        submit: submitter.submit.bind(submitter),
        requireChain: () => Promise.resolve(),
        transactions: new TransactionSigner(new Signer(relayer.privateKey), CHAIN_ID, systemClock),
      },
      chainId: CHAIN_ID,
      clock: systemClock,
    }),
};

const onViem: Path = {
  name: "viem",
  depositor: (store, submitter) => ({
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
        subject: request.user,
        payload: encodePayload(request, externalTxHash),
        transaction: await signOnViem(request, externalTxHash),
        expiresAtMs: request.deadline,
        createdAtMs: Date.now(),
      });
      await submitter.submit(intent, true);
      return intent.transaction?.txHash ?? "0x";
    },
  }),
};

function definitionOf(type: FlatType, message: Record<string, unknown>) {
  return {
    domain: signingDomain(CHAIN_ID),
    types: { [type.primaryType]: type.fields },
    primaryType: type.primaryType,
    message,
  };
}

const account = privateKeyToAccount(relayer.privateKey);

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
  const user = new Signer(`0x${"11".repeat(32)}`);
  const deadline = Date.now() + 3_600_000;
  return Array.from({ length: count }, (_, nonce) => {
    const request = { user: user.address, amount: 1_000_000n, nonce: BigInt(nonce), deadline };
    const signature = user.sign(hashDepositRequest(request, CHAIN_ID));
    return JSON.stringify({
      ...request,
      amount: request.amount.toString(),
      nonce: request.nonce.toString(),
      signature,
    });
  });
}

interface Figures {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Sends from a worker, so that the callers' work takes as little as can be from the bridge's. */
function sendAll(url: string, bodies: string[]): Promise<Figures> {
  const worker = new Worker(new URL("bridge_bench_clients.ts", import.meta.url), {
    type: "module",
  });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => {
      worker.terminate();
      resolve(data);
    };
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage({ port: Number(new URL(url).port), bodies, concurrency: CONCURRENCY });
  });
}

async function measure(path: Path, bodies: string[]): Promise<Figures> {
  const directory = await Deno.makeTempDir();
  const store = new IntentStore(SqliteDriver.open(`${directory}/bench.sqlite`), "bench");
  const submitter: Submitter = new Submitter({
    store,
    node: instantNode,
    clock: systemClock,
    random: Math.random,
    log: getLogger("test"),
    receiptsKeptMs: 7 * 86_400_000,
    sign: () => Promise.reject(new Error("Nothing is signed twice here")),
    verify() {},
  });
  const app = createBridgeApi({
    depositor: path.depositor(store, submitter),
    deposits: new DepositBook(store),
    metrics: new BridgeMetrics(createRegistry(), () => store.countUnfinished()),
    limiter: (_c, next) => next(),
    checkReadiness: () => Promise.reject(new Error("Not asked for here")),
    bridge: relayer.address,
    rpcUrl: "",
    version: "",
    chainId: CHAIN_ID,
    corsOrigins: ["*"],
  });
  const listener = listen("127.0.0.1", 0, (request) => app.fetch(request));
  try {
    return await sendAll(listener.url, bodies);
  } finally {
    await listener.stop();
    await submitter.stop();
    await store.close();
    await Deno.remove(directory, { recursive: true });
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function main(): Promise<void> {
  const count = Number(Deno.args[0] ?? 3_000);
  const bodies = signedBodies(count);
  const paths = [ours, onViem];
  const figures = new Map<Path, Figures[]>(paths.map((path) => [path, []]));
  for (const path of paths) await measure(path, bodies.slice(0, Math.min(count, 500)));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const path of paths) figures.get(path)?.push(await measure(path, bodies));
  }
  const rate = (path: Path) => median((figures.get(path) ?? []).map((one) => one.perSecond));
  console.log(`${count} deposits, ${CONCURRENCY} at a time, full sync, median of ${ROUNDS} rounds`);
  for (const path of paths) {
    const of = (key: keyof Figures) => median((figures.get(path) ?? []).map((one) => one[key]));
    console.log(
      `${path.name.padEnd(8)} ${rate(path).toFixed(0).padStart(6)} deposits/s  ` +
        `p50 ${of("p50Ms").toFixed(1)} ms  p99 ${of("p99Ms").toFixed(1)} ms`,
    );
  }
  console.log(`ratio bridge / viem: ${(rate(ours) / rate(onViem)).toFixed(2)}`);
}

await main();
