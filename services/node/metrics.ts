import type { Registry } from "prom-client";
import type { Market, Markets } from "../../lib/protocol/markets.ts";
import { createRegistry, metricsIn } from "../../lib/http/metrics.ts";

export type NodeMetrics = ReturnType<typeof createNodeMetrics>;

/** Values that are read at each scrape. */
export interface NodeGauges {
  unsettledTheses(): number;
  thesesWithoutPrices(): number;
  /** Slots without a price that unsettled theses need. */
  neededSlots(): Iterable<[market: Market, slots: number]>;
  /** Whether each market has a fresh price. */
  freshMarkets(): Iterable<[market: Market, isFresh: boolean]>;
  clients(): number;
  /** Whether changes can be stored. */
  isWritable(): boolean;
  storageBytes(): number;
}

const LATENESS_BUCKETS_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** Declares the metrics in a new registry. */
export function createNodeMetrics({ symbols }: Markets) {
  const registry = createRegistry();
  const { counter, gauge, histogram } = metricsIn(registry);
  const metrics = {
    registry,
    blockNumber: gauge("node_block_number", "Number of the newest sealed block."),
    checkpointLateness: histogram(
      "node_checkpoint_lateness_seconds",
      "How long after its due time a checkpoint was sealed.",
      LATENESS_BUCKETS_SECONDS,
    ),
    checkpointsMissed: counter(
      "node_checkpoints_missed_total",
      "Checkpoints skipped because the process was blocked or its clock was set forward.",
    ),
    pulls: counter(
      "node_oracle_pulls_total",
      "Pulls of prices by outcome: ok, timeout, error, invalid.",
      "outcome",
    ),
    lateAnswers: counter(
      "node_oracle_late_answers_total",
      "Answers of the oracle after the timeout of their pull that had a newer price.",
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
      "WebSocket clients disconnected because they read too slowly.",
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
export function watchNode(registry: Registry, gauges: NodeGauges): void {
  const { reading, readings } = metricsIn(registry);
  reading(
    "node_theses_unsettled",
    "Theses that are not settled.",
    gauges.unsettledTheses,
  );
  reading(
    "node_theses_without_prices",
    "Theses that have ended and cannot be settled until missing prices are backfilled.",
    gauges.thesesWithoutPrices,
  );
  readings(
    "node_price_slots_needed",
    "Checkpoints without a price that open theses need, by market.",
    ["market"],
    function* () {
      for (const [{ symbol: market }, slots] of gauges.neededSlots()) yield [{ market }, slots];
    },
  );
  readings(
    "node_price_fresh",
    "1 while a market has a fresh price, otherwise 0.",
    ["market"],
    function* () {
      for (const [{ symbol: market }, isFresh] of gauges.freshMarkets()) {
        yield [{ market }, isFresh ? 1 : 0];
      }
    },
  );
  reading(
    "node_storage_writable",
    "1 while transactions and settlements can be stored, 0 after a commit failed.",
    () => gauges.isWritable() ? 1 : 0,
  );
  reading("node_websocket_clients", "WebSocket clients connected.", gauges.clients);
  reading(
    "node_storage_bytes",
    "Size of the chain's database with its log; 0 in memory.",
    gauges.storageBytes,
  );
}
