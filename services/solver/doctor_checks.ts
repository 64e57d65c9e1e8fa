import { openLocalSigner } from "../../lib/cli/keystore.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import type { ServiceChecks } from "../../lib/cli/service_checks.ts";
import { storeCheck } from "../../lib/intents/store_check.ts";
import { options, startSolver } from "./mod.ts";

/** What `rangemaker doctor` checks of the solver besides its options. */
export const checks: ServiceChecks<typeof options> = {
  service: "solver",
  options,
  openSigner: (keyOptions) => openLocalSigner(keyOptions, optionLabel(options.privateKey)),
  customChecks: ({ database }, context) => [
    storeCheck("solver", database, context, context.address),
  ],
  start: (options) => startSolver(options),
};
