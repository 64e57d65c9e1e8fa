import type { Clock } from "../../lib/clock.ts";
import { faultPointsAt, withFaultPoints } from "../../lib/fault_points.ts";
import type { IntentService } from "../../lib/intents/intent_service.ts";
import type { IntentHandler } from "../../lib/intents/submission.ts";
import { cached, NODE_ANSWER_MS } from "../../lib/net/cached.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import type { Markets } from "../../lib/protocol/markets.ts";
import type { LocalSigner } from "../../lib/protocol/signature.ts";
import { executionLog } from "./execution_log.ts";
import { decodeExecution } from "./execution/execution.ts";
import { Executor } from "./execution/executor.ts";
import { type Hedge, HttpHedge, SimulatedHedge } from "./execution/hedge.ts";
import { isBetOnChain } from "./execution/reconcile.ts";
import { Reservations } from "./execution/reservations.ts";
import type { SolverMetrics } from "./metrics.ts";
import type { SolverOptions } from "./options.ts";
import type { PricingStrategy } from "./pricing/strategy.ts";
import type { QuoteSigner } from "./quoting/quote_signer.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";
import { ExposureLimit } from "./risk/exposure_limit.ts";
import { PreTradeChecks } from "./risk/pre_trade_checks.ts";

/** The parts of the solver that executions need. */
export interface ExecutionCore {
  intents: IntentService;
  /** The node, as `intents.node`, but without fault points: asked in the background. */
  backgroundNode: CoreClient;
  signer: LocalSigner;
  quoteSigner: QuoteSigner;
  markets: Markets;
  strategy: PricingStrategy;
  exposure: ExposureBook;
  clock: Clock;
}

/** Creates the parts that check, reserve, hedge and submit signed quotes. */
export function createExecution(
  options: SolverOptions,
  core: ExecutionCore,
  metrics: SolverMetrics,
) {
  const { intents, backgroundNode, signer, exposure, markets, strategy, clock } = core;
  const { store, node, requireChain } = intents;
  const { chainId, maxRisk, dryRun } = options;
  const reservations = new Reservations({
    store,
    book: exposure,
    node: backgroundNode,
    requireChain,
    clock,
    onOutcome: (probability, thesis) => metrics.betSettled(probability, thesis),
  });
  const limit = new ExposureLimit({
    book: exposure,
    refreshBook: () => store.refreshReservations(exposure),
    onNear: executionLog.exposure,
  });
  const faults = faultPointsAt(options.faultPoint);
  const hedge = metrics.timeHedge(withFaultPoints("hedge", createHedge(options, clock), faults));
  const { address: solver } = signer;
  const { expectedMs: hedgeMs } = hedge;
  const executor = new Executor({
    ...core,
    hedge,
    chainId,
    dryRun,
    onRecheck: metrics.rechecked,
    checks: new PreTradeChecks({ node, solver, clock, markets, maxRisk, hedgeMs, strategy }),
    limit,
    releaseSettled: cached(() => reservations.reconcile(), NODE_ANSWER_MS, clock),
  });
  const handler: IntentHandler = {
    termsOf: (intent) => executor.termsOf(intent),
    beforeSigning: (intent) => executor.prepare(intent),
    isOnChain: (intent) => isBetOnChain(backgroundNode, intent, clock.now()),
    onFinalStateSet(intent) {
      metrics.executionFinished(intent);
      const { quote } = decodeExecution(intent.payload);
      if (intent.state === "committed") metrics.betCommitted(quote);
      else executor.onFailed(intent, quote);
      executionLog.finished(intent);
    },
    onFinalStateSeen: (intent) => reservations.onExecutionFinished(intent),
  };
  return { executor, limit, reservations, handler };
}

function createHedge(options: SolverOptions, clock: Clock): Hedge {
  const { hedgeUrl: url, hedgeDelayMs: expectedMs, hedgeTimeoutMs: timeoutMs } = options;
  if (url === undefined) return new SimulatedHedge(clock, expectedMs);
  return new HttpHedge({ url, expectedMs, timeoutMs });
}
