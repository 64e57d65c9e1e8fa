import type { ProviderName } from "../../../lib/protocol/providers.ts";
import { binance } from "./binance.ts";
import { coinbase } from "./coinbase.ts";
import { kraken } from "./kraken.ts";
import { okx } from "./okx.ts";
import type { Provider } from "./provider.ts";

/** All providers. A new exchange is a file in this folder and a line here. */
export const PROVIDERS: Readonly<Record<ProviderName, Provider>> = {
  provider_a: binance,
  provider_b: coinbase,
  provider_c: kraken,
  provider_d: okx,
};
