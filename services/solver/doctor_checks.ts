import { openLocalSigner } from "../../lib/cli/keystore.ts";
import type { ServiceChecks } from "../../lib/cli/service_checks.ts";
import { storeCheck } from "../../lib/intents/store_check.ts";
import { startSolver } from "./mod.ts";
import { options } from "./options.ts";

/** What `rangemaker doctor` checks of the solver besides its options. */
export const checks: ServiceChecks<typeof options> = {
  service: "solver",
  options,
  openSigner: (values) => openLocalSigner(values, options),
  customChecks: ({ database }, context) => [
    storeCheck("solver", database, context, context.address),
  ],
  start: (options) => startSolver(options),
};
