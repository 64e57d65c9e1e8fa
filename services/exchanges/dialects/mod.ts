import type { Dialect } from "./dialect.ts";
import { binance } from "./binance.ts";
import { coinbase } from "./coinbase.ts";
import { kraken } from "./kraken.ts";
import { okx } from "./okx.ts";

/** Every simulated exchange, in the order of the spec's providers. */
export const DIALECTS: readonly Dialect[] = [binance, coinbase, kraken, okx];
