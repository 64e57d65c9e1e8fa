import { openTransactionSigner } from "../../lib/cli/keystore.ts";
import type { ServiceChecks } from "../../lib/cli/service_checks.ts";
import { storeCheck } from "../../lib/intents/store_check.ts";
import { startBridge } from "./mod.ts";
import { options } from "./options.ts";

/** What `rangemaker doctor` checks of the bridge besides its options. */
export const checks: ServiceChecks<typeof options> = {
  service: "bridge",
  options,
  openSigner: (values) => openTransactionSigner(values, options),
  customChecks: ({ database }, context) => [storeCheck("bridge", database, context)],
  start: (options) => startBridge(options),
};
