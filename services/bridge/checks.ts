/** The bridge's own checks for `rangemaker doctor`. */
import { z } from "zod";
import { check, type ServiceChecks } from "../../lib/cli/checks/check.ts";
import { tryPermission } from "../../lib/cli/checks/node.ts";
import { bridgeSigner, options } from "./options.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "bridge",
  options,
  health: z.object({ status: z.string(), rpc: z.boolean(), bridge: z.string() }),
  openSigner: bridgeSigner,
  special: ({ rpcUrl }, context) => [
    check("relayer", rpcUrl, (url) => tryPermission("relayer", url, context)),
  ],
};
