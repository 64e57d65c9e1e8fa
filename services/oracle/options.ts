import { z } from "zod";
import { HOUR_MS } from "../../lib/time.ts";
import {
  EXCHANGE_OF,
  findProvider,
  PROVIDER_NAMES,
  type ProviderName,
} from "../../lib/protocol/providers.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import { type OptionsOf, UsageError } from "../../lib/cli/options.ts";
import { listenOptions, marketsOption, readerOriginsOption } from "../../lib/cli/shared_options.ts";
import { optionsFor } from "../../lib/cli/option_names.ts";
import { PROVIDERS } from "./providers/mod.ts";
import type { Provider } from "./providers/provider.ts";

/** With this many sources, the median is right if one lies. The specification's default is 1. */
export const MIN_SOURCES_SAFE = 3;

const NAME_RULE = `Expected ${
  kinds.listedWithOr([...Object.values(EXCHANGE_OF), ...PROVIDER_NAMES])
}`;

/** `all`, or a comma-separated list; each provider once, in the order of the spec. */
const providers = {
  schema: z.string().transform((text, context): ProviderName[] => {
    if (text.trim() === "all") return [...PROVIDER_NAMES];
    const names = text.split(",").map((part) => findProvider(part.trim()));
    if (names.includes(undefined)) context.addIssue(NAME_RULE);
    return PROVIDER_NAMES.filter((name) => names.includes(name));
  }),
  placeholder: "list",
} satisfies kinds.OptionKind;

const providerUrlSchema = z.string().transform((text, context) => {
  const [, typed = "", url = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  const name = findProvider(typed.trim());
  if (name !== undefined) return { name, url };
  context.addIssue(url === "" ? "Expected name=url" : NAME_RULE);
  return z.NEVER;
}).pipe(z.object({ name: z.enum(PROVIDER_NAMES), url: kinds.wsUrl.schema }));

const providerUrls = {
  schema: z.array(providerUrlSchema).transform((pairs): Partial<Record<ProviderName, string>> =>
    Object.fromEntries(pairs.map(({ name, url }) => [name, url]))
  ),
  placeholder: "name=url",
  secret: true,
} satisfies kinds.OptionKind;

/** Options of `rangemaker oracle` (spec: price oracle, "Service options"). */
export const options = optionsFor("oracle", {
  port: {
    flags: "-P, --port",
    kind: kinds.port,
    description: "HTTP port",
    default: "8550",
  },
  ...listenOptions,
  corsOrigins: readerOriginsOption,
  providers: {
    flags: "-p, --providers",
    kind: providers,
    description: "comma-separated providers, by provider or exchange name",
    default: "all",
  },
  markets: marketsOption,
  aggregation: {
    flags: "-a, --aggregation <method>",
    kind: kinds.choice(["median", "average"]),
    description: "median or average",
    default: "median",
  },
  minSources: {
    flags: "-m, --min-sources",
    kind: kinds.integer(1, PROVIDER_NAMES.length),
    description: "minimum sources required for a valid price",
    default: "1",
  },
  providerUrls: {
    flags: "--provider-url",
    kind: providerUrls,
    description: "URL of a provider instead of its public one; repeatable",
    default: "",
    repeatable: true,
  },
  maxSourceAgeMs: {
    kind: kinds.duration(100, HOUR_MS),
    description: "how long a source contributes after its price was last confirmed",
    // Below the node's max_stale_ms of 3000, so that a dead source is dropped before the price is
    // stale. Above two heartbeats of Coinbase, which sends one a second.
    default: "2500",
  },
});

export type OracleOptions = OptionsOf<typeof options>;

/**
 * Checks that there are enough providers for a price.
 *
 * @throws {UsageError} If there are fewer providers than required sources.
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

/** The selected providers, each with its configured or its public URL. */
export function endpoints(
  { providers = [], providerUrls = {} }: Partial<OracleOptions>,
): { provider: Provider; url: string }[] {
  return providers.map((name) => {
    const provider = PROVIDERS[name];
    return { provider, url: providerUrls[name] ?? provider.url };
  });
}
