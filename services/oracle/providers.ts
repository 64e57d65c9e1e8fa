import type { ProviderName } from "../../lib/protocol/providers.ts";
import type { OracleOptions } from "./options.ts";
import type { Provider } from "./provider.ts";
import { binance } from "./providers/binance.ts";
import { coinbase } from "./providers/coinbase.ts";
import { kraken } from "./providers/kraken.ts";
import { okx } from "./providers/okx.ts";

/** All providers. A new exchange is a file in `providers/` and a line here. */
export const PROVIDERS: Readonly<Record<ProviderName, Provider>> = {
  provider_a: binance,
  provider_b: coinbase,
  provider_c: kraken,
  provider_d: okx,
};

/** The selected providers, each with its configured or its public URL. */
export function endpoints(
  { providers = [], providerUrls = {} }: Partial<OracleOptions>,
): { provider: Provider; url: string }[] {
  return providers.map((name) => {
    const provider = PROVIDERS[name];
    return { provider, url: providerUrls[name] ?? provider.url };
  });
}
