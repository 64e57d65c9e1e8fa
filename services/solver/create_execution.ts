import { faultPointsAt, withFaultPoints } from "../../lib/fault_points.ts";
import type { IntentHandler } from "../../lib/intents/submission.ts";
import { cached, NODE_ANSWER_MS } from "../../lib/net/cached.ts";
import { executionLog } from "./execution_log.ts";
import { decodeExecution, findBet } from "./execution/execution.ts";
import { Executor } from "./execution/executor.ts";
import { type Hedge, HttpHedge, SimulatedHedge } from "./execution/hedge.ts";
import { Reservations } from "./execution/reservations.ts";
import type { SolverParts } from "./open_parts.ts";
import type { SolverOptions } from "./options.ts";
import { ExposureLimit } from "./risk/exposure_limit.ts";
import { PreTradeChecks } from "./risk/pre_trade_checks.ts";

/** Creates the parts that check, reserve, hedge and submit signed quotes. */
export function createExecution(options: SolverOptions, parts: SolverParts) {
  const { clock, markets, quoteSigner, signer, intents, exposure, metrics } = parts;
  const { store, requireChain } = intents;
  const { chainId, maxRisk, dryRun } = options;
  const reservations = new Reservations({
    store,
    book: exposure,
    node: parts.node,
    requireChain,
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
    node: intents.node,
    solver: signer.address,
    clock,
    markets,
    maxRisk,
    hedgeMs: hedge.expectedMs,
    strategy: parts.pricing.strategy,
  });
  const executor = new Executor({
    intents,
    checks,
    exposure,
    limit,
    releaseSettled: cached(() => reservations.reconcile(), NODE_ANSWER_MS, clock),
    hedge,
    quoteSigner,
    signer,
    chainId,
    clock,
    onRecheck: metrics.rechecked,
    dryRun,
  });
  const handler: IntentHandler = {
    termsOf: (intent) => executor.termsOf(intent),
    beforeSigning: (intent) => executor.prepare(intent),
    async isOnChain(intent) {
      const found = await findBet(parts.node, intent, clock.now());
      return found !== "missing" && found !== "replaced";
    },
    onFinished(intent) {
      metrics.executionFinished(intent);
      const { quote } = decodeExecution(intent.payload);
      if (intent.state === "committed") metrics.betCommitted(quote);
      else executor.onFailed(intent, quote);
      executionLog.finished(intent);
    },
    onFoundFinished: (intent) => reservations.onExecutionFinished(intent),
  };
  return { executor, limit, reservations, handler };
}

function createHedge(options: SolverOptions, { clock, metrics }: SolverParts): Hedge {
  const { hedgeUrl: url, hedgeDelayMs: expectedMs, hedgeTimeoutMs: timeoutMs } = options;
  const hedge = url === undefined
    ? new SimulatedHedge(clock, expectedMs)
    : new HttpHedge({ url, expectedMs, timeoutMs });
  const faults = faultPointsAt(options.faultPoint);
  return metrics.timeHedge(withFaultPoints("hedge", hedge, faults));
}
