import type { Context, MiddlewareHandler } from "hono";
import { type Counter, Gauge, type Histogram, type Registry } from "prom-client";
import { errorCodeOf, RangemakerError } from "../../lib/errors.ts";
import { metricsIn } from "../../lib/http/metrics.ts";
import type { Intent } from "../../lib/intents/intent.ts";
import type { Account } from "../../lib/protocol/account.ts";
import type { MarketCalibration } from "../../lib/protocol/answers.ts";
import type { MarketPair, Markets } from "../../lib/protocol/markets.ts";
import type { Bet } from "../../lib/protocol/bet.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import type { Hedge } from "./execution/hedge.ts";
import { isPricingRefusal } from "./pricing/strategy.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";

/** Seconds to quote: usually well below a millisecond. */
const QUOTE_BUCKETS = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1];

/** Seconds to hedge: up to the longest possible `--hedge-delay-ms`. */
const HEDGE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Units of an amount per USDC. */
const USDC_UNITS = 1e6;

/** Counters and times of requests, executions, hedges and settled bets. */
export class SolverMetrics {
  readonly #markets: Markets;
  readonly #quotes: Counter<"kind" | "outcome">;
  readonly #quoteTime: Histogram<"kind">;
  readonly #executions: Counter<"outcome">;
  readonly #executeAnswers: Counter<"outcome">;
  readonly #bets: Counter<"market">;
  readonly #settled: Counter<"part">;
  readonly #signatureFailures: Counter;
  readonly #hedgeTime: Histogram<"outcome">;

  constructor(registry: Registry, markets: Markets) {
    this.#markets = markets;
    const { counter, histogram } = metricsIn(registry);
    this.#quotes = counter(
      "solver_quotes_total",
      "Answers to POST /quote and /estimate, by kind and outcome: quoted, or the code of the refusal.",
      "kind",
      "outcome",
    );
    this.#quoteTime = histogram(
      "solver_quote_seconds",
      "Time to answer POST /quote and /estimate, by kind.",
      QUOTE_BUCKETS,
      "kind",
    );
    this.#executions = counter(
      "solver_executions_total",
      "Executions that reached a final state here, by outcome: committed, failed, or refused if " +
        "the price had moved at a recheck.",
      "outcome",
    );
    this.#executeAnswers = counter(
      "solver_execute_answers_total",
      "Answers to POST /execute, by code of the refusal or executed.",
      "outcome",
    );
    this.#bets = counter(
      "solver_bets_usdc_total",
      "Bets committed here, in USDC, by market.",
      "market",
    );
    this.#settled = counter(
      "solver_settled_usdc_total",
      "Settled bets, in USDC: all stakes, and the payouts that users were paid. Each counts at most " +
        "once: one is missing if the process died, or the database's answer was lost, at its release.",
      "part",
    );
    this.#signatureFailures = counter(
      "solver_signature_failures_total",
      "Executions whose signature of solver or user failed its check.",
    );
    this.#hedgeTime = histogram(
      "solver_hedge_seconds",
      "Time that hedges took, by outcome: hedged, or the code of the failure.",
      HEDGE_BUCKETS,
      "outcome",
    );
    this.#createSeries();
  }

  /** Series that exist from the start: then the first event is an increase, not a new series. */
  #createSeries(): void {
    for (const outcome of ["committed", "failed", "refused"]) this.#executions.inc({ outcome }, 0);
    for (const market of this.#markets.symbols) this.#bets.inc({ market }, 0);
    for (const part of ["stakes", "paid"]) this.#settled.inc({ part }, 0);
    this.#hedgeTime.zero({ outcome: "hedged" });
  }

  /** Counts and times the answers of a quoting route. */
  countQuotes(kind: "quote" | "estimate"): MiddlewareHandler {
    return async (c, next) => {
      const startedAtMs = performance.now();
      await next();
      this.#quoteTime.observe({ kind }, (performance.now() - startedAtMs) / 1000);
      this.#quotes.inc({ kind, outcome: outcomeOf(c, "quoted") });
    };
  }

  readonly countExecuteAnswers: MiddlewareHandler = async (c, next) => {
    await next();
    this.#executeAnswers.inc({ outcome: outcomeOf(c, "executed") });
    if (c.res.status === 401) this.#signatureFailures.inc();
  };

  /** Counts an execution that reached its final state. With a receipt, its failure is the node's. */
  countExecution({ state, receipt, failure }: Pick<Intent, "state" | "receipt" | "failure">): void {
    const isRefused = receipt === null && failure !== null && isPricingRefusal(failure.code);
    this.#executions.inc({ outcome: isRefused ? "refused" : state });
  }

  countCommittedBet({ base, quote, betAmount }: MarketPair & Pick<Bet, "betAmount">): void {
    const market = this.#markets.find(base, quote)?.symbol ?? "unknown";
    this.#bets.inc({ market }, Number(betAmount) / USDC_UNITS);
  }

  countSettledBet({ status, betAmount, payout }: Thesis): void {
    this.#settled.inc({ part: "stakes" }, Number(betAmount) / USDC_UNITS);
    if (status === "won") this.#settled.inc({ part: "paid" }, Number(payout) / USDC_UNITS);
  }

  /** Measures the duration and the outcome of a hedge. */
  timeHedge(hedge: Hedge): Hedge {
    return {
      cover: async (quoteHash, quote) => {
        const startedAtMs = performance.now();
        let outcome = "hedged";
        try {
          await hedge.cover(quoteHash, quote);
        } catch (thrown) {
          outcome = errorCodeOf(thrown);
          throw thrown;
        } finally {
          this.#hedgeTime.observe({ outcome }, (performance.now() - startedAtMs) / 1000);
        }
      },
    };
  }
}

/** The error code, or the HTTP status of an error without one: a finite list. */
function outcomeOf(c: Context, success: string): string {
  if (c.res.ok) return success;
  return c.error instanceof RangemakerError ? c.error.code : `HTTP_${c.res.status}`;
}

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
  if (exposure.maxExposure === undefined) limit.remove();
  else limit.set(Number(exposure.maxExposure) / USDC_UNITS);
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

/** Reports the solver's account on every scrape, and nothing while it cannot be read. */
export function registerAccount(
  registry: Registry,
  read: () => Promise<Pick<Account, "balance" | "locked">>,
): void {
  const watch = (name: string, help: string, part: "balance" | "locked") =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const account = await read().catch(() => undefined);
        if (account === undefined) this.remove();
        else this.set(Number(account[part]) / USDC_UNITS);
      },
    });
  watch("solver_balance_usdc", "Balance of the solver's account for new bets.", "balance");
  watch("solver_locked_usdc", "Amount of the solver's account in open theses.", "locked");
}
