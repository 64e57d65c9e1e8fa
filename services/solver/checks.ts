/** What `rangemaker doctor` checks for the solver. */
import { z } from "zod";
import { check, type ServiceChecks } from "../../lib/cli/checks/check.ts";
import { tryBalance, tryNodeClock, tryWrites } from "../../lib/cli/checks/node.ts";
import { signerFrom } from "../../lib/cli/keystore.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { options } from "./options.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "solver",
  options,
  health: z.object({ status: z.string(), solver: z.string(), dryRun: z.boolean() }),
  openSigner: (values) => signerFrom(values, optionLabel(options.privateKey)),
  special: ({ rpcUrl }, context) => [
    check("writes", rpcUrl, (url) => tryWrites(url, options.rpcUrl, context)),
    check("balance", rpcUrl, (url) => tryBalance(url, context)),
    check("clock", rpcUrl, (url) => tryNodeClock(url, context)),
  ],
};
