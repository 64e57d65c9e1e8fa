import type { Markets } from "../../lib/protocol/markets.ts";
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

/** The selected providers, each with its configured URL or its public one, and the markets' names. */
export function endpoints(
  { providers, providerUrls }: Pick<OracleOptions, "providers" | "providerUrls">,
  markets: Markets,
): { provider: Provider; url: string }[] {
  return providers.map((name) => {
    const provider = PROVIDERS[name];
    const symbolOf = (market: string) =>
      markets.bySymbol(market)?.exchangeSymbols?.[name] ?? provider.symbolOf(market);
    return { provider: { ...provider, symbolOf }, url: providerUrls[name] ?? provider.url };
  });
}
