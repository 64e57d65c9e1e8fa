/**
 * The solver over HTTP on one core: quotes a second, and executions a second with every one flushed
 * to disk and a node that answers at once; each beside the same route on plain viem calls,
 * executions also of quotes that the solver remembers having signed. Run with
 * `deno run --allow-all tests/bench/solver_bench.ts [quotes] [executions]`.
 */
import type { Hono } from "hono";
import { systemClock } from "../../lib/clock.ts";
import type { SubmissionNode } from "../../lib/intents/node_answer.ts";
import { ReservationTable } from "../../lib/intents/reservation_table.ts";
import { TransactionBuilder } from "../../lib/intents/transactions.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteToWire } from "../../lib/protocol/quote.ts";
import { hashTransaction, transactionSchema } from "../../lib/protocol/transaction.ts";
import {
  decodeBet,
  decodeExecution,
  transactionTermsOf,
} from "../../services/solver/execution/execution.ts";
import { ExecutionPreparation } from "../../services/solver/execution/execution_preparation.ts";
import { Executor } from "../../services/solver/execution/executor.ts";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { ExposureLimit } from "../../services/solver/risk/exposure_limit.ts";
import { SimulatedHedge } from "../../services/solver/execution/hedge.ts";
import { PreTradeChecks } from "../../services/solver/risk/pre_trade_checks.ts";
import { MockStrategy } from "../../services/solver/pricing/mock_strategy.ts";
import { QuoteSigner } from "../../services/solver/quoting/quote_signer.ts";
import { solverApp } from "../openapi/support/apps.ts";
import {
  accountOf,
  market,
  nodePrice,
  quoteRequest,
  solver,
  termsAt,
  user,
} from "../solver/support.ts";
import { CHAIN_ID, compare, type Figures, post, withStore } from "./driver.ts";
import { onlyChain } from "../support/intents.ts";
import { type Executing, signOnViem, viemExecutor, viemQuotes } from "./solver_rivals.ts";

const CONCURRENCY = 32;
const MAX_RISK = 10_000_000_000n;

const strategy = new MockStrategy(Math.random);

/** Commits everything at once, and has every price and unlimited money. */
const instantNode = {
  sendTransactionText(text) {
    const txHash = hashTransaction(transactionSchema.parse(JSON.parse(text)), CHAIN_ID);
    return Promise.resolve({ txHash, status: "committed" as const, blockNumber: 1, thesisId: 1 });
  },
  getTransaction: () => Promise.resolve(null),
  simulateTransactionText: () => Promise.reject(new Error("Bets are not simulated")),
  getPrices: () => Promise.resolve({ [market.symbol]: nodePrice() }),
  getAccount: () => Promise.resolve(accountOf(solver.address, 10n ** 18n)),
} satisfies SubmissionNode & Record<string, unknown>;

/** The solver's own executor and its preparation, without a delay for the hedge. */
function ownExecution(quoteSigner: QuoteSigner) {
  const exposure = new ExposureBook(undefined, decodeBet);
  const hedge = new SimulatedHedge({
    ...systemClock,
    after: (_ms, task) => (queueMicrotask(task), () => {}),
  }, 0);
  const checks = new PreTradeChecks({
    markets: SPEC_MARKETS,
    node: instantNode,
    solver: solver.address,
    clock: systemClock,
    maxRisk: MAX_RISK,
    hedgeMs: 0,
    strategy,
    guard: onlyChain(systemClock),
  });
  const shared = { checks, quoteSigner, chainId: CHAIN_ID, clock: systemClock };
  const preparation = new ExecutionPreparation({ ...shared, exposure, hedge });
  const newExecutor = (executing: Executing) =>
    new Executor({
      ...shared,
      ...executing,
      reservations: new ReservationTable(executing.store, exposure),
      guard: onlyChain(systemClock),
      preparation,
      exposureLimit: new ExposureLimit(exposure),
      releaseSettled: () => Promise.resolve(0),
    });
  return { preparation, newExecutor };
}

/** Long enough for all of them to be executed. */
const DEADLINE_MS = 3_600_000;

/** Bodies of `POST /quote` that differ in their price. */
function quoteBodies(count: number): string[] {
  const deadline = Date.now() + DEADLINE_MS;
  return Array.from(
    { length: count },
    (_, index) => JSON.stringify(quoteRequest({ lowerPrice: `${index + 1}`, deadline })),
  );
}

function executionBodies(count: number, quoteSigner: QuoteSigner): string[] {
  const nowMs = Date.now();
  return Array.from({ length: count }, (_, index) => {
    const prices = { lowerPrice: BigInt(index + 1), upperPrice: 10n ** 12n };
    const terms = termsAt(nowMs, { ...prices, deadline: nowMs + DEADLINE_MS });
    const quoteHash = hashQuote(terms, CHAIN_ID);
    const quote = quoteToWire({ ...terms, signature: quoteSigner.sign(quoteHash) });
    return JSON.stringify({ quote, userSignature: user.sign(quoteHash) });
  });
}

const measureQuotes = (app: Hono, bodies: string[]) =>
  post(app, { path: "/quote", bodies, concurrency: CONCURRENCY });

/** @param quoteSigner The solver's; without one it is viem that executes. */
function measureExecutions(bodies: string[], quoteSigner?: QuoteSigner): Promise<Figures> {
  const own = quoteSigner && ownExecution(quoteSigner);
  return withStore({
    node: instantNode,
    transactions: own === undefined
      ? { sign: signOnViem, requireOwn() {} }
      : new TransactionBuilder(solver, CHAIN_ID, systemClock),
    handler: {
      termsOf: (intent) =>
        own?.preparation.termsOf(intent) ?? transactionTermsOf(decodeExecution(intent.payload)),
      beforeSigning: async (intent) => await own?.preparation.prepare(intent),
    },
  }, (store, submitter) => {
    const executing = { store, submitter };
    const executor = own?.newExecutor(executing) ??
      viemExecutor({ ...executing, node: instantNode });
    const app = solverApp((request) => executor.execute(request));
    return post(app, { path: "/execute", bodies, concurrency: CONCURRENCY });
  });
}

async function main(): Promise<void> {
  const quotes = quoteBodies(Number(Deno.args[0] ?? 5_000));
  const remembering = new QuoteSigner(solver);
  const executions = executionBodies(Number(Deno.args[1] ?? 2_000), remembering);
  console.log(`${CONCURRENCY} callers at a time`);
  const quoted = await compare("quotes", {
    solver: () => measureQuotes(solverApp(), quotes),
    viem: () => measureQuotes(viemQuotes(), quotes),
  });
  console.log(`ratio quotes: solver / viem ${(quoted.solver / quoted.viem).toFixed(2)}`);
  const executed = await compare("executions", {
    solver: () => measureExecutions(executions, new QuoteSigner(solver)),
    remembered: () => measureExecutions(executions, remembering),
    viem: () => measureExecutions(executions),
  });
  console.log(
    `ratio executions: solver / viem ${
      (executed.solver / executed.viem).toFixed(2)
    } with every signature recovered, ${
      (executed.remembered / executed.viem).toFixed(2)
    } with the solver's own remembered`,
  );
}

await main();
