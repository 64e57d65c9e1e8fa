import {
  type CheckContext,
  type CheckOutcome,
  passed,
  type ServiceChecks,
  warning,
} from "../../lib/cli/checks/check.ts";
import { addressOf } from "../../lib/cli/permissions.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { problemsOfStart } from "../../lib/cli/start_check.ts";
import { EXCHANGE_OF } from "../../lib/protocol/providers.ts";
import { startOracle } from "./mod.ts";
import { endpoints, MIN_SOURCES_SAFE, options, type OracleOptions } from "./options.ts";

/** What `rangemaker doctor` checks of the oracle besides its options: each provider. */
export const checks: ServiceChecks<typeof options> = {
  service: "oracle",
  options,
  permissions: (values) => ({ net: endpoints(values).map(({ url }) => addressOf(url)) }),
  start: startOracle,
  customChecks: (values, context) => [
    ...endpoints(values).map((target) => ({
      subject: EXCHANGE_OF[target.provider.name],
      run: () => checkProvider(target, values, context),
    })),
    { subject: "sources", run: () => checkMinSources(values) },
  ],
};

/** Starts an oracle with one provider only. It warns at most: there may still be enough sources. */
async function checkProvider(
  { provider: { name }, url }: ReturnType<typeof endpoints>[number],
  values: OracleOptions,
  { clock, timeoutMs }: CheckContext,
): Promise<CheckOutcome> {
  const exchange = EXCHANGE_OF[name];
  const problems = await problemsOfStart({
    table: options,
    options: { ...values, providers: [name], minSources: 1 },
    start: startOracle,
    clock,
    timeoutMs,
  });
  if (problems.length === 0) return passed(`${url}: prices of all markets`);
  return warning(
    `${url}: ${problems.join("; ")}`,
    `Make it reachable, use another URL with --provider-url ${exchange}=, ` +
      "or leave it out with --providers",
  );
}

function checkMinSources({ minSources }: OracleOptions): CheckOutcome {
  const text = `A price needs ${minSources}`;
  if (minSources >= MIN_SOURCES_SAFE) return passed(text);
  return warning(
    `${text}, so a single wrong exchange can set it`,
    `Require ${MIN_SOURCES_SAFE}: ${optionLabel(options.minSources)}`,
  );
}
