import { Hono, type MiddlewareHandler } from "hono";
import type { Clock } from "../../lib/clock.ts";
import type { Account } from "../../lib/protocol/account.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { QUOTE_TYPE, quoteRequestSchema, quoteToWire } from "../../lib/protocol/quote.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { describeTypedData } from "../../lib/protocol/typed_data.ts";
import { limitBody, parseInput, readBody, useEnvelope } from "../../lib/service/envelope.ts";
import { estimateRequestSchema, estimateToWire } from "./estimate.ts";
import { executionSchema } from "./execution.ts";
import type { Executor } from "./executor.ts";
import type { ExposureBook } from "./exposure_book.ts";
import { LIMITS } from "./limits.ts";
import type { SolverMetrics } from "./metrics.ts";
import type { Quoter } from "./quoter.ts";
import { thesesQuerySchema, viewTheses } from "./theses.ts";

/** What the routes of the solver answer from. */
export interface SolverApi {
  quoter: Pick<Quoter, "quote" | "estimate" | "strategyName">;
  executor: Pick<Executor, "requireLive" | "execute">;
  exposure: ExposureBook;
  metrics: SolverMetrics;
  limiter: MiddlewareHandler;
  node: { getAccount(address: Address): Promise<Account> };
  solver: Address;
  chainId: number;
  /** Web pages that may call the service from a browser; `*` for all. */
  corsOrigins: readonly string[];
  dryRun: boolean;
  basePayoutMultiplier: number;
  clock: Clock;
}

/** The routes of the solver (spec: quote solver, "Endpoints"). */
export function createSolverApi(api: SolverApi): Hono {
  const { quoter, executor, exposure, metrics, limiter, node, solver, chainId, dryRun, clock } =
    api;
  const app = new Hono();
  useEnvelope(app, "solver", api.corsOrigins);
  app.get("/info", async (c) => {
    const { balance } = await node.getAccount(solver);
    return c.json({
      address: solver,
      balance: balance.toString(),
      dryRun,
      pricing: quoter.strategyName,
      config: configOf(api.basePayoutMultiplier),
    });
  });
  app.get("/pairs", (c) => c.json({ pairs: MARKETS.map(({ base, quote }) => ({ base, quote })) }));
  app.get("/typed-data", (c) => c.json(describeTypedData(QUOTE_TYPE, chainId)));
  app.get("/theses", limiter, (c) => {
    return c.json(viewTheses(exposure, parseInput(c.req.query(), thesesQuerySchema)));
  });
  app.post("/quote", metrics.quoting("quote"), limiter, limitBody(), async (c) => {
    const { quote, quoteHash, pricing } = quoter.quote(await readBody(c, quoteRequestSchema));
    const expiresInMs = Math.max(0, quote.deadline - clock.now());
    return c.json({ success: true, quote: quoteToWire(quote), quoteHash, expiresInMs, pricing });
  });
  const estimateSchema = estimateRequestSchema(() => clock.now() + LIMITS.estimateDeadlineMs);
  app.post("/estimate", metrics.quoting("estimate"), limiter, limitBody(), async (c) => {
    const estimate = quoter.estimate(await readBody(c, estimateSchema));
    return c.json({
      success: true,
      estimate: estimateToWire(estimate),
      pricing: estimate.pricing,
    });
  });
  app.post("/execute", metrics.executing, limiter, limitBody(), async (c) => {
    executor.requireLive();
    const result = await executor.execute(await readBody(c, executionSchema));
    return c.json({ success: true, result });
  });
  return app;
}

/** `config` of `GET /info`: the bounds in the forms of the spec's table. */
function configOf(basePayoutMultiplier: number) {
  return {
    basePayoutMultiplier,
    maxPayoutRatio: Number(LIMITS.maxPayoutRatio),
    minBetAmount: LIMITS.minBetAmount.toString(),
    maxBetAmount: LIMITS.maxBetAmount.toString(),
    minDuration: LIMITS.minDurationMs,
    maxDuration: LIMITS.maxDurationMs,
  };
}
