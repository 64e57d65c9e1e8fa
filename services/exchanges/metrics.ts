import { Counter, Gauge, type Registry } from "prom-client";
import type { Venue } from "./venue.ts";

/** Declares the stand-ins' metrics, besides those of their process, on a registry. */
export function createExchangesMetrics(registers: Registry[], venues: readonly Venue[]) {
  new Gauge({
    name: "exchanges_connections",
    help: "Open connections, by provider.",
    labelNames: ["provider"],
    registers,
    collect() {
      for (const { dialect, connections } of venues) {
        this.set({ provider: dialect.provider }, connections);
      }
    },
  });
  return {
    trades: new Counter({
      name: "exchanges_trades_total",
      help: "Trades that happened, by provider.",
      labelNames: ["provider"],
      registers,
    }),
  };
}
