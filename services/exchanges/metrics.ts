import type { Registry } from "prom-client";
import { metricsIn } from "../../lib/http/metrics.ts";
import type { Exchange } from "./exchange.ts";

/** Declares the metrics of the stand-ins; process metrics are declared elsewhere. */
export function createExchangesMetrics(registry: Registry, exchanges: readonly Exchange[]) {
  const { counter, scrapedGauges } = metricsIn(registry);
  scrapedGauges(
    "exchanges_connections",
    "Open connections, by provider.",
    ["provider"],
    () => exchanges.map(({ dialect: { provider }, connections }) => [{ provider }, connections]),
  );
  return {
    trades: counter("exchanges_trades_total", "Trades that happened, by provider.", "provider"),
  };
}
