import { addressOf } from "../../lib/cli/permissions.ts";
import {
  type Check,
  type CheckContext,
  passed,
  type ServiceChecks,
  warning,
} from "../../lib/cli/service_checks.ts";
import { checkStart } from "../../lib/cli/start_check.ts";
import { EXCHANGE_OF } from "../../lib/protocol/providers.ts";
import { startOracle } from "./mod.ts";
import { endpoints, options, type OracleOptions } from "./options.ts";

/** What `rangemaker doctor` checks of the oracle besides its options: each provider. */
export const checks: ServiceChecks<typeof options> = {
  service: "oracle",
  options,
  permissions: (values) => ({ net: endpoints(values).map(({ url }) => addressOf(url)) }),
  customChecks: (values, context) =>
    endpoints(values).map((target) => providerCheck(target, values, context)),
  start: startOracle,
};

/** Starts an oracle with one provider only. It warns at most: there may still be enough sources. */
function providerCheck(
  { provider: { name }, url }: ReturnType<typeof endpoints>[number],
  values: OracleOptions,
  { clock, timeoutMs }: CheckContext,
): Check {
  const exchange = EXCHANGE_OF[name];
  const remedy = `Make it reachable, use another URL with --provider-url ${exchange}=, ` +
    "or leave it out with --providers";
  return {
    subject: exchange,
    remedy,
    async run() {
      const problems = await checkStart({
        table: options,
        options: { ...values, providers: [name], minSources: 1 },
        start: startOracle,
        clock,
        timeoutMs,
      });
      if (problems.length === 0) return passed(`${url}: prices of all markets`);
      return warning(`${url}: ${problems.join("; ")}`, remedy);
    },
  };
}
