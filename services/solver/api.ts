import { Hono, type MiddlewareHandler } from "hono";
import type { Clock } from "../../lib/clock.ts";
import type { MarketCalibration } from "../../lib/protocol/answers.ts";
import { type Markets, PRICE_DECIMALS } from "../../lib/protocol/markets.ts";
import { QUOTE_TYPE, quoteToWire } from "../../lib/protocol/quote.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { typedDataDescriptionOf } from "../../lib/protocol/typed_data.ts";
import {
  createBodyReader,
  parseInput,
  prefixErrorCodes,
  useJsonApi,
} from "../../lib/http/json_api.ts";
import { type AnswerOf, jsonHandler, serveDocument } from "../../lib/http/openapi.ts";
import { readyHandler } from "../../lib/http/readiness.ts";
import { SOLVER_ERRORS } from "./error_answers.ts";
import { solverError } from "./shared/errors.ts";
import { estimateToWire, type Quoter } from "./quoting/quoter.ts";
import type { Executor } from "./execution/executor.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";
import { LIMITS } from "./shared/limits.ts";
import type { SolverMetrics } from "./metrics.ts";
import { description, operations } from "./operations.ts";
import type { LastBalance } from "./own_account.ts";
import type { Readiness } from "./readiness.ts";
import { viewTheses } from "./theses.ts";

interface SolverApiOptions {
  quoter: Pick<Quoter, "quote" | "estimate" | "strategyName" | "minBetAmount">;
  executor: Pick<Executor, "execute">;
  exposure: ExposureBook;
  metrics: SolverMetrics;
  limiter: MiddlewareHandler;
  /** The solver's last known balance on the chain, and when it was read. */
  ownBalance(): Promise<LastBalance>;
  checkReadiness(): Promise<Readiness>;
  /** Predicted and observed shares of boxes that held, by market; not with `--pricing mock`. */
  calibration(): MarketCalibration[] | undefined;
  solver: Address;
  chainId: number;
  corsOrigins: readonly string[];
  dryRun: boolean;
  /** USDC with 6 decimals; part of `GET /info`. */
  maxRisk: bigint;
  /** Payout of `--pricing mock` for a bet of 1; part of `GET /info`. */
  multiplier: number;
  clock: Clock;
  markets: Markets;
}

/**
 * The routes of the solver (spec: quote solver, "Endpoints").
 *
 * A bet goes from `POST /execute` to `execution/executor.ts`, which checks it
 * (`risk/pre_trade_checks.ts`) and records it if it fits together with all others
 * (`risk/exposure_limit.ts`, in the transaction of `lib/intents/reservation_table.ts`).
 * `lib/intents/submitter.ts` then gets it hedged (`ExecutionPreparation.prepare`) and signed
 * (`lib/intents/transactions.ts`), and sends it.
 */
export function createSolverApi(options: SolverApiOptions): Hono {
  const { quoter, executor, exposure, metrics, limiter, chainId, dryRun, clock } = options;
  const readBody = createBodyReader(options.corsOrigins);
  const app = new Hono();
  useJsonApi(app, "solver", options.corsOrigins, SOLVER_ERRORS);
  serveDocument(app, description);
  app.get("/info", jsonHandler(operations.info, () => viewInfo(options)));
  app.get("/ready", readyHandler(operations.ready, options.checkReadiness));
  app.get(
    "/pairs",
    jsonHandler(operations.pairs, () => ({ pairs: viewPairs(options.markets) })),
  );
  app.get(
    "/typed-data",
    jsonHandler(operations.typedData, () => typedDataDescriptionOf(QUOTE_TYPE, chainId)),
  );
  app.get(
    "/theses",
    limiter,
    jsonHandler(
      operations.theses,
      (c) => viewTheses(exposure, parseInput(c.req.query(), operations.theses.query)),
    ),
  );
  app.post(
    "/quote",
    metrics.countQuotes("quote"),
    prefixErrorCodes,
    limiter,
    jsonHandler(operations.quote, async (c) => {
      const request = await readBody(c, operations.quote.body);
      const { quote, quoteHash, pricing } = quoter.quote(request);
      const expiresInMs = Math.max(0, quote.deadline - clock.now());
      return { success: true as const, quote: quoteToWire(quote), quoteHash, expiresInMs, pricing };
    }),
  );
  app.post(
    "/estimate",
    metrics.countQuotes("estimate"),
    prefixErrorCodes,
    limiter,
    jsonHandler(operations.estimate, async (c) => {
      const estimate = quoter.estimate(await readBody(c, operations.estimate.body));
      return {
        success: true as const,
        estimate: estimateToWire(estimate),
        pricing: estimate.pricing,
      };
    }),
  );
  app.post(
    "/execute",
    metrics.countExecuteAnswers,
    limiter,
    jsonHandler(operations.execute, async (c) => {
      if (dryRun) throw solverError("DRY_RUN");
      const result = await executor.execute(await readBody(c, operations.execute.body));
      return { success: true as const, result };
    }),
  );
  return app;
}

/** Answer of `GET /info` (spec: quote solver, "GET /info"). */
async function viewInfo(options: SolverApiOptions): Promise<AnswerOf<typeof operations.info>> {
  const { quoter, solver, dryRun, maxRisk, multiplier } = options;
  const { balance, readAtMs } = await options.ownBalance();
  return {
    address: solver,
    balance: balance.toString(),
    balanceTime: readAtMs,
    dryRun,
    maxRisk: maxRisk.toString(),
    pricing: quoter.strategyName,
    calibration: options.calibration(),
    config: {
      basePayoutMultiplier: multiplier,
      maxPayoutRatio: Number(LIMITS.maxPayoutRatio),
      minBetAmount: quoter.minBetAmount.toString(),
      maxBetAmount: LIMITS.maxBetAmount.toString(),
      minDuration: LIMITS.minDurationMs,
      maxDuration: LIMITS.maxDurationMs,
    },
  };
}

function viewPairs({ list }: Markets): AnswerOf<typeof operations.pairs>["pairs"] {
  return list.map(({ symbol, base, quote }) => ({ symbol, base, quote, decimals: PRICE_DECIMALS }));
}
