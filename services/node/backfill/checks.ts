/** Checks of `rangemaker doctor` for the backfill. */
import {
  type Check,
  type CheckContext,
  fail,
  ok,
  optionLabel,
} from "../../../lib/cli/checks/check.ts";
import {
  nodeCheck,
  nodeClockCheck,
  permissionOnNodeCheck,
} from "../../../lib/cli/checks/core_node.ts";
import { getJson } from "../../../lib/cli/checks/http.ts";
import { keyCheck } from "../../../lib/cli/checks/key.ts";
import { needsOfUrls, permissionCheck } from "../../../lib/cli/checks/permissions.ts";
import { type BackfillOptions, options } from "./mod.ts";
import { pageSchema } from "./trade_history.ts";

export { options };

/** Checks everything that the backfill is configured to use. */
export function checks(given: Partial<BackfillOptions>, context: CheckContext): Check[] {
  const { rpcUrl, historyUrl, privateKey, chainId } = given;
  const all = [permissionCheck(options, needsOfUrls(rpcUrl, historyUrl))];
  const signer = () => Promise.resolve(privateKey!); // only called if there is one
  if (privateKey !== undefined) all.push(keyCheck(signer, options.privateKey));
  if (rpcUrl !== undefined) {
    const node = { url: rpcUrl, option: options.rpcUrl };
    all.push(nodeCheck("node", node, context, chainId));
    if (privateKey !== undefined) {
      all.push(permissionOnNodeCheck("admin", signer, node, context));
    }
    all.push(nodeClockCheck(node, context));
  }
  if (historyUrl !== undefined) all.push(historyCheck(historyUrl, context));
  return all;
}

function historyCheck(url: string, { timeoutMs }: CheckContext): Check {
  return {
    subject: "history",
    async run() {
      const query = "/api/v3/aggTrades?symbol=ETHUSDT&limit=1";
      const answer = await getJson(url.replace(/\/+$/, "") + query, pageSchema, timeoutMs);
      if ("value" in answer) return ok(`${url} returns trades`);
      return fail(
        `${url}: ${answer.problem}`,
        `Make it reachable, or set another URL with ${optionLabel(options.historyUrl)}`,
      );
    },
  };
}
