/** The solver's own checks for `rangemaker doctor`. */
import { z } from "zod";
import {
  BlockedError,
  type CheckContext,
  fail,
  type Finding,
  ok,
  optionalCheck,
  type ServiceChecks,
  warn,
} from "../../lib/cli/checks/check.ts";
import { checkBalance } from "../../lib/cli/checks/node.ts";
import { getJson } from "../../lib/cli/checks/port.ts";
import { openLocalSigner } from "../../lib/cli/keystore.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { NetworkError, request } from "../../lib/net/http_request.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { candlePageSchema } from "./market/exchange_candles.ts";
import { MarketData } from "./market/market_data.ts";
import { options } from "./options.ts";
import { loadStrategy, StrategyError } from "./pricing/load_strategy.ts";
import { isBuiltIn, strategyContext } from "./pricing/strategy.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "solver",
  options,
  health: z.object({ status: z.string(), solver: z.string(), dryRun: z.boolean() })
    .transform(({ status, solver }) => ({ status, account: solver })),
  openSigner: (values) => openLocalSigner(values, optionLabel(options.privateKey)),
  customChecks: ({ rpcUrl, historyUrl, hedgeUrl, pricing, markets }, context) => [
    optionalCheck("balance", rpcUrl, (url) => checkBalance(url, context)),
    optionalCheck("history", historyUrl, (url) => checkCandles(url, context)),
    optionalCheck(
      "pricing",
      pricing === undefined || isBuiltIn(pricing) ? undefined : pricing,
      (path) => checkStrategy(path, markets, context),
    ),
    optionalCheck("hedge", hedgeUrl, (url) => checkHedge(url, context)),
  ],
};

/** Loads and creates the strategy as the solver does, on markets without prices. */
async function checkStrategy(
  path: string,
  marketsPath: string | undefined,
  { clock }: CheckContext,
): Promise<Finding> {
  const markets = marketsPath === undefined ? SPEC_MARKETS : await readMarkets(marketsPath)
    .catch(() => {
      throw new BlockedError("the markets cannot be read", "the markets");
    });
  const marketData = new MarketData({ floor: 0, minHistoryMs: 0 }, markets);
  const marketView = marketData.pricesOf.bind(marketData);
  try {
    const create = await loadStrategy(path);
    const { name } = create(strategyContext({ clock, marketView, markets }));
    return ok(`${path} is the strategy ${name}`);
  } catch (thrown) {
    if (!(thrown instanceof StrategyError)) throw thrown;
    const remedy = `Fix the file, or use another one: ${optionLabel(options.pricing)}`;
    return fail(thrown.message, remedy);
  }
}

/** Any answer will do: only an execution shows whether the service hedges. */
async function checkHedge(url: string, { timeoutMs }: CheckContext): Promise<Finding> {
  try {
    const { status } = await request(url, { timeoutMs });
    return ok(`${url} answers HTTP, a GET with status ${status}`);
  } catch (thrown) {
    if (!(thrown instanceof NetworkError)) throw thrown;
    if (thrown.cause instanceof Deno.errors.NotCapable) throw thrown.cause;
    const remedy = `Start that service, or correct its URL: ${optionLabel(options.hedgeUrl)}`;
    return fail(thrown.message, remedy);
  }
}

/** The solver starts without them, and then learns volatility from the node's prices. */
async function checkCandles(url: string, { timeoutMs }: CheckContext): Promise<Finding> {
  const query = "/api/v3/klines?symbol=ETHUSDT&interval=1m&limit=1";
  const answer = await getJson(url.replace(/\/+$/, "") + query, candlePageSchema, timeoutMs);
  if ("value" in answer) return ok(`${url} serves candles`);
  return warn(
    `${url}: ${answer.problem}: volatility starts without an exchange's history`,
    `Make it reachable, or correct its URL: ${optionLabel(options.historyUrl)}`,
  );
}
