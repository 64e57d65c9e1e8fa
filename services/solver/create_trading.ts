import type { Registry } from "prom-client";
import type { Clock } from "../../lib/clock.ts";
import type { IntentResources } from "../../lib/intents/intent_resources.ts";
import { ChainGuard } from "../../lib/intents/chain_guard.ts";
import { IntentService } from "../../lib/intents/intent_service.ts";
import { ReservationTable } from "../../lib/intents/reservation_table.ts";
import { Submitter } from "../../lib/intents/submitter.ts";
import { createCachedCall } from "../../lib/timing/cached.ts";
import { NODE_ANSWER_CACHED_MS } from "../../lib/net/core_reader.ts";
import type { Markets } from "../../lib/protocol/markets.ts";
import type { LocalSigner } from "../../lib/protocol/signature.ts";
import type { Pricing } from "./open_pricing.ts";
import { checkThesis, decodeExecution } from "./execution/execution.ts";
import { ExecutionPreparation } from "./execution/execution_preparation.ts";
import { Executor } from "./execution/executor.ts";
import { createHttpHedge, type Hedge, SimulatedHedge } from "./execution/hedge.ts";
import { ReservationReleaser } from "./execution/reservation_releaser.ts";
import type { SolverMetrics } from "./metrics.ts";
import type { SolverOptions } from "./options.ts";
import type { OwnAccount } from "./own_account.ts";
import { QuoteSigner } from "./quoting/quote_signer.ts";
import { Quoter } from "./quoting/quoter.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";
import { ExposureLimit } from "./risk/exposure_limit.ts";
import { PreTradeChecks } from "./risk/pre_trade_checks.ts";
import { solverLog } from "./shared/solver_log.ts";

/** The parts of the solver that others are created from; `mod.ts` creates each once. */
export interface SolverParts extends IntentResources {
  signer: LocalSigner;
  markets: Markets;
  pricing: Pricing;
  exposure: ExposureBook;
  account: OwnAccount;
  metrics: SolverMetrics;
  registry: Registry;
}

/** What quotes bets, and what executes the signed ones. */
export type Trading = ReturnType<typeof createTrading>;

/** Creates what quotes bets, and what checks, reserves, hedges and submits the signed ones. */
export function createTrading(options: SolverOptions, parts: SolverParts) {
  const { store, node, clock, chainId, markets, signer, exposure, metrics, log } = parts;
  const { strategy, marketData } = parts.pricing;
  const { maxStartAheadMs, maxStartBehindMs, maxDeadlineMs } = options;
  const quoteSigner = new QuoteSigner(signer);
  const exposureLimit = new ExposureLimit(exposure);
  const quoter = new Quoter({
    chainId,
    clock,
    markets,
    strategy,
    signer: quoteSigner,
    exposureLimit,
    // `mock` looks at no price, so it needs no bounds on time.
    timeBounds: marketData && { maxStartAheadMs, maxStartBehindMs, maxDeadlineMs },
  });
  const guard = new ChainGuard({
    store,
    node: parts.shortTimeoutNode,
    chainId,
    clock,
    log,
    async isOnChain(intent) {
      const { outcome } = await checkThesis(node, intent, clock.now());
      return outcome === "found" || outcome === "pruned";
    },
  });
  const reservations = new ReservationTable(store, exposure);
  const releaser = new ReservationReleaser({
    store,
    reservations,
    node,
    clock,
    book: exposure,
    guard,
    onSettled: (thesis) => metrics.countSettledBet(thesis),
  });
  const hedge = createHedge(options, clock, metrics);
  const checks = new PreTradeChecks({
    node,
    solver: signer.address,
    clock,
    markets,
    maxRisk: options.maxRisk,
    hedgeMs: options.hedgeDelayMs,
    strategy,
    guard,
  });
  const preparation = new ExecutionPreparation({
    checks,
    exposure,
    hedge,
    quoteSigner,
    chainId,
    clock,
  });
  const submitter = new Submitter({
    ...parts,
    guard,
    handler: {
      termsOf: (intent) => preparation.termsOf(intent),
      beforeSigning: (intent) => preparation.prepare(intent),
      onFinishedByUs(intent) {
        metrics.countExecution(intent);
        solverLog.finished(intent);
        if (intent.state !== "committed") return;
        metrics.countCommittedBet(decodeExecution(intent.payload).quote);
      },
      onFinished: (intent) => releaser.onExecutionFinished(intent),
    },
  });
  const executor = new Executor({
    store,
    reservations,
    submitter,
    guard,
    preparation,
    checks,
    exposureLimit,
    releaseSettled: createCachedCall(() => releaser.reconcile(), NODE_ANSWER_CACHED_MS, clock),
    quoteSigner,
    chainId,
    clock,
  });
  const intents = new IntentService({
    resources: parts,
    guard,
    submitter,
    retainMs: options.retain,
    registry: parts.registry,
  });
  return { quoter, executor, intents, reservations, releaser, exposureLimit };
}

function createHedge(options: SolverOptions, clock: Clock, metrics: SolverMetrics): Hedge {
  const { hedgeUrl: url, hedgeDelayMs, hedgeTimeoutMs: timeoutMs } = options;
  const hedge = url === undefined
    ? new SimulatedHedge(clock, hedgeDelayMs)
    : createHttpHedge({ url, timeoutMs });
  return metrics.timeHedge(hedge);
}
