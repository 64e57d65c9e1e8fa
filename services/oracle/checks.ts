/** Checks of `rangemaker doctor` for the oracle: each provider, which is connected to once. */
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
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { EXCHANGE_OF } from "../../lib/protocol/providers.ts";
import { MIN_SOURCES_SAFE, NODE_SETTINGS, options, type OracleOptions } from "./options.ts";
import { probeProvider, type ProbeResult } from "./probe.ts";
import { endpoints } from "./providers.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "oracle",
  options,
  foreignSettings: NODE_SETTINGS,
  health: z.object({ status: z.string(), pairsWithPrices: z.number() }),
  permissions: (values) => ({ net: targetsOf(values).map(({ url }) => addressOf(url)) }),
  special(values, context) {
    const probes = targetsOf(values).map((target) => ({
      ...target,
      ...probeOnce(target, values, context),
    }));
    return [
      ...probes.map((target) => check(EXCHANGE_OF[target.provider.name], target, judgeProvider)),
      check("sources", values.minSources, (minSources) => judgeSources(probes, minSources)),
    ];
  },
};

/** The providers and their URLs; what they call the markets is found out at the probe. */
function targetsOf({ providers = [], providerUrls = {} }: Partial<OracleOptions>) {
  return endpoints({ providers, providerUrls }, SPEC_MARKETS);
}

type Target = ReturnType<typeof endpoints>[number];

/** A provider, and a probe of it that is run once for all checks. */
interface Probe extends Target {
  probe(): Promise<ProbeResult>;
  symbols(): Promise<string[]>;
}

function probeOnce(
  { provider }: Target,
  { providerUrls = {}, markets: path }: Partial<OracleOptions>,
  context: CheckContext,
): Pick<Probe, "probe" | "symbols"> {
  let result: Promise<ProbeResult> | undefined;
  const probe = async () => {
    const markets = await readMarkets(path);
    const [target] = endpoints({ providers: [provider.name], providerUrls }, markets);
    if (target === undefined) throw new TypeError(`No endpoint of ${provider.name}`);
    return await probeProvider({ ...target, symbols: markets.symbols, ...context });
  };
  return {
    probe: () => result ??= probe(),
    symbols: async () => (await readMarkets(path)).symbols,
  };
}

/** Never fails: without one provider there may still be enough sources. */
async function judgeProvider({ provider, url, probe, symbols }: Probe): Promise<Finding> {
  const { length } = await symbols();
  const result = await probe();
  const { prices, problem } = result;
  if (prices.size === length) {
    return ok(`${url}: prices of all ${prices.size} pairs: ${times(result)}`);
  }
  return warn(
    `${url}: prices of ${prices.size} of ${length} pairs: ${problem}`,
    `Make it reachable, use another URL with --provider-url ${EXCHANGE_OF[provider.name]}=, ` +
      "or leave it out with --providers",
  );
}

/** How long each step of a probe took. */
function times({ connectedMs, subscribedMs, firstPriceMs }: ProbeResult): string {
  return `connected after ${connectedMs} ms, subscribed ${subscribedMs} ms, first price ${firstPriceMs} ms`;
}

/** Every pair has at least `--min-sources` sources. */
async function judgeSources(probes: readonly Probe[], minSources: number): Promise<Finding> {
  const results = await Promise.all(probes.map(({ probe }) => probe()));
  const symbols = await probes[0]?.symbols() ?? [];
  const counts = symbols.map((symbol) => ({
    symbol,
    count: results.filter(({ prices }) => prices.has(symbol)).length,
  }));
  const missing = counts.filter(({ count }) => count < minSources)
    .map(({ symbol, count }) => `${symbol}: ${count} of ${minSources} sources`);
  if (missing.length === 0) {
    if (minSources >= MIN_SOURCES_SAFE) return ok(`Every pair has at least ${minSources}`);
    return warn(
      `Every pair has at least ${minSources}, so one exchange that lies can set a price`,
      `Require ${MIN_SOURCES_SAFE}: ${optionLabel(options.minSources)}`,
    );
  }
  const least = Math.min(...counts.map(({ count }) => count));
  const fewer = least === 0
    ? ""
    : `, or require at most ${least}: ${optionLabel(options.minSources)}`;
  return fail(missing.join("; "), `Fix the providers above${fewer}`);
}
