import type { Logger } from "@logtape/logtape";
import type { StoreDamagedError } from "./errors.ts";

/** Most damaged rows that are remembered, counted and logged. */
const DAMAGED_ROWS_MAX = 1_000;

/** The damaged rows found since the start; each is logged once. */
export class DamagedRows {
  readonly #log: Logger;
  readonly #found = new Map<string | undefined, StoreDamagedError>();

  constructor(log: Logger) {
    this.#log = log;
  }

  get size(): number {
    return this.#found.size;
  }

  get first(): StoreDamagedError | undefined {
    return this.#found.values().next().value;
  }

  report(damage: StoreDamagedError): void {
    const { key, message: reason } = damage;
    if (this.#found.has(key) || this.#found.size === DAMAGED_ROWS_MAX) return;
    this.#found.set(key, damage);
    const facts = { event: "store_damaged", key, reason };
    this.#log.error("{reason}. Nothing that depends on it is sent: restore a backup", facts);
  }
}
