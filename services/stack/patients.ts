import type { CheckContext, ServiceChecks } from "../../lib/cli/checks/check.ts";
import type { ServiceCheck } from "../../lib/cli/checks/runner.ts";
import type { OptionsOf, OptionTable } from "../../lib/cli/options.ts";

/** One service that the doctor looks at; the types of its options are known to its own checks alone. */
export interface Patient {
  service: string;
  options: OptionTable;
  checks(values: Record<string, unknown>, context: CheckContext): ServiceCheck[];
}

function patientOf<T extends OptionTable>(service: string, examination: ServiceChecks<T>): Patient {
  return {
    service,
    options: examination.options,
    checks: (values, context) =>
      // The values were read by the table of this very examination.
      examination.checks(values as Partial<OptionsOf<T>>, context)
        .map((check) => ({ ...check, service })),
  };
}

/** Every service that can be looked at, in the order of the report; only those that are asked for are loaded. */
export const doctorTargets: Readonly<Record<string, () => Promise<Patient>>> = {
  solver: async () => patientOf("solver", await import("../solver/checks.ts")),
  bridge: async () => patientOf("bridge", await import("../bridge/checks.ts")),
  proxy: async () => patientOf("proxy", await import("../proxy/checks.ts")),
  oracle: async () => patientOf("oracle", await import("../oracle/checks.ts")),
  node: async () => patientOf("node", await import("../node/checks.ts")),
  backfill: async () => patientOf("backfill", await import("../node/backfill/checks.ts")),
};
