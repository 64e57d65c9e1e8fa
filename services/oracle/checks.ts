/** What `rangemaker doctor` checks for the oracle: each provider, as in `rangemaker oracle probe`. */
import { z } from "zod";
import {
  check,
  type CheckContext,
  fail,
  type Finding,
  ok,
  type ServiceChecks,
  warn,
} from "../../lib/cli/checks/check.ts";
import { addressOf } from "../../lib/cli/checks/permissions.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { EXCHANGE_OF } from "../../lib/protocol/providers.ts";
import { options, type OracleOptions } from "./options.ts";
import { probeProvider, type ProbeResult, shortfalls, sourcesOf } from "./probe.ts";
import { endpoints } from "./providers.ts";

const SYMBOLS = MARKETS.map(({ symbol }) => symbol);

export const checks: ServiceChecks<typeof options> = {
  service: "oracle",
  options,
  health: z.object({ status: z.string(), pairsWithPrices: z.number() }),
  permissions: (values) => ({ net: targetsOf(values).map(({ url }) => addressOf(url)) }),
  special(values, context) {
    const probes = targetsOf(values).map((target) => ({
      ...target,
      probe: probeOnce(target, context),
    }));
    return [
      ...probes.map((target) => check(EXCHANGE_OF[target.provider.name], target, judgeProvider)),
      check("sources", values.minSources, (minSources) => judgeSources(probes, minSources)),
    ];
  },
};

function targetsOf({ providers = [], providerUrls = {} }: Partial<OracleOptions>) {
  return endpoints({ providers, providerUrls });
}

type Target = ReturnType<typeof endpoints>[number];

/** A provider, and a probe of it that is run once for all checks. */
type Probe = Target & { probe(): Promise<ProbeResult> };

function probeOnce(target: Target, context: CheckContext): Probe["probe"] {
  let result: Promise<ProbeResult> | undefined;
  return () => result ??= probeProvider({ ...target, symbols: SYMBOLS, ...context });
}

/** Never fails: without one provider there may still be enough sources. */
async function judgeProvider({ provider, url, probe }: Probe): Promise<Finding> {
  const { prices, firstPriceMs, problem } = await probe();
  if (prices.size === SYMBOLS.length) {
    return ok(`${url}: prices of all ${prices.size} pairs, the first after ${firstPriceMs} ms`);
  }
  return warn(
    `${url}: prices of ${prices.size} of ${SYMBOLS.length} pairs: ${problem}`,
    `Make it reachable, use another URL with --provider-url ${EXCHANGE_OF[provider.name]}=, ` +
      "or leave it out with --providers",
  );
}

/** Every pair has at least `--min-sources` sources. */
async function judgeSources(probes: readonly Probe[], minSources: number): Promise<Finding> {
  const results = await Promise.all(probes.map(({ probe }) => probe()));
  const missing = shortfalls(results, SYMBOLS, minSources);
  if (missing.length === 0) return ok(`Every pair has at least ${minSources}`);
  const least = Math.min(...SYMBOLS.map((symbol) => sourcesOf(results, symbol)));
  const fewer = least === 0
    ? ""
    : `, or require at most ${least}: ${optionLabel(options.minSources)}`;
  return fail(missing.join("; "), `Fix the providers above${fewer}`);
}
