import type { Clock } from "../../../lib/clock.ts";
import { CLOCK_DIFFERENCE_MAX_MS } from "../../../lib/intents/clock_comparison.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { readPages } from "../../../lib/net/core_reader.ts";
import { PollingLoop } from "../../../lib/timing/polling_loop.ts";
import { RING_SLOTS_DEFAULT } from "../../../lib/prices/price_ring.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import { HISTORY_LAG_MAX_MS } from "../pricing/barrier_strategy.ts";
import type { MarketData } from "./market_data.ts";

/** Time between two reads of the node's price history. */
const HISTORY_INTERVAL_MS = 1_000;

/**
 * Slots after the newest price are read again for this long: the node may still record them, and
 * has not reached them yet if this clock is ahead of its own.
 */
const SETTLE_MS = 3_000 + CLOCK_DIFFERENCE_MAX_MS;

/** Most pages of one read of one market: the whole ring has 11. */
export const HISTORY_PAGES_MAX = 16;

type HistoryNode = Pick<CoreClient, "getPriceHistory">;

/** Keeps a {@link MarketData} up to date: reads the node's whole history, then its additions. */
export function createHistoryReader(
  node: HistoryNode,
  marketData: MarketData,
  clock: Clock,
): PollingLoop {
  const log = serviceLog("solver");
  /** The first unknown slot of each market. */
  const nextFromMs = new Map<Market, number>();
  const readMarket = async (market: Market, signal: AbortSignal) => {
    const { base, quote } = market;
    const to = Math.floor(clock.now() / SLOT_MS) * SLOT_MS;
    if (await isUndone(node, market, marketData.stateOf(market).history.newestMs ?? 0, to)) {
      marketData.reset(market);
    }
    const known = marketData.stateOf(market);
    const nextMs = nextFromMs.get(market) ?? 0;
    // The clock was ahead at the last read: nothing after the newest price was read.
    const unreadMs = nextMs > to ? Math.min(to, known.truncateToNewest()) : nextMs;
    // Older prices are not available: their empty pages would use up the pages of this read.
    const from = Math.max(0, to - RING_SLOTS_DEFAULT * SLOT_MS, unreadMs);
    let newestMs = from - SLOT_MS;
    const read = (cursor?: string) => node.getPriceHistory({ base, quote, from, to, cursor });
    for await (const { prices } of readPages(read, HISTORY_PAGES_MAX)) {
      newestMs = prices.at(-1)?.time ?? newestMs;
      known.addHistory(prices, newestMs + SLOT_MS);
      if (signal.aborted) return;
    }
    nextFromMs.set(market, Math.max(newestMs + SLOT_MS, to - SETTLE_MS));
  };
  return new PollingLoop({
    clock,
    intervalMs: HISTORY_INTERVAL_MS,
    async poll(signal) {
      const reads = await Promise.allSettled(
        Array.from(marketData.states.keys(), (market) => readMarket(market, signal)),
      );
      const failed = reads.find((read) => read.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
    // A warning is enough: missing prices also show as refused quotes.
    onFailure: ({ message }) =>
      log.warn("Price history cannot be read: {reason}", { reason: message }),
    onRecovery: () => log.info("Price history can be read again"),
  });
}

/** Whether the chain went back in time: its newest price is ahead, and the node lacks it. */
async function isUndone(
  node: HistoryNode,
  { base, quote }: Market,
  newestMs: number,
  nowMs: number,
): Promise<boolean> {
  if (newestMs - nowMs <= HISTORY_LAG_MAX_MS) return false;
  const query = { base, quote, from: newestMs, to: newestMs + SLOT_MS };
  return (await node.getPriceHistory(query)).prices.length === 0;
}
