import type { Registry } from "prom-client";
import { metricsIn } from "../../lib/http/metrics.ts";
import type { Venue } from "./venue.ts";

/** Declares the metrics of the stand-ins; process metrics are declared elsewhere. */
export function createExchangesMetrics(registry: Registry, venues: readonly Venue[]) {
  const { counter, scrapedGauges } = metricsIn(registry);
  scrapedGauges(
    "exchanges_connections",
    "Open connections, by provider.",
    ["provider"],
    () => venues.map(({ dialect: { provider }, connections }) => [{ provider }, connections]),
  );
  return {
    trades: counter("exchanges_trades_total", "Trades that happened, by provider.", "provider"),
  };
}
