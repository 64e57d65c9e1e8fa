import type { Registry } from "prom-client";
import type { Clock } from "../../lib/clock.ts";
import type { Markets } from "../../lib/protocol/markets.ts";
import { createRegistry, metricsIn } from "../../lib/http/metrics.ts";
import type { Chain } from "./chain/chain.ts";
import type { Clients } from "./rpc/clients.ts";
import type { Storage } from "./store/storage.ts";

export type NodeMetrics = ReturnType<typeof createNodeMetrics>;

interface MeasuredNode {
  chain: Chain;
  clients: Clients;
  storage: Storage;
  clock: Clock;
}

const LATENESS_BUCKETS_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** Declares the metrics in a new registry. */
export function createNodeMetrics({ symbols }: Markets) {
  const registry = createRegistry();
  const { counter, gauge, histogram } = metricsIn(registry);
  const metrics = {
    registry,
    checkpointLateness: histogram(
      "node_checkpoint_lateness_seconds",
      "How long after its due time a checkpoint was sealed.",
      LATENESS_BUCKETS_SECONDS,
    ),
    checkpointsMissed: counter(
      "node_checkpoints_missed_total",
      "Checkpoints skipped because the process was blocked or its clock was wrong.",
    ),
    pulls: counter(
      "node_oracle_pulls_total",
      "Pulls of prices by outcome: ok, timeout, error, invalid.",
      "outcome",
    ),
    lateAnswers: counter(
      "node_oracle_late_answers_total",
      "Answers of the oracle after the timeout of their pull that had another price.",
    ),
    slotsWithoutPrice: counter(
      "node_price_slots_missing_total",
      "Checkpoints without a fresh price, by market.",
      "market",
    ),
    slotsDamaged: gauge(
      "node_price_slots_damaged",
      "Price slots that were damaged at the start, by market.",
      "market",
    ),
    transactions: counter(
      "node_transactions_total",
      "Transactions recorded, by type and status.",
      "type",
      "status",
    ),
    thesesSettled: counter(
      "node_theses_settled_total",
      "Settlement attempts by outcome: won, lost, needs_backfill.",
      "status",
    ),
    calls: counter(
      "node_rpc_calls_total",
      "JSON-RPC calls by method and outcome.",
      "method",
      "outcome",
    ),
    slowClients: counter(
      "node_websocket_slow_clients_total",
      "WebSocket clients disconnected because they read too slowly or sent too much at once.",
    ),
  };
  // Present from the start: the first event is then an increase, not a new series.
  for (const market of symbols) {
    metrics.slotsWithoutPrice.inc({ market }, 0);
    metrics.slotsDamaged.set({ market }, 0);
  }
  for (const status of ["won", "lost", "needs_backfill"]) metrics.thesesSettled.inc({ status }, 0);
  return metrics;
}

/** Declares gauges that read the node at each scrape. */
export function registerNodeGauges(
  registry: Registry,
  { chain, clients, storage, clock }: MeasuredNode,
): void {
  const { scrapedGauge, scrapedGauges } = metricsIn(registry);
  scrapedGauge(
    "node_block_number",
    "Number of the newest sealed block.",
    () => chain.head.number,
  );
  scrapedGauge(
    "node_theses_unsettled",
    "Theses that are not settled.",
    () => chain.state.settlements.unsettledCount,
  );
  scrapedGauge(
    "node_theses_without_prices",
    "Theses that have ended and cannot be settled until missing prices are backfilled.",
    () => chain.state.settlements.withoutPricesCount,
  );
  scrapedGauges(
    "node_price_slots_needed",
    "Checkpoints without a price that open theses need, by market.",
    ["market"],
    function* () {
      const needed = chain.state.neededSlots(chain.head.timestampMs);
      for (const [{ symbol: market }, slots] of needed) yield [{ market }, slots];
    },
  );
  scrapedGauges(
    "node_price_fresh",
    "1 while a market has a fresh price, otherwise 0.",
    ["market"],
    function* () {
      const { oraclePrices } = chain;
      for (const market of oraclePrices.markets) {
        yield [{ market: market.symbol }, oraclePrices.isFresh(market, clock.now()) ? 1 : 0];
      }
    },
  );
  scrapedGauge(
    "node_storage_writable",
    "1 while transactions and settlements can be stored, 0 after a commit failed.",
    () => storage.records.commits.failure === undefined ? 1 : 0,
  );
  scrapedGauge("node_websocket_clients", "WebSocket clients connected.", () => clients.count);
  scrapedGauge(
    "node_storage_bytes",
    "Size of the chain's database with its log; 0 in memory.",
    () => storage.bytes,
  );
}
