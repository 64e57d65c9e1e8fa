import { parse } from "smol-toml";
import { z } from "zod";
import {
  type Market,
  Markets,
  PRICE_DECIMALS,
  SPEC_MARKETS,
  SYMBOL_PATTERN,
} from "../protocol/markets.ts";
import { EXCHANGE_OF, findProvider, type ProviderName } from "../protocol/providers.ts";
import { addressSchema } from "../protocol/scalars.ts";
import { readTomlFile, withTomlErrors } from "./toml_file.ts";

/** Each market costs the node a ring of 1 MiB, and the oracle an entry in every answer. */
const MARKETS_MAX = 256;

const EXCHANGE_RULE = `Expected ${Object.values(EXCHANGE_OF).join(", ")}`;

const exchangeSymbolsSchema = z.record(z.string(), z.string().regex(/^[\x21-\x7e]{1,32}$/))
  .transform((table, context): Partial<Record<ProviderName, string>> => {
    const symbols: Partial<Record<ProviderName, string>> = {};
    for (const [exchange, symbol] of Object.entries(table)) {
      const provider = findProvider(exchange);
      if (provider === undefined) context.addIssue(`${EXCHANGE_RULE}: received ${exchange}`);
      else symbols[provider] = symbol;
    }
    return symbols;
  });

const marketSchema = z.strictObject({
  symbol: z.string().regex(
    SYMBOL_PATTERN,
    "Expected a symbol such as BTC/USDT",
  ),
  base: addressSchema,
  quote: addressSchema,
  decimals: z.literal(PRICE_DECIMALS, {
    error: `Expected ${PRICE_DECIMALS}: all prices have that many decimals`,
  })
    .default(PRICE_DECIMALS),
  exchanges: exchangeSymbolsSchema.optional(),
});

const fileSchema = z.strictObject({
  market: z.array(marketSchema, { error: "Expected a list: [[market]]" }).min(1).max(MARKETS_MAX),
});

/**
 * Reads the markets of a file. Without a file, returns the markets of the specification.
 *
 * @throws {UsageError} If the file cannot be read or is invalid; the message has one line.
 */
export function readMarkets(path: string | undefined): Promise<Markets> {
  return Promise.try(() =>
    path === undefined ? SPEC_MARKETS : parseMarkets(readTomlFile("Markets", path), path)
  );
}

/** Parses the text of a markets file. @throws {UsageError} Like {@link readMarkets}. */
export function parseMarkets(text: string, path: string): Markets {
  return withTomlErrors(
    "markets",
    path,
    () => new Markets(fileSchema.parse(parse(text)).market.map(toMarket)),
  );
}

function toMarket({ symbol, base, quote, exchanges }: z.output<typeof marketSchema>): Market {
  return { symbol, base, quote, ...(exchanges && { exchangeSymbols: exchanges }) };
}
