import type { HubClient } from "./hub_client.ts";

/** A client that is behind and accepted nothing this many times in a row counts as not reading. */
const VAIN_DRAINS_MAX = 32;

/** Searches for clients about to miss notifications per lap of the ring. */
const RESCUES_PER_RING = 8;

/** The clients whose connection had no room for everything due. */
export class ClientsBehind {
  readonly #all = new Set<HubClient>();
  readonly #reading = new Set<HubClient>();
  readonly #capacity: number;
  readonly #rescueEvery: number;
  /** Ring position of the next search for clients about to miss something. */
  #rescueAt = 0;

  /** @param capacity Capacity of the ring that they read. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#rescueEvery = Math.max(1, Math.floor(capacity / RESCUES_PER_RING));
  }

  /** All of them. */
  get all(): ReadonlySet<HubClient> {
    return this.#all;
  }

  /** Those that accepted something lately, longest ago first. */
  get reading(): ReadonlySet<HubClient> {
    return this.#reading;
  }

  /** A client is still behind, after its connection accepted `sent` notifications. */
  note(client: HubClient, sent: number): void {
    this.#all.add(client);
    this.#reading.delete(client); // and add it as the last one
    client.vainDrains = sent > 0 ? 0 : client.vainDrains + 1;
    if (client.vainDrains < VAIN_DRAINS_MAX) this.#reading.add(client);
  }

  /** A client has caught up, or is gone. */
  remove(client: HubClient): void {
    this.#all.delete(client);
    this.#reading.delete(client);
    client.vainDrains = 0;
  }

  /** Whether to call {@link atRisk} before the next message enters the ring. */
  isRescueDue(ringEnd: number): boolean {
    return this.#all.size > 0 && ringEnd >= this.#rescueAt;
  }

  /** Clients that would miss something before the next call. */
  atRisk(ringEnd: number): HubClient[] {
    this.#rescueAt = ringEnd + this.#rescueEvery;
    const keptFrom = this.#rescueAt - this.#capacity;
    return [...this.#all].filter(({ cursor }) => cursor !== undefined && cursor < keptFrom);
  }
}
