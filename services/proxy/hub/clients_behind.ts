import type { HubClient } from "./hub_client.ts";

/** A client that is behind and took nothing this often in a row does not read for now. */
const VAIN_DRAINS_MAX = 32;

/** How often clients about to miss notifications are looked for while the ring goes round once. */
const RESCUES_PER_RING = 8;

/** The clients whose connection could not take everything that was due. */
export class ClientsBehind {
  readonly #all = new Set<HubClient>();
  readonly #reading = new Set<HubClient>();
  readonly #capacity: number;
  readonly #rescueEvery: number;
  /** Ring position at which clients about to miss something are looked for next. */
  #rescueAt = 0;

  /** @param capacity That of the ring which they read. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#rescueEvery = Math.max(1, Math.floor(capacity / RESCUES_PER_RING));
  }

  /** All of them. */
  get all(): ReadonlySet<HubClient> {
    return this.#all;
  }

  /** Those that took something lately, longest ago first. */
  get reading(): ReadonlySet<HubClient> {
    return this.#reading;
  }

  /** A client is behind still, after its connection took `sent` notifications. */
  note(client: HubClient, sent: number): void {
    this.#all.add(client);
    this.#reading.delete(client); // and added as the last one
    client.vainDrains = sent > 0 ? 0 : client.vainDrains + 1;
    if (client.vainDrains < VAIN_DRAINS_MAX) this.#reading.add(client);
  }

  /** A client has caught up, or is gone. */
  remove(client: HubClient): void {
    this.#all.delete(client);
    this.#reading.delete(client);
    client.vainDrains = 0;
  }

  /** Whether {@link atRisk} is to be asked before the next message enters the ring. */
  isRescueDue(ringEnd: number): boolean {
    return this.#all.size > 0 && ringEnd >= this.#rescueAt;
  }

  /** Clients that would miss something before this is asked again. */
  atRisk(ringEnd: number): HubClient[] {
    this.#rescueAt = ringEnd + this.#rescueEvery;
    const keptFrom = this.#rescueAt - this.#capacity;
    return [...this.#all].filter(({ cursor }) => cursor !== undefined && cursor < keptFrom);
  }
}
