import { Counter, type Registry } from "prom-client";

/** Figures of the bridge. */
export class BridgeMetrics {
  readonly #deposits: Counter<"outcome">;

  constructor(registry: Registry) {
    this.#deposits = new Counter({
      name: "bridge_deposits_total",
      help: "Deposits that reached a final state, by outcome: committed or failed.",
      labelNames: ["outcome"],
      registers: [registry],
    });
  }

  /** Counts a deposit that reached its final state. */
  depositEnded(outcome: "committed" | "failed"): void {
    this.#deposits.inc({ outcome });
  }
}
