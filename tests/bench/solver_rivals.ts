/**
 * What the solver's benchmark is measured against: the same work with hashes and signatures by
 * viem.
 */
import { Hono } from "hono";
import { hashTypedData, recoverTypedDataAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { SignedTransactionText } from "../../lib/intents/intent.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import type { Submitter } from "../../lib/intents/submitter.ts";
import {
  QUOTE_TYPE,
  quoteMessage,
  quoteRequestSchema,
  quoteToWire,
  type UnsignedQuote,
} from "../../lib/protocol/quote.ts";
import { TRANSACTION_TYPES, transactionToText } from "../../lib/protocol/transaction.ts";
import { createBodyReader, useJsonApi } from "../../lib/http/json_api.ts";
import type { TransactionTerms } from "../../lib/intents/transactions.ts";
import { SOLVER_ERRORS } from "../../services/solver/error_answers.ts";
import { encodeExecution, requireResult } from "../../services/solver/execution/execution.ts";
import type { Executor } from "../../services/solver/execution/executor.ts";
import { MockStrategy } from "../../services/solver/pricing/mock_strategy.ts";
import { LIMITS } from "../../services/solver/shared/limits.ts";
import { requireQuoteRules } from "../../services/solver/quoting/quote_rules.ts";
import { definitionOf } from "./driver.ts";

const account = privateKeyToAccount(DEV_ACCOUNTS.solver.privateKey);
const strategy = new MockStrategy(Math.random);

/** `POST /quote` with the same parsing, rules and payout, signed by viem. */
export function viemQuotes(): Hono {
  const readBody = createBodyReader([]);
  const app = new Hono();
  useJsonApi(app, "solver", ["*"], SOLVER_ERRORS);
  app.post("/quote", async (c) => {
    const request = await readBody(c, quoteRequestSchema);
    requireQuoteRules(request, SPEC_MARKETS, LIMITS.minBetAmount);
    const terms: UnsignedQuote = {
      ...request,
      solver: account.address,
      payout: strategy.price(request).payout,
    };
    const definition = definitionOf(QUOTE_TYPE, quoteMessage(terms));
    const quoteHash = hashTypedData(definition);
    const quote = { ...terms, signature: await account.signTypedData(definition) };
    return c.json({ success: true, quote: quoteToWire(quote), quoteHash });
  });
  return app;
}

/** What an execution asks of the node before it is recorded. */
interface ExecutionNode {
  getPrices(): Promise<unknown>;
  getAccount(): Promise<unknown>;
}

/** What executions are recorded in and submitted by. */
export interface Executing {
  store: IntentStore;
  submitter: Submitter;
}

/** What the executor does, with hashes and signatures by viem. */
export function viemExecutor(
  { store, submitter, node }: Executing & { node: ExecutionNode },
): Pick<Executor, "execute"> {
  return {
    async execute({ quote: received, userSignature }) {
      const quote = { ...received, solver: received.solver ?? account.address };
      const definition = definitionOf(QUOTE_TYPE, quoteMessage(quote));
      const quoteHash = hashTypedData(definition);
      const signers = await Promise.all(
        [quote.signature, userSignature].map((signature) =>
          recoverTypedDataAddress({ ...definition, signature })
        ),
      );
      if (signers[0] !== account.address || signers[1] !== quote.user) throw new Error("signature");
      const earlier = await store.find(quoteHash);
      if (earlier !== undefined) return requireResult(await submitter.submit(earlier));
      await Promise.all([node.getPrices(), node.getAccount()]);
      const { intent } = await store.insert({
        key: quoteHash,
        user: quote.user,
        payload: encodeExecution({ quote, userSignature }),
        transaction: null,
        expiresAtMs: quote.deadline,
        createdAtMs: Date.now(),
      });
      return requireResult(await submitter.submit(intent));
    },
  };
}

export async function signOnViem(terms: TransactionTerms): Promise<SignedTransactionText> {
  if (terms.type !== "RfqSubmit") throw new TypeError(`Unexpected ${terms.type}`);
  const tx = { ...terms, timestamp: Date.now(), from: account.address };
  const definition = definitionOf(TRANSACTION_TYPES.RfqSubmit, {
    ...tx,
    timestamp: BigInt(tx.timestamp),
    startTime: BigInt(tx.startTime),
    endTime: BigInt(tx.endTime),
    deadline: BigInt(tx.deadline),
  });
  const txHash = hashTypedData(definition);
  const signature = await account.signTypedData(definition);
  return { txHash, text: transactionToText({ ...tx, signature }) };
}
