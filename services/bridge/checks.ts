import type { ServiceChecks } from "../../lib/cli/checks/check.ts";
import { startBridge } from "./mod.ts";
import { bridgeSigner, options } from "./options.ts";

/** What `rangemaker doctor` checks of the bridge besides its options. */
export const checks: ServiceChecks<typeof options> = {
  service: "bridge",
  options,
  openSigner: bridgeSigner,
  start: (options) => startBridge(options),
};
