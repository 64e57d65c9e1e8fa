/** What `rangemaker doctor` checks for the solver. */
import { z } from "zod";
import type { ServiceChecks } from "../../lib/cli/checks/check.ts";
import { balanceCheck, nodeClockCheck } from "../../lib/cli/checks/node.ts";
import { options } from "./options.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "solver",
  options,
  health: z.object({ status: z.string(), solver: z.string(), dryRun: z.boolean() }),
  special: ({ rpcUrl }, context) =>
    rpcUrl === undefined ? [] : [balanceCheck(rpcUrl, context), nodeClockCheck(rpcUrl, context)],
};
