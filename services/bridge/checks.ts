/** The bridge's own checks for `rangemaker doctor`. */
import { z } from "zod";
import { optionalCheck, type ServiceChecks } from "../../lib/cli/checks/check.ts";
import { checkPermission } from "../../lib/cli/checks/node.ts";
import { bridgeSigner, options } from "./options.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "bridge",
  options,
  health: z.object({ status: z.string(), rpc: z.boolean(), bridge: z.string() })
    .transform(({ status, bridge }) => ({ status, account: bridge })),
  openSigner: bridgeSigner,
  customChecks: ({ rpcUrl }, context) => [
    optionalCheck("relayer", rpcUrl, (url) => checkPermission("relayer", url, context)),
  ],
};
