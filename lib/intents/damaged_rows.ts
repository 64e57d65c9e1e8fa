import type { Logger } from "@logtape/logtape";
import type { StoreDamagedError } from "./intent.ts";

/** The damage that was found since the start, each row logged once. */
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
    if (this.#found.has(key)) return;
    this.#found.set(key, damage);
    this.#log.error("{reason}. Nothing that depends on it is sent: restore a backup", {
      event: "store_damaged",
      key,
      reason,
    });
  }
}
