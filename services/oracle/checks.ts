/** Checks of `rangemaker doctor` for the oracle. Each provider is checked like in `oracle probe`. */
import { z } from "zod";
import {
  type Check,
  type CheckContext,
  fail,
  ok,
  optionLabel,
  warn,
} from "../../lib/cli/checks/check.ts";
import { needsOfPort, needsOfUrls, permissionCheck } from "../../lib/cli/checks/permissions.ts";
import { portCheck } from "../../lib/cli/checks/port.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { EXCHANGE_OF } from "../../lib/protocol/providers.ts";
import { options, type OracleOptions } from "./options.ts";
import { probeProvider, type ProbeResult, shortfalls, sourcesOf } from "./probe.ts";
import { endpoints } from "./providers.ts";

export { options };

const healthSchema = z.object({ status: z.string(), pairsWithPrices: z.number() });

const SYMBOLS = MARKETS.map(({ symbol }) => symbol);

/** Checks of everything that the oracle is configured to use. */
export function checks(given: Partial<OracleOptions>, context: CheckContext): Check[] {
  const { host, port, providers = [], providerUrls = {}, minSources } = given;
  const targets = endpoints({ providers, providerUrls });
  const all = [
    permissionCheck(
      options,
      needsOfPort(host, port),
      needsOfUrls(...targets.map(({ url }) => url)),
    ),
  ];
  const probes = targets.map((target) => once(() => probe(target, context)));
  for (const [index, { provider, url }] of targets.entries()) {
    all.push(providerCheck(EXCHANGE_OF[provider.name], url, probes[index]!)); // one for each
  }
  if (minSources !== undefined) all.push(sourcesCheck(probes, minSources));
  if (host !== undefined && port !== undefined) {
    const { port: option } = options;
    all.push(portCheck("port", { host, port, option, health: healthSchema }, context));
  }
  return all;
}

type Probe = () => Promise<ProbeResult>;

function probe(
  target: ReturnType<typeof endpoints>[number],
  context: CheckContext,
): Promise<ProbeResult> {
  return probeProvider({ ...target, symbols: SYMBOLS, ...context });
}

function once(probe: Probe): Probe {
  let result: Promise<ProbeResult> | undefined;
  return () => result ??= probe();
}

/** One provider. It only warns: the other providers may be enough. */
function providerCheck(exchange: string, url: string, probe: Probe): Check {
  return {
    subject: exchange,
    async run() {
      const { prices, firstPriceMs, problem } = await probe();
      if (prices.size === SYMBOLS.length) {
        return ok(`${url}: prices of all ${prices.size} pairs, the first after ${firstPriceMs} ms`);
      }
      return warn(
        `${url}: prices of ${prices.size} of ${SYMBOLS.length} pairs: ${problem}`,
        `Allow connections to it, set another URL with --provider-url ${exchange}=, or leave it ` +
          "out with --providers",
      );
    },
  };
}

/** Every pair has enough sources. */
function sourcesCheck(probes: readonly Probe[], minSources: number): Check {
  return {
    subject: "sources",
    async run() {
      const results = await Promise.all(probes.map((probe) => probe()));
      const missing = shortfalls(results, SYMBOLS, minSources);
      if (missing.length === 0) return ok(`Every pair has at least ${minSources}`);
      const least = Math.min(...SYMBOLS.map((symbol) => sourcesOf(results, symbol)));
      const fewer = least === 0
        ? ""
        : `, or require at most ${least} with ${optionLabel(options.minSources)}`;
      return fail(missing.join("; "), `Fix the providers above${fewer}`);
    },
  };
}
