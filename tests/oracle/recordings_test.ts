/** Replays recorded traffic through the parsers, where the recordings are available. */
import assert from "node:assert/strict";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import { PROVIDERS } from "../../services/oracle/providers/mod.ts";
import { MarketStream } from "../../services/oracle/market_stream.ts";
import { naivePrice } from "./frames.ts";

const folder = new URL("../../../shared/data/", import.meta.url);

function read(file: string): string[] | undefined {
  try {
    return Deno.readTextFileSync(new URL(file, folder)).trimEnd().split("\n");
  } catch (thrown) {
    if (!(thrown instanceof Deno.errors.NotFound)) throw thrown;
    return undefined;
  }
}

const recordings: [provider: ProviderName, file: string][] = [
  ["provider_a", "binance-aggtrade-2021.ndjson"],
  ["provider_b", "coinbase-ticker-2021-04-17.ndjson"],
  ["provider_d", "okx-tickers-2022-05-13.ndjson"],
];

/** The digits of a trade's price and its market, found without the parser under test. */
function expected(frame: string): [symbol: string, digits: string] | undefined {
  const digits = /"(?:p|price|last)":"([0-9.]+)"/.exec(frame)?.[1];
  const symbol = /"(?:s|product_id|instId)":"([^"]+)"/.exec(frame)?.[1];
  return digits === undefined || symbol === undefined ? undefined : [symbol, digits];
}

for (const [name, file] of recordings) {
  const lines = read(file);
  const ignore = lines === undefined;
  if (ignore) console.warn(`Skipped: ${file} is missing`);
  Deno.test({
    name: `Provider ${name}: every frame of ${file} is understood, every price exact`,
    ignore,
    fn() {
      const provider = PROVIDERS[name];
      const streams = new Map<string, MarketStream>();
      let traded = 0;
      for (const line of lines ?? []) {
        const { frame, received_ms }: { frame: string; received_ms: number } = JSON.parse(line);
        const parsed = provider.parse(frame);
        assert.notEqual(parsed.kind, "dropped", frame);
        const wanted = expected(frame);
        if (wanted === undefined || parsed.kind !== "trades") {
          assert.equal(parsed.kind, "acknowledged", frame);
          continue;
        }
        const [symbol, digits] = wanted;
        assert.equal(parsed.trades.length, 1);
        for (const trade of parsed.trades) {
          assert.equal(trade.symbol, symbol);
          assert.equal(trade.price, naivePrice(digits), frame);
          const stream = streams.get(symbol) ?? new MarketStream(symbol);
          streams.set(symbol, stream);
          assert(stream.add(trade, received_ms), `late: ${frame}`);
          assert(!stream.isStuck(received_ms));
          traded += 1;
        }
      }
      assert(traded > 0);
    },
  });
}
