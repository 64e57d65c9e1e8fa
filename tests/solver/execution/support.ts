import { createRegistry } from "../../../lib/http/metrics.ts";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { NewIntent } from "../../../lib/intents/intent.ts";
import { ReservationTable } from "../../../lib/intents/reservation_table.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { TransactionBuilder } from "../../../lib/intents/transactions.ts";
import { Submitter } from "../../../lib/intents/submitter.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import type { UnsignedQuote } from "../../../lib/protocol/quote.ts";
import { decodeBet, encodeExecution } from "../../../services/solver/execution/execution.ts";
import { ExecutionPreparation } from "../../../services/solver/execution/execution_preparation.ts";
import { Executor, type ExecutorOptions } from "../../../services/solver/execution/executor.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import type { Hedge } from "../../../services/solver/execution/hedge.ts";
import { SolverMetrics } from "../../../services/solver/metrics.ts";
import { ReservationReleaser } from "../../../services/solver/execution/reservation_releaser.ts";
import { ExposureLimit } from "../../../services/solver/risk/exposure_limit.ts";
import {
  PreTradeChecks,
  type PreTradeChecksOptions,
} from "../../../services/solver/risk/pre_trade_checks.ts";
import { MockStrategy } from "../../../services/solver/pricing/mock_strategy.ts";
import { QuoteSigner } from "../../../services/solver/quoting/quote_signer.ts";
import { onlyChain } from "../../support/intents.ts";
import { ScriptedNode } from "../../support/scripted_node.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import {
  accountOf,
  CHAIN_ID,
  market,
  nodePrice,
  signedExecution,
  solver,
  termsAt,
  user,
} from "../support.ts";

/** A quote of one second, signed by both sides. */
export function signed(clock: FakeClock, overrides: Partial<UnsignedQuote> = {}) {
  return signedExecution(termsAt(clock.now(), { deadline: clock.now() + 1_000, ...overrides }));
}

/** An execution as it is recorded, its transaction not signed yet. */
export function recorded(clock: FakeClock): NewIntent {
  const { quoteHash, execution } = signed(clock);
  return {
    key: quoteHash,
    user: user.address,
    payload: encodeExecution(execution),
    transaction: null,
    expiresAtMs: execution.quote.deadline,
    createdAtMs: clock.now(),
  };
}

/** A hedging service that answers at once. */
export function hedgeOf(cover: Hedge["cover"] = () => Promise.resolve()): Hedge {
  return { cover };
}

export interface Overrides {
  clock?: FakeClock;
  exposure?: ExposureBook;
  strategy?: PreTradeChecksOptions["strategy"];
}

/**
 * An executor on a store in memory, a healthy node and a hedge that the test controls, measured as
 * in service.
 */
function createExecutor(given: Hedge, overrides: Overrides) {
  const hedge = new SolverMetrics(createRegistry(), SPEC_MARKETS).timeHedge(given);
  const { clock = new FakeClock(), exposure = new ExposureBook(undefined, decodeBet) } = overrides;
  const { strategy = new MockStrategy(() => 0) } = overrides;
  const store = new IntentStore(SqliteDriver.open(":memory:"), "test");
  const submissionNode = new ScriptedNode();
  /** What the next look for settled theses releases. */
  const released: string[] = [];
  const node = {
    getPrices: () => Promise.resolve({ [market.symbol]: nodePrice() }),
    getAccount: (address: Address) => Promise.resolve(accountOf(address, 1_000n)),
  };
  const guard = onlyChain(clock);
  const checks = new PreTradeChecks({
    markets: SPEC_MARKETS,
    node,
    solver: solver.address,
    clock,
    maxRisk: 50n,
    hedgeMs: 0,
    strategy,
    guard,
  });
  const exposureLimit = new ExposureLimit(exposure);
  const reservations = new ReservationTable(store, exposure);
  const releaser = new ReservationReleaser({
    store,
    reservations,
    book: exposure,
    node: {
      getThesis: () => Promise.resolve(null),
      getTheses: () => Promise.resolve({ theses: [], nextCursor: null }),
    },
    guard,
    clock,
  });
  const preparation = new ExecutionPreparation({
    checks,
    exposure,
    hedge,
    quoteSigner: new QuoteSigner(solver),
    chainId: CHAIN_ID,
    clock,
  });
  const submitter = new Submitter({
    store,
    clock,
    guard,
    transactions: new TransactionBuilder(solver, CHAIN_ID, clock),
    handler: {
      termsOf: (intent) => preparation.termsOf(intent),
      beforeSigning: (intent) => preparation.prepare(intent),
      onFinished: (intent) => releaser.onExecutionFinished(intent),
    },
    node: submissionNode,
  });
  const options: ExecutorOptions = {
    store,
    reservations,
    submitter,
    guard,
    preparation,
    checks,
    exposureLimit,
    releaseSettled: () => Promise.resolve(released.splice(0).length),
    quoteSigner: new QuoteSigner(solver),
    chainId: CHAIN_ID,
    clock,
  };
  return {
    executor: new Executor(options),
    /** Those of the executor, for another one with some of them changed. */
    options,
    preparation,
    exposure,
    clock,
    store,
    clocks: guard.clocks,
    sent: submissionNode.sent,
    released,
    submitter,
    guard,
  };
}

export type Scene = ReturnType<typeof createExecutor>;

export async function withExecutor(
  hedge: Hedge,
  test: (scene: Scene) => Promise<void>,
  overrides: Overrides = {},
): Promise<void> {
  const scene = createExecutor(hedge, overrides);
  try {
    await test(scene);
  } finally {
    await scene.submitter.stop();
    await scene.store.close();
  }
}
