/**
 * How large the SQLite files of bridge and solver grow: two weeks by a fake clock, finished intents kept
 * for one of them. Prints the size after each day. Run with
 * `deno run --allow-all tests/bench/store_growth_bench.ts [intents a day]`.
 */
import { openIntentStore } from "../../lib/intents/open_store.ts";
import type { Hex } from "../../lib/protocol/scalars.ts";
import { signTransaction, transactionToText } from "../../lib/protocol/transaction.ts";
import { encodePayload } from "../../services/bridge/depositor.ts";
import { encodeExecution } from "../../services/solver/execution/execution.ts";
import { actors, CHAIN_ID, hashOf } from "../node/support/actors.ts";
import { signedExecution, termsAt } from "../solver/support.ts";
import { DAY_MS, HOUR_MS } from "../../lib/time.ts";
import { insertReserved, newIntent } from "../support/intents.ts";

const DAYS = 14;
const RETAIN_MS = 7 * DAY_MS;
const PER_DAY = Number(Deno.args[0] ?? 10_000);
const { relayer, user } = actors;

interface Request {
  key: string;
  payload: string;
  txHash: Hex;
  text: string;
}

/** A deposit as the bridge records it. Signed once: the length of the texts is what counts. */
function depositAt(nowMs: number) {
  const request = { user: user.address, amount: 25_000_000n, nonce: 1n, deadline: nowMs };
  const { tx, txHash } = signTransaction(
    {
      ...{ type: "Deposit" as const, timestamp: nowMs, from: relayer.address, user: user.address },
      ...{ amount: request.amount, externalTxHash: hashOf(1) },
    },
    relayer,
    CHAIN_ID,
  );
  const text = transactionToText(tx);
  return (number: number): Request => {
    const nonce = BigInt(10 ** 12 + number);
    const signed = { ...request, nonce, signature: tx.signature };
    return {
      key: `${user.address}:${nonce}`,
      payload: encodePayload(signed, hashOf(number)),
      ...{ txHash, text },
    };
  };
}

/** An execution as the solver records it. */
function executionAt(nowMs: number) {
  const prices = { lowerPrice: 2_900_000_000n, upperPrice: 3_100_000_000n };
  const stakes = { betAmount: 10_000_000n, payout: 10_750_000n };
  const { execution } = signedExecution(termsAt(nowMs, { ...prices, ...stakes }));
  const { quote, userSignature } = execution;
  const { signature: solverSignature, solver: from, ...terms } = quote;
  const { tx, txHash } = signTransaction(
    {
      ...{ type: "RfqSubmit" as const, timestamp: nowMs, from },
      ...{ ...terms, solverSignature, userSignature },
    },
    actors.solver,
    CHAIN_ID,
  );
  const recorded = { payload: encodeExecution(execution), txHash, text: transactionToText(tx) };
  return (number: number): Request => ({ key: hashOf(number), ...recorded });
}

async function grow(service: string, requestAt: (nowMs: number) => (n: number) => Request) {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/store.sqlite`;
  const store = await openIntentStore(path, service);
  const startMs = Date.now();
  const perHour = Math.round(PER_DAY / 24);
  let number = 0;
  for (let hour = 1; hour <= 24 * DAYS; hour++) {
    const nowMs = startMs + hour * HOUR_MS;
    const requestOf = requestAt(nowMs);
    await Promise.all(Array.from({ length: perHour }, async () => {
      const { key, payload, txHash, text } = requestOf(number += 1);
      const reserved = service === "solver";
      const intent = newIntent(key, {
        ...{ subject: user.address, payload, expiresAtMs: nowMs, createdAtMs: nowMs },
      });
      const accepted = reserved
        ? await insertReserved(store, intent)
        : (await store.insert(intent)).intent;
      const signed = await store.setTransaction(accepted, { txHash, text }, nowMs);
      const receipt = { txHash, status: "committed", blockNumber: number, thesisId: number };
      const outcome = {
        state: "committed",
        receipt: JSON.stringify(receipt),
        failure: null,
      } as const;
      await store.finish(signed, outcome, nowMs);
      if (reserved) await store.release(key);
    }));
    while (await store.deleteFinished({ beforeMs: nowMs - RETAIN_MS, limit: 200 }) > 0);
    if (hour % 24 !== 0) continue;
    const bytes = ["", "-wal"].reduce((sum, end) => sum + Deno.statSync(`${path}${end}`).size, 0);
    const kept = Math.min(number, perHour * 24 * (RETAIN_MS / DAY_MS));
    console.log(
      `${service}, day ${hour / 24}: ${(bytes / 1e6).toFixed(1)} MB, ${kept} kept, ` +
        `${Math.round(bytes / kept)} bytes each`,
    );
  }
  await store.close();
  await Deno.remove(folder, { recursive: true });
}

await grow("bridge", depositAt);
await grow("solver", executionAt);
