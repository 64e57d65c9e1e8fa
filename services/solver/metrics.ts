import type { Context, MiddlewareHandler } from "hono";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { RangemakerError } from "../../lib/errors.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";
import type { Hedge } from "./execution/hedge.ts";

/** Seconds to quote: usually well below a millisecond. */
const QUOTE_BUCKETS = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1];

/** Seconds to hedge: up to the longest delay that can be set. */
const HEDGE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Units of an amount per USDC. */
const USDC_UNITS = 1e6;

/** Prometheus metrics of the solver. */
export class SolverMetrics {
  readonly #registry: Registry;
  readonly #quotes: Counter<"kind" | "outcome">;
  readonly #quoteTime: Histogram<"kind">;
  readonly #executions: Counter<"outcome">;
  readonly #executeAnswers: Counter<"outcome">;
  readonly #signatureFailures: Counter;
  readonly #hedgeTime: Histogram<"outcome">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registry = registry;
    this.#quotes = new Counter({
      name: "solver_quotes_total",
      help: "Answers to POST /quote and /estimate, by kind, and by code of the refusal or quoted.",
      labelNames: ["kind", "outcome"],
      registers,
    });
    this.#quoteTime = new Histogram({
      name: "solver_quote_seconds",
      help: "Time to answer POST /quote and /estimate, by kind.",
      labelNames: ["kind"],
      buckets: QUOTE_BUCKETS,
      registers,
    });
    this.#executions = new Counter({
      name: "solver_executions_total",
      help: "Executions that reached a final state here, by outcome: committed or failed.",
      labelNames: ["outcome"],
      registers,
    });
    this.#executeAnswers = new Counter({
      name: "solver_execute_answers_total",
      help: "Answers to POST /execute, by code of the refusal or executed.",
      labelNames: ["outcome"],
      registers,
    });
    this.#signatureFailures = new Counter({
      name: "solver_signature_failures_total",
      help: "Executions whose signature of solver or user failed its check.",
      registers,
    });
    this.#hedgeTime = new Histogram({
      name: "solver_hedge_seconds",
      help: "Time that hedges took, by outcome: hedged, or the code of the failure.",
      labelNames: ["outcome"],
      buckets: HEDGE_BUCKETS,
      registers,
    });
  }

  /** Reports the exposure at every scrape. */
  watchExposure(exposure: ExposureBook): void {
    const registers = [this.#registry];
    new Gauge({
      name: "solver_exposure_usdc",
      help: "What the solver may lose on open theses and executions under way.",
      registers,
      collect() {
        this.set(Number(exposure.total) / USDC_UNITS);
      },
    });
    new Gauge({
      name: "solver_exposure_complete",
      help: "1 where all open theses are known, 0 where the core node is not followed.",
      registers,
      collect() {
        this.set(exposure.complete ? 1 : 0);
      },
    });
  }

  /** Counts and times the answers of a quoting route. */
  quoting(kind: "quote" | "estimate"): MiddlewareHandler {
    return async (c, next) => {
      const startedMs = performance.now();
      await next();
      this.#quoteTime.observe({ kind }, (performance.now() - startedMs) / 1000);
      this.#quotes.inc({ kind, outcome: outcomeOf(c, "quoted") });
    };
  }

  /** Counts the answers of `POST /execute`. */
  readonly executing: MiddlewareHandler = async (c, next) => {
    await next();
    this.#executeAnswers.inc({ outcome: outcomeOf(c, "executed") });
    if (c.res.status === 401) this.#signatureFailures.inc();
  };

  /** Counts an execution that reached its final state. */
  executionEnded(outcome: "committed" | "failed"): void {
    this.#executions.inc({ outcome });
  }

  /** Measures how long a hedge takes, and how it ends. */
  timed(hedge: Hedge): Hedge {
    return {
      expectedMs: hedge.expectedMs,
      cover: async (quoteHash, quote) => {
        const startedMs = performance.now();
        let outcome = "hedged";
        try {
          await hedge.cover(quoteHash, quote);
        } catch (thrown) {
          outcome = thrown instanceof RangemakerError ? thrown.code : "INTERNAL_ERROR";
          throw thrown;
        } finally {
          this.#hedgeTime.observe({ outcome }, (performance.now() - startedMs) / 1000);
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
