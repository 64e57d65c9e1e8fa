/** The solver's own checks for `rangemaker doctor`. */
import { z } from "zod";
import {
  type CheckContext,
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
import { candlePageSchema } from "./market/exchange_candles.ts";
import { options } from "./options.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "solver",
  options,
  health: z.object({ status: z.string(), solver: z.string(), dryRun: z.boolean() }),
  openSigner: (values) => openLocalSigner(values, optionLabel(options.privateKey)),
  customChecks: ({ rpcUrl, historyUrl }, context) => [
    optionalCheck("balance", rpcUrl, (url) => checkBalance(url, context)),
    optionalCheck("history", historyUrl, (url) => checkCandles(url, context)),
  ],
};

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
