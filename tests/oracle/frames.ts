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
