/** The backfill's own checks for `rangemaker doctor`. */
import {
  type CheckContext,
  fail,
  type Finding,
  ok,
  optionalCheck,
  type ServiceChecks,
} from "../../lib/cli/checks/check.ts";
import { checkPermission } from "../../lib/cli/checks/node.ts";
import { getJson } from "../../lib/cli/checks/port.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { adminSigner, options } from "./mod.ts";
import { pageSchema } from "./trade_history.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "backfill",
  options,
  openSigner: adminSigner,
  customChecks: ({ rpcUrl, historyUrl }, context) => [
    optionalCheck("admin", rpcUrl, (url) => checkPermission("admin", url, context)),
    optionalCheck("history", historyUrl, (url) => checkHistory(url, context)),
  ],
};

async function checkHistory(url: string, { timeoutMs }: CheckContext): Promise<Finding> {
  const query = "/api/v3/aggTrades?symbol=ETHUSDT&limit=1";
  const answer = await getJson(url.replace(/\/+$/, "") + query, pageSchema, timeoutMs);
  if ("value" in answer) return ok(`${url} serves trades`);
  return fail(
    `${url}: ${answer.problem}`,
    `Make it reachable, or correct its URL: ${optionLabel(options.historyUrl)}`,
  );
}
