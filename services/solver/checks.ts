/** Checks of `rangemaker doctor` for the solver. */
import { z } from "zod";
import type { Check, CheckContext } from "../../lib/cli/checks/check.ts";
import { balanceCheck, nodeCheck, nodeClockCheck } from "../../lib/cli/checks/core_node.ts";
import { keyCheck } from "../../lib/cli/checks/key.ts";
import { needsOfPort, needsOfUrls, permissionCheck } from "../../lib/cli/checks/permissions.ts";
import { portCheck } from "../../lib/cli/checks/port.ts";
import { socketCheck } from "../../lib/cli/checks/socket.ts";
import { needsOfStore, storeCheck } from "../../lib/cli/checks/store.ts";
import { options, type SolverOptions } from "./options.ts";

export { options };

const healthSchema = z.object({ status: z.string(), solver: z.string(), dryRun: z.boolean() });

/** Checks everything that the options of the solver name. */
export function checks(given: Partial<SolverOptions>, context: CheckContext): Check[] {
  const { host, port, rpcUrl, wsUrl, chainId, database, privateKey } = given;
  const all = [
    permissionCheck(
      options,
      needsOfPort(host, port),
      needsOfUrls(rpcUrl, wsUrl),
      needsOfStore(database),
    ),
  ];
  const signer = () => Promise.resolve(privateKey!); // called only if there is one
  if (privateKey !== undefined) all.push(keyCheck(signer, options.privateKey));
  if (rpcUrl !== undefined) {
    const node = { url: rpcUrl, option: options.rpcUrl };
    all.push(nodeCheck("node", node, context, chainId));
    if (privateKey !== undefined) all.push(balanceCheck(signer, node, context));
    all.push(nodeClockCheck(node, context));
  }
  if (wsUrl !== undefined) all.push(socketCheck(wsUrl, options.wsUrl, context));
  if (database !== undefined) {
    all.push(storeCheck(database, "solver", options.database, context));
  }
  if (host !== undefined && port !== undefined) {
    const { port: option } = options;
    all.push(portCheck("port", { host, port, option, health: healthSchema }, context));
  }
  return all;
}
