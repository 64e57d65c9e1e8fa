import assert from "node:assert/strict";
import { parseOptions, withDefaults } from "../../lib/cli/options.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { AGGREGATIONS } from "../../services/oracle/aggregation.ts";
import { options, startOracle } from "../../services/oracle/mod.ts";
import { providersSchema } from "../../services/oracle/status.ts";
import { eventually } from "../support/eventually.ts";
import { effectsOfListening, everyOption, listening } from "../support/every_option.ts";
import { tomlOf, withMarketsFile } from "../support/files.ts";
import { logOf } from "../support/recorded_logs.ts";

const { average, median } = AGGREGATIONS;

const text = { name: "oracle", description: "", examples: [] };

function parse(argv: string[], env: Record<string, string> = {}) {
  return parseOptions(text, options, argv, (name) => env[name]);
}

Deno.test("providersSchema: providers are accepted by either name, without duplicates, in the order of the spec", () => {
  assert.deepEqual(parse(["-p", "okx, provider_a,OKX"]).providers, ["provider_a", "provider_d"]);
  const { providerUrls } = parse([], {
    RANGEMAKER_ORACLE_PROVIDER_URL:
      "kraken=ws://127.0.0.1:1/v2,provider_a=wss://x.example/stream?streams=a",
  });
  assert.deepEqual(providerUrls, {
    provider_c: "ws://127.0.0.1:1/v2",
    provider_a: "wss://x.example/stream?streams=a",
  });
});

Deno.test("providersSchema: an unknown provider is refused with the names of all", () => {
  const message = /: Expected binance, coinbase, kraken, okx, provider_a,.*: received "binanc"$/;
  assert.throws(() => parse(["-p", "binanc"]), { message });
});

Deno.test("startOracle: refuses a minimum above the number of providers", async () => {
  const options = { ...parse(["-p", "okx", "-m", "2", "-P", "0"]) };
  await assert.rejects(startOracle(options), /Expected at most the number of providers, 1/);
});

Deno.test(
  "Oracle: every option has its effect",
  everyOption(options, (observe) => {
    const [market = assert.fail("There are markets")] = SPEC_MARKETS.list;
    const { symbol } = market;
    return withMarketsFile(tomlOf([market]), async (markets) => {
      await using exchanges = await startExchanges(
        withDefaults(exchangesOptions, { port: 0, markets, rate: 500 }),
      );
      const values = {
        ...listening(),
        providers: ["provider_a", "provider_b", "provider_c"] as const,
        markets,
        aggregation: "average" as const,
        minSources: 3,
        providerUrls: exchanges.providerUrls,
        maxSourceAgeMs: 200,
      };
      await using oracle = await startOracle(
        withDefaults(options, { ...values, providers: [...values.providers] }),
      );
      const look = async () => {
        const { providers, pairSources } = providersSchema.parse(
          await (await fetch(`${oracle.url}/providers`)).json(),
        );
        return { providers, pairSources, pair: pairSources[symbol] ?? assert.fail() };
      };
      await observe({ ...values, providers: [...values.providers] }, {
        ...effectsOfListening(oracle.url, values, "/providers"),
        providers: async () => {
          const { providers } = await look();
          assert.deepEqual(providers.map(({ name }) => name), values.providers);
        },
        markets: async () => assert.deepEqual(Object.keys((await look()).pairSources), [symbol]),
        providerUrls: () =>
          eventually("all are ready", async () => {
            return (await look()).providers.every(({ ready }) => ready);
          }).then(() => {}),
        aggregation: () =>
          eventually("an average that is no median", async () => {
            const { price, sourcePrices } = (await look()).pair;
            const prices = Object.values(sourcePrices);
            if (price === undefined || average(prices) === median(prices)) return undefined;
            assert.equal(price, average(prices));
            return true;
          }).then(() => {}),
        maxSourceAgeMs: async () => {
          exchanges.inject("provider_a", "mute");
          const ageMs = await eventually("a source that is too old", async () => {
            const { providers, pair } = await look();
            if (pair.sources.includes("provider_a")) return undefined;
            return providers[0]?.streams[symbol]?.lastTradeAgeMs;
          });
          assert(ageMs < Number(options.maxSourceAgeMs.default), `${ageMs} ms old`);
        },
        minSources: async () => {
          const { pair: { sources, price } } = await look();
          assert.deepEqual([sources.length > 0, price], [true, undefined]);
        },
      });
    });
  }),
);

Deno.test("startOracle: with fewer than three providers, the warning advises more providers", async () => {
  const log = await logOf(async () => {
    const providerUrls = { provider_d: "ws://127.0.0.1:1" };
    const one = { port: 0, providers: ["provider_d" as const], providerUrls };
    await using _oracle = await startOracle(withDefaults(options, one));
  });
  assert.match(
    log.join("\n"),
    /1 of 1 sources.*: use at least 3 --providers and --min-sources 3$/m,
  );
});
