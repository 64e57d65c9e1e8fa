/** A trade as Binance sends it. */
export function aggTrade(id: number, timeMs: number, price = "100", symbol = "BTCUSDT"): string {
  return JSON.stringify({ data: { e: "aggTrade", s: symbol, a: id, p: price, T: timeMs } });
}

/** Binance's answer to a subscription. */
export const ACK = '{"result":null,"id":1}';

/** Kraken's answer to a subscription. */
export function krakenAnswer(symbol: string, success: boolean): string {
  const error = `not supported ${symbol}`;
  const outcome = success ? { result: { channel: "trade", symbol } } : { error, symbol };
  return JSON.stringify({ method: "subscribe", success, ...outcome });
}

/** A decimal number as an integer with 6 decimals, by long division. */
export function naivePrice(digits: string): bigint {
  const [mantissa = "", exponent = "0"] = digits.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const value = BigInt(whole + fraction) * 10n ** BigInt(Math.max(0, Number(exponent) + 6));
  const places = BigInt(fraction.length) - BigInt(Math.min(0, Number(exponent) + 6));
  return (value * 2n + 10n ** places) / (2n * 10n ** places);
}
