import type { ServiceChecks } from "../../lib/cli/checks/check.ts";
import { openLocalSigner } from "../../lib/cli/keystore.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { storeCheck } from "../../lib/intents/store_check.ts";
import { options, startSolver } from "./mod.ts";

/** What `rangemaker doctor` checks of the solver besides its options. */
export const checks: ServiceChecks<typeof options> = {
  service: "solver",
  options,
  checkStore: storeCheck("solver", { belongsToKey: true }),
  openSigner: (values) => openLocalSigner(values, optionLabel(options.privateKey)),
  start: (options) => startSolver(options),
};
