import { Counter, type Registry } from "prom-client";

/** Figures of the solver. */
export class SolverMetrics {
  readonly #executions: Counter<"outcome">;

  constructor(registry: Registry) {
    this.#executions = new Counter({
      name: "solver_executions_total",
      help: "Executions that reached a final state, by outcome: committed or failed.",
      labelNames: ["outcome"],
      registers: [registry],
    });
  }

  /** Counts an execution that reached its final state. */
  executionEnded(outcome: "committed" | "failed"): void {
    this.#executions.inc({ outcome });
  }
}
