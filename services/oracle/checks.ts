/** Checks of `rangemaker doctor` for the oracle: connects once to each provider. */
import { z } from "zod";
import {
  type CheckContext,
  fail,
  type Finding,
  ok,
  optionalCheck,
  type ServiceChecks,
  warn,
} from "../../lib/cli/checks/check.ts";
import { addressOf } from "../../lib/cli/checks/permissions.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { EXCHANGE_OF, type ProviderName } from "../../lib/protocol/providers.ts";
import { MIN_SOURCES_SAFE, NODE_SETTINGS, options } from "./options.ts";
import { ProviderConnection } from "./provider_connection.ts";
import { endpoints } from "./providers.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "oracle",
  options,
  settingsOfOtherServices: NODE_SETTINGS,
  health: z.object({ status: z.string(), pairsWithPrices: z.number() }),
  permissions: (values) => ({ net: endpoints(values).map(({ url }) => addressOf(url)) }),
  customChecks(values, context) {
    const tests = endpoints(values).map((target) => {
      const { provider: { name }, url } = target;
      let test: Promise<ProviderTest> | undefined;
      return { name, url, run: () => test ??= testProvider(target, values.markets, context) };
    });
    return [
      ...tests.map(({ name, url, run }) =>
        optionalCheck(EXCHANGE_OF[name], url, async () => providerFinding(name, url, await run()))
      ),
      optionalCheck(
        "sources",
        values.minSources,
        async (minSources) =>
          sourcesFinding(await Promise.all(tests.map(({ run }) => run())), minSources),
      ),
    ];
  },
};

/** All markets, and the markets that a provider has sent a price of. */
interface ProviderTest {
  symbols: readonly string[];
  priced: ReadonlySet<string>;
  problem: string;
}

/** Connects as the oracle does, until every market has a price, the connection is lost or time is up. */
async function testProvider(
  target: ReturnType<typeof endpoints>[number],
  marketsPath: string | undefined,
  { clock, timeoutMs }: CheckContext,
): Promise<ProviderTest> {
  const { list: markets, symbols } = await readMarkets(marketsPath);
  const priced = new Set<string>();
  const ended = Promise.withResolvers<void>();
  const connection = new ProviderConnection({
    ...target,
    markets,
    connectTimeoutMs: timeoutMs,
    clock,
    random: Math.random,
    handlers: {
      onTrade(symbol) {
        priced.add(symbol);
        if (priced.size === symbols.length) ended.resolve();
      },
      onLost: ended.resolve,
    },
  });
  const cancel = clock.after(timeoutMs, ended.resolve);
  connection.start();
  await ended.promise;
  cancel();
  connection.stop();
  const missing = symbols.filter((symbol) => !priced.has(symbol));
  const problem = connection.lastError ?? `no price of ${missing.join(", ")} in ${timeoutMs} ms`;
  return { symbols, priced, problem };
}

/** Warns at most: without this provider there may still be enough sources. */
function providerFinding(name: ProviderName, url: string, test: ProviderTest): Finding {
  const { symbols, priced, problem } = test;
  if (priced.size === symbols.length) return ok(`${url}: prices of all ${priced.size} pairs`);
  return warn(
    `${url}: prices of ${priced.size} of ${symbols.length} pairs: ${problem}`,
    `Make it reachable, use another URL with --provider-url ${EXCHANGE_OF[name]}=, ` +
      "or leave it out with --providers",
  );
}

/** Checks that every pair has at least `--min-sources` sources. */
function sourcesFinding(tests: readonly ProviderTest[], minSources: number): Finding {
  const counts = tests[0]?.symbols.map((symbol) => ({
    symbol,
    count: tests.filter(({ priced }) => priced.has(symbol)).length,
  })) ?? [];
  const missing = counts.filter(({ count }) => count < minSources)
    .map(({ symbol, count }) => `${symbol}: ${count} of ${minSources} sources`);
  if (missing.length === 0) {
    if (minSources >= MIN_SOURCES_SAFE) return ok(`Every pair has at least ${minSources}`);
    return warn(
      `Every pair has at least ${minSources}, so a single wrong exchange can set a price`,
      `Require ${MIN_SOURCES_SAFE}: ${optionLabel(options.minSources)}`,
    );
  }
  const least = Math.min(...counts.map(({ count }) => count));
  const fewer = least === 0
    ? ""
    : `, or require at most ${least}: ${optionLabel(options.minSources)}`;
  return fail(missing.join("; "), `Fix the providers above${fewer}`);
}
