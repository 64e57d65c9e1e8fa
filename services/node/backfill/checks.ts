/** What `rangemaker doctor` checks for the backfill. */
import {
  type Check,
  type CheckContext,
  fail,
  ok,
  type ServiceChecks,
} from "../../../lib/cli/checks/check.ts";
import { nodeClockCheck, permissionOnNodeCheck } from "../../../lib/cli/checks/node.ts";
import { getJson } from "../../../lib/cli/checks/port.ts";
import { optionLabel } from "../../../lib/cli/options.ts";
import { options } from "./mod.ts";
import { pageSchema } from "./trade_history.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "backfill",
  options,
  special: ({ rpcUrl, historyUrl }, context) => [
    ...(rpcUrl === undefined ? [] : [
      permissionOnNodeCheck("admin", rpcUrl, context),
      nodeClockCheck(rpcUrl, context),
    ]),
    ...(historyUrl === undefined ? [] : [historyCheck(historyUrl, context)]),
  ],
};

function historyCheck(url: string, { timeoutMs }: CheckContext): Check {
  return {
    subject: "history",
    async run() {
      const query = "/api/v3/aggTrades?symbol=ETHUSDT&limit=1";
      const answer = await getJson(url.replace(/\/+$/, "") + query, pageSchema, timeoutMs);
      if ("value" in answer) return ok(`${url} serves trades`);
      return fail(
        `${url}: ${answer.problem}`,
        `Make it reachable, or correct its URL: ${optionLabel(options.historyUrl)}`,
      );
    },
  };
}
