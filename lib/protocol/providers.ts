/**
 * The price sources. On the wire they have the neutral names of the spec (price oracle,
 * "Providers"); where a person types one, the name of the exchange works too.
 */

/** The exchange behind each provider name. */
export const EXCHANGE_OF = {
  provider_a: "binance",
  provider_b: "coinbase",
  provider_c: "kraken",
  provider_d: "okx",
} as const;

/** A provider's name on the wire. */
export type ProviderName = keyof typeof EXCHANGE_OF;

/** All providers, in the order of the spec's table. */
export const PROVIDER_NAMES = Object.keys(EXCHANGE_OF) as ProviderName[]; // its own keys

/** Finds a provider by its own or its exchange's name, ignoring case. */
export function findProvider(text: string): ProviderName | undefined {
  const wanted = text.toLowerCase();
  return PROVIDER_NAMES.find((name) => name === wanted || EXCHANGE_OF[name] === wanted);
}
