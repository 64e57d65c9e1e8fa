import { Counter, Gauge, type Registry } from "prom-client";
import type { Venue } from "./venue.ts";

/** The metrics of the stand-ins besides those of their process. */
export interface ExchangesMetrics {
  trades: Counter<"provider">;
}

/** Declares the stand-ins' metrics on a registry. */
export function createExchangesMetrics(
  registers: Registry[],
  venues: readonly Venue[],
): ExchangesMetrics {
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
