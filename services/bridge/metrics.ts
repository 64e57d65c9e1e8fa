import type { Counter, Histogram, Registry } from "prom-client";
import { metricsIn } from "../../lib/http/metrics.ts";
import type { Intent } from "../../lib/intents/intent.ts";

/** Buckets of the time to commit, in seconds: an instant node to one that was down for minutes. */
const COMMIT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export class BridgeMetrics {
  readonly #deposits: Counter<"outcome">;
  readonly #requests: Counter<"status">;
  readonly #timeToCommit: Histogram;
  readonly #retries: Counter;
  readonly #signatureFailures: Counter;

  /** @param countPending Counts the deposits without a final state, at each scrape. */
  constructor(registry: Registry, countPending: () => Promise<number>) {
    const { counter, histogram, scrapedGauge } = metricsIn(registry);
    this.#deposits = counter(
      "bridge_deposits_total",
      "Deposits that reached a final state here, by outcome: committed or failed.",
      "outcome",
    );
    // Created at the start, so that the first failure is an increase and not a new series.
    for (const outcome of ["committed", "failed"]) this.#deposits.inc({ outcome }, 0);
    this.#requests = counter(
      "bridge_deposit_requests_total",
      "Answers to POST /deposit, by HTTP status.",
      "status",
    );
    this.#timeToCommit = histogram(
      "bridge_time_to_commit_seconds",
      "Time from recording a deposit until it is committed.",
      COMMIT_BUCKETS,
    );
    this.#retries = counter(
      "bridge_retries_total",
      "Attempts at a deposit that ended without an answer of the node.",
    );
    this.#signatureFailures = counter(
      "bridge_signature_failures_total",
      "Deposit requests whose signature failed its check.",
    );
    scrapedGauge(
      "bridge_deposits_pending",
      "Deposits without a final state, of all bridges that share the database.",
      // A store that cannot be read must not fail the whole scrape.
      () => countPending().catch(() => Number.NaN),
    );
  }

  countAnswer(status: number): void {
    this.#requests.inc({ status });
    if (status === 401) this.#signatureFailures.inc();
  }

  countRetry(): void {
    this.#retries.inc();
  }

  countFinished({ state, createdAtMs, updatedAtMs }: Intent): void {
    this.#deposits.inc({ outcome: state });
    if (state === "committed") this.#timeToCommit.observe((updatedAtMs - createdAtMs) / 1000);
  }
}

/** Reports on every scrape whether the bridge has the relayer permission. */
export function registerPermission(registry: Registry, isRelayer: () => boolean): void {
  metricsIn(registry).scrapedGauge(
    "bridge_relayer_permitted",
    "0 after the node answered that the bridge lacks the relayer permission, otherwise 1.",
    () => Number(isRelayer()),
  );
}
