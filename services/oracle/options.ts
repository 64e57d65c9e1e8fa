import { z } from "zod";
import { findProvider, PROVIDER_NAMES, type ProviderName } from "../../lib/protocol/providers.ts";
import { hostOption, integerSchema, portSchema, wsUrlSchema } from "../../lib/cli/option_types.ts";
import { type OptionsOf, type OptionTable, UsageError } from "../../lib/cli/options.ts";

const NAME_RULE = `Expected ${PROVIDER_NAMES.join(", ")} or an exchange name`;

/** Parses `all` or a comma-separated list to unique providers in the order of the spec. */
const providersSchema = z.string().transform((text, context): ProviderName[] => {
  if (text.trim() === "all") return [...PROVIDER_NAMES];
  const names = text.split(",").map((part) => findProvider(part.trim()));
  if (names.includes(undefined)) context.addIssue(NAME_RULE);
  return PROVIDER_NAMES.filter((name) => names.includes(name));
});

const providerUrlSchema = z.string().transform((text, context) => {
  const [, typed = "", url = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  const name = findProvider(typed.trim());
  if (name !== undefined) return { name, url };
  context.addIssue(url === "" ? "Expected name=url" : NAME_RULE);
  return z.NEVER;
}).pipe(z.object({ name: z.enum(PROVIDER_NAMES), url: wsUrlSchema }));

const providerUrlsSchema = z.array(providerUrlSchema).optional()
  .transform((pairs = []): Partial<Record<ProviderName, string>> =>
    Object.fromEntries(pairs.map(({ name, url }) => [name, url]))
  );

/** Options of `rangemaker oracle` (spec: price oracle, "Service options"). */
export const options = {
  port: {
    flags: "-P, --port <port>",
    env: "ORACLE_PORT",
    description: "HTTP port",
    schema: portSchema,
    default: "8550",
  },
  host: hostOption,
  providers: {
    flags: "-p, --providers <list>",
    env: "ORACLE_PROVIDERS",
    description: "comma-separated providers: provider names or exchange names",
    schema: providersSchema,
    default: "all",
  },
  aggregation: {
    flags: "-a, --aggregation <method>",
    env: "ORACLE_AGGREGATION",
    description: "median or average",
    schema: z.enum(["median", "average"], { error: "Expected median or average" }),
    default: "median",
  },
  minSources: {
    flags: "-m, --min-sources <n>",
    env: "ORACLE_MIN_SOURCES",
    description: "minimum sources required for a valid price",
    schema: integerSchema(1, PROVIDER_NAMES.length),
    default: "1",
  },
  providerUrls: {
    flags: "--provider-url <name=url>",
    env: "ORACLE_PROVIDER_URLS",
    description: "endpoint to use instead of the provider's public one; repeatable",
    schema: providerUrlsSchema,
    repeatable: true,
  },
  maxSourceAgeMs: {
    flags: "--max-source-age-ms <ms>",
    env: "ORACLE_MAX_SOURCE_AGE_MS",
    description: "how long a source contributes after its price was last confirmed",
    schema: integerSchema(100, 3_600_000),
    // Below the node's max_stale_ms of 3000, so that a dead source leaves before the price is stale.
    // Above two heartbeats of Coinbase, one a second.
    default: "2500",
  },
} satisfies OptionTable;

/** The options after parsing. */
export type OracleOptions = OptionsOf<typeof options>;

/**
 * Refuses a configuration that could never give a price.
 *
 * @throws {UsageError} If there are fewer providers than sources required.
 */
export function requireSources(
  { providers, minSources }: Pick<OracleOptions, "providers" | "minSources">,
): void {
  if (minSources <= providers.length) return;
  throw new UsageError(
    `Invalid --min-sources: Expected at most the number of providers, ${providers.length}: ` +
      `received ${minSources}`,
  );
}
