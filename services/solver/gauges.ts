import { Gauge, type Registry } from "prom-client";
import { metricsIn } from "../../lib/http/metrics.ts";
import type { Account } from "../../lib/protocol/account.ts";
import type { MarketCalibration } from "../../lib/protocol/answers.ts";
import { USDC_UNITS } from "./metrics.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";

/** Reports the exposure and its limit on every scrape. */
export function registerExposure(registry: Registry, exposure: ExposureBook): void {
  const { scrapedGauge } = metricsIn(registry);
  scrapedGauge(
    "solver_exposure_usdc",
    "The most that can be lost, over all price paths, on open theses and executions under way.",
    () => Number(exposure.exposure) / USDC_UNITS,
  );
  scrapedGauge(
    "solver_exposure_complete",
    "1 while all open theses are known, 0 while the core node is not followed.",
    () => Number(exposure.isComplete),
  );
  const limit = new Gauge({
    name: "solver_exposure_limit_usdc",
    help: "Limit of solver_exposure_usdc (--max-exposure); absent without a limit.",
    registers: [registry],
  });
  if (exposure.max === undefined) limit.remove();
  else limit.set(Number(exposure.max) / USDC_UNITS);
}

/** Reports the calibration of the probabilities on every scrape, measured on hypothetical boxes. */
export function registerCalibration(
  registry: Registry,
  read: () => readonly MarketCalibration[],
): void {
  const { scrapedGauges } = metricsIn(registry);
  const windows = () =>
    read().flatMap(({ symbol: market, horizons }) =>
      horizons.map((horizon) => ({
        ...horizon,
        labels: { market, horizon_seconds: horizon.horizonMs / 1_000 },
      }))
    );
  const boxes = () =>
    windows().flatMap(({ labels, boxes }) =>
      boxes.map((box) => ({ ...box, labels: { ...labels, predicted: box.predicted } }))
    );
  scrapedGauges(
    "solver_calibration_difference",
    "Share of hypothetical boxes that held minus their predicted probability, by market, length of " +
      "the window and predicted probability.",
    ["market", "horizon_seconds", "predicted"],
    () => boxes().map(({ labels, held, predicted }) => [labels, held - predicted]),
  );
  scrapedGauges(
    "solver_calibration_windows",
    "Windows behind the calibration, by market and length; older ones count less.",
    ["market", "horizon_seconds"],
    () => windows().map(({ labels, windows }) => [labels, windows]),
  );
  scrapedGauges(
    "solver_calibration_error",
    "Standard error by chance alone of solver_calibration_difference.",
    ["market", "horizon_seconds", "predicted"],
    () => boxes().map(({ labels, error }) => [labels, error]),
  );
}

/**
 * Reports the solver's account as read by the previous scrape, since a scrape does not wait for the
 * node. Reports nothing while it cannot be read.
 *
 * @returns Waits until no scrape is still reading the account.
 */
export function registerAccount(
  registry: Registry,
  read: () => Promise<Pick<Account, "balance" | "locked">>,
): () => Promise<void> {
  let last: Pick<Account, "balance" | "locked"> | undefined;
  let reading: Promise<void> = Promise.resolve();
  const watch = (name: string, help: string, part: "balance" | "locked") =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        if (last === undefined) this.remove();
        else this.set(Number(last[part]) / USDC_UNITS);
        // Without an answer of the node, the gauge has no value.
        reading = read().catch(() => undefined).then((account) => {
          last = account;
        });
      },
    });
  watch("solver_balance_usdc", "Balance of the solver's account for new bets.", "balance");
  watch("solver_locked_usdc", "Amount of the solver's account in open theses.", "locked");
  return () => reading;
}
