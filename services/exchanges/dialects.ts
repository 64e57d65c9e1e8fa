import type { Dialect } from "./dialect.ts";
import { binance } from "./dialects/binance.ts";
import { coinbase } from "./dialects/coinbase.ts";
import { kraken } from "./dialects/kraken.ts";
import { okx } from "./dialects/okx.ts";

/** Every venue that is stood in for, in the order of the spec's providers. */
export const DIALECTS: readonly Dialect[] = [binance, coinbase, kraken, okx];
