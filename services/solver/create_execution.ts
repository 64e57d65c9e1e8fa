import { ChainGuard } from "../../lib/intents/chain_guard.ts";
import { IntentService } from "../../lib/intents/intent_service.ts";
import type { IntentHandler } from "../../lib/intents/submission.ts";
import { cached, NODE_ANSWER_MS } from "../../lib/net/cached.ts";
import { executionLog } from "./execution_log.ts";
import { decodeExecution, findThesis } from "./execution/execution.ts";
import { ExecutionHandler } from "./execution/execution_handler.ts";
import { Executor } from "./execution/executor.ts";
import { type Hedge, HttpHedge, SimulatedHedge } from "./execution/hedge.ts";
import { Reservations } from "./execution/reservations.ts";
import type { SolverMetrics } from "./metrics.ts";
import type { SolverParts } from "./open_parts.ts";
import type { SolverOptions } from "./options.ts";
import { ExposureLimit } from "./risk/exposure_limit.ts";
import { PreTradeChecks } from "./risk/pre_trade_checks.ts";

/** Creates the parts that check, reserve, hedge and submit signed quotes. */
export function createExecution(options: SolverOptions, parts: SolverParts) {
  const { clock, markets, quoteSigner, signer, store, node, exposure, metrics } = parts;
  const { chainId, maxRisk } = options;
  const guard = new ChainGuard({
    ...parts,
    node: parts.shortTimeoutNode,
    async isOnChain(intent) {
      const found = await findThesis(node, intent, clock.now());
      return found !== "missing" && found !== "rewound";
    },
  });
  const reservations = new Reservations({
    store,
    book: exposure,
    node,
    requireChain: () => guard.requireChain(),
    clock,
    onOutcome: (probability, thesis) => metrics.betSettled(probability, thesis),
  });
  const limit = new ExposureLimit({
    book: exposure,
    refreshBook: () => store.refreshReservations(exposure),
    onNear: executionLog.exposure,
  });
  const hedge = createHedge(options, parts);
  const checks = new PreTradeChecks({
    node,
    solver: signer.address,
    clock,
    markets,
    maxRisk,
    hedgeMs: hedge.expectedMs,
    strategy: parts.pricing.strategy,
  });
  const handler = new ExecutionHandler({
    checks,
    exposure,
    hedge,
    quoteSigner,
    chainId,
    clock,
    onRecheck: metrics.rechecked,
  });
  const intents = new IntentService({
    parts,
    guard,
    handler: intentHandler({ handler, reservations, metrics }),
    retainMs: options.retain,
    registry: parts.registry,
  });
  const executor = new Executor({
    intents,
    handler,
    checks,
    limit,
    releaseSettled: cached(() => reservations.reconcile(), NODE_ANSWER_MS, clock),
    quoteSigner,
    signer,
    chainId,
    clock,
  });
  return { intents, executor, limit, reservations };
}

/** Prepares executions, and tells the other parts of the solver how they end. */
function intentHandler({ handler, reservations, metrics }: {
  handler: ExecutionHandler;
  reservations: Reservations;
  metrics: SolverMetrics;
}): IntentHandler {
  return {
    termsOf: (intent) => handler.termsOf(intent),
    beforeSigning: (intent) => handler.prepare(intent),
    onFinished(intent) {
      metrics.executionFinished(intent);
      const { quote } = decodeExecution(intent.payload);
      if (intent.state === "committed") metrics.betCommitted(quote);
      else handler.onFailed(intent, quote);
      executionLog.finished(intent);
    },
    onFinalStateSeen: (intent) => reservations.onExecutionFinished(intent),
  };
}

function createHedge(options: SolverOptions, { clock, metrics }: SolverParts): Hedge {
  const { hedgeUrl: url, hedgeDelayMs: expectedMs, hedgeTimeoutMs: timeoutMs } = options;
  const hedge = url === undefined
    ? new SimulatedHedge(clock, expectedMs)
    : new HttpHedge({ url, expectedMs, timeoutMs });
  return metrics.timeHedge(hedge);
}
