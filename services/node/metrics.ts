import { Counter, Gauge, Histogram } from "prom-client";
import type { Markets } from "../../lib/protocol/markets.ts";
import { createRegistry } from "../../lib/http/metrics.ts";

export type NodeMetrics = ReturnType<typeof createNodeMetrics>;

/** Values that are read at each scrape. */
export interface NodeGauges {
  unsettledTheses(): number;
  thesesWithoutPrices(): number;
  clients(): number;
  /** Whether changes can be stored. */
  isWritable(): boolean;
  storageBytes(): number;
}

const LATENESS_BUCKETS_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** Declares the metrics in a new registry. */
export function createNodeMetrics({ symbols }: Markets, gauges: NodeGauges) {
  const registry = createRegistry();
  const registers = [registry];
  const metrics = {
    registry,
    blockNumber: new Gauge({
      name: "node_block_number",
      help: "Number of the newest sealed block.",
      registers,
    }),
    checkpointLateness: new Histogram({
      name: "node_checkpoint_lateness_seconds",
      help: "How long after its due time a checkpoint was sealed.",
      buckets: LATENESS_BUCKETS_SECONDS,
      registers,
    }),
    checkpointsMissed: new Counter({
      name: "node_checkpoints_missed_total",
      help: "Checkpoints skipped because the process was blocked or its clock was set forward.",
      registers,
    }),
    pulls: new Counter({
      name: "node_oracle_pulls_total",
      help: "Pulls of prices by outcome: ok, timeout, error, invalid.",
      labelNames: ["outcome"],
      registers,
    }),
    lateAnswers: new Counter({
      name: "node_oracle_late_answers_total",
      help: "Answers of the oracle after the timeout of their pull that had a newer price.",
      registers,
    }),
    slotsWithoutPrice: new Counter({
      name: "node_price_slots_missing_total",
      help: "Checkpoints without a fresh price, by market.",
      labelNames: ["market"],
      registers,
    }),
    slotsDamaged: new Gauge({
      name: "node_price_slots_damaged",
      help: "Price slots that were damaged at the start, by market.",
      labelNames: ["market"],
      registers,
    }),
    transactions: new Counter({
      name: "node_transactions_total",
      help: "Transactions recorded, by type and status.",
      labelNames: ["type", "status"],
      registers,
    }),
    thesesSettled: new Counter({
      name: "node_theses_settled_total",
      help: "Settlement attempts by outcome: won, lost, needs_backfill.",
      labelNames: ["status"],
      registers,
    }),
    thesesUnsettled: new Gauge({
      name: "node_theses_unsettled",
      help: "Theses that are not settled.",
      registers,
      collect() {
        this.set(gauges.unsettledTheses());
      },
    }),
    thesesWithoutPrices: new Gauge({
      name: "node_theses_without_prices",
      help: "Theses that have ended and cannot be settled until missing prices are backfilled.",
      registers,
      collect() {
        this.set(gauges.thesesWithoutPrices());
      },
    }),
    storageWritable: new Gauge({
      name: "node_storage_writable",
      help: "1 while transactions and settlements can be stored, 0 after a commit failed.",
      registers,
      collect() {
        this.set(gauges.isWritable() ? 1 : 0);
      },
    }),
    calls: new Counter({
      name: "node_rpc_calls_total",
      help: "JSON-RPC calls by method and outcome.",
      labelNames: ["method", "outcome"],
      registers,
    }),
    clients: new Gauge({
      name: "node_websocket_clients",
      help: "WebSocket clients connected.",
      registers,
      collect() {
        this.set(gauges.clients());
      },
    }),
    storageBytes: new Gauge({
      name: "node_storage_bytes",
      help: "Size of the chain's database with its log; 0 in memory.",
      registers,
      collect() {
        this.set(gauges.storageBytes());
      },
    }),
    slowClients: new Counter({
      name: "node_websocket_slow_clients_total",
      help: "WebSocket clients disconnected because they read too slowly.",
      registers,
    }),
  };
  // Present from the start: the first event is then an increase, not a new series.
  for (const market of symbols) {
    metrics.slotsWithoutPrice.inc({ market }, 0);
    metrics.slotsDamaged.set({ market }, 0);
  }
  for (const status of ["won", "lost", "needs_backfill"]) metrics.thesesSettled.inc({ status }, 0);
  return metrics;
}
