/** The backfill's own checks for `rangemaker doctor`. */
import {
  check,
  type CheckContext,
  fail,
  type Finding,
  ok,
  type ServiceChecks,
} from "../../lib/cli/checks/check.ts";
import { tryPermission } from "../../lib/cli/checks/node.ts";
import { getJson } from "../../lib/cli/checks/port.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { adminSigner, options } from "./mod.ts";
import { pageSchema } from "./trade_history.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "backfill",
  options,
  openSigner: adminSigner,
  special: ({ rpcUrl, historyUrl }, context) => [
    check("admin", rpcUrl, (url) => tryPermission("admin", url, context)),
    check("history", historyUrl, (url) => tryHistory(url, context)),
  ],
};

async function tryHistory(url: string, { timeoutMs }: CheckContext): Promise<Finding> {
  const query = "/api/v3/aggTrades?symbol=ETHUSDT&limit=1";
  const answer = await getJson(url.replace(/\/+$/, "") + query, pageSchema, timeoutMs);
  if ("value" in answer) return ok(`${url} serves trades`);
  return fail(
    `${url}: ${answer.problem}`,
    `Make it reachable, or correct its URL: ${optionLabel(options.historyUrl)}`,
  );
}
