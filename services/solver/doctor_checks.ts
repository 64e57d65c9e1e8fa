import type { ServiceChecks } from "../../lib/cli/service_checks.ts";
import { storeCheck } from "../../lib/intents/store_check.ts";
import { startSolver } from "./mod.ts";
import { openSolverSigner, options } from "./options.ts";

/** What `rangemaker doctor` checks of the solver besides its options. */
export const checks: ServiceChecks<typeof options> = {
  service: "solver",
  options,
  openSigner: openSolverSigner,
  customChecks: ({ database }, context) => [
    storeCheck("solver", database, context, context.address),
  ],
  start: (options) => startSolver(options),
};
