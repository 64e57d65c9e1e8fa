import { crc32 } from "node:zlib";
import { PriceRing, SLOT_BYTES } from "../../../lib/prices/price_ring.ts";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import type { Database } from "./database.ts";

/** Slots of one row. */
const CELL_SLOTS = 64;

/** Bytes of a slot in a row: its price, then a CRC-32 of market, slot and price. Zeros: no price. */
const RECORD_BYTES = 12;

const TABLE = "prices";

/** The declaration of the table. */
export const DECLARATION =
  `CREATE TABLE ${TABLE} (market TEXT NOT NULL, cell INTEGER NOT NULL, slots BLOB NOT NULL, ` +
  "PRIMARY KEY (market, cell)) STRICT, WITHOUT ROWID";

/**
 * The price rings in the database: a row per 64 slots, deleted when the ring has passed it. Each slot
 * has a checksum of its own, so that a damaged one counts as missing, and no other.
 */
export class PriceCells {
  readonly #db: Database;
  /** The last slot of each market that is stored. */
  readonly #stored = new Map<Market, number>();
  /** Slots that were filled since the last commit. */
  readonly #filled = new Map<Market, number[]>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Reads the ring of a market. @returns The ring, and how many of its slots are damaged. */
  load(market: Market, slots: number): { ring: PriceRing; damagedSlots: number } {
    const bytes = new Uint8Array(slots * SLOT_BYTES);
    const view = new DataView(bytes.buffer);
    let damagedSlots = 0;
    const sql = `SELECT cell, slots FROM ${TABLE} WHERE market = ? ORDER BY cell`;
    for (const row of this.#db.all(sql, market.symbol)) {
      const { cell, slots: records } = row;
      // A damaged row may have values of other types than declared.
      if (typeof cell !== "number" || !(records instanceof Uint8Array)) {
        damagedSlots += CELL_SLOTS;
        continue;
      }
      const stored = new DataView(records.buffer, records.byteOffset, records.byteLength);
      for (let index = 0; (index + 1) * RECORD_BYTES <= records.length; index++) {
        const price = stored.getBigUint64(index * RECORD_BYTES);
        const checksum = stored.getUint32(index * RECORD_BYTES + 8);
        if (price === 0n && checksum === 0) continue;
        const slot = cell * CELL_SLOTS + index;
        if (checksum !== checksumOf(market, slot, price)) damagedSlots += 1;
        else {
          view.setFloat64(slot % slots * SLOT_BYTES, slot * SLOT_MS, true);
          view.setBigUint64(slot % slots * SLOT_BYTES + 8, price, true);
        }
      }
    }
    const ring = PriceRing.fromBytes(bytes);
    this.#stored.set(market, newestSlot(ring));
    return { ring, damagedSlots };
  }

  /** Whether slots were filled since the last commit. */
  get hasFilled(): boolean {
    return this.#filled.size > 0;
  }

  /** A slot was filled: {@link save} stores it. */
  addFilled(market: Market, time: number): void {
    const filled = this.#filled.get(market);
    if (filled === undefined) this.#filled.set(market, [time / SLOT_MS]);
    else filled.push(time / SLOT_MS);
  }

  /** Stores what is new. @returns To be called when that is committed. */
  save(rings: ReadonlyMap<Market, PriceRing>): () => void {
    const newest = new Map<Market, number>();
    for (const [market, ring] of rings) {
      newest.set(market, newestSlot(ring));
      for (const cell of this.#changedCells(market, ring)) this.#put(market, ring, cell);
      const oldestCell = Math.floor(ring.oldest / SLOT_MS / CELL_SLOTS);
      this.#db.run(`DELETE FROM ${TABLE} WHERE market = ? AND cell < ?`, market.symbol, oldestCell);
    }
    return () => {
      this.#filled.clear();
      for (const [market, slot] of newest) this.#stored.set(market, slot);
    };
  }

  /** Forgets what was filled since the last commit. @returns The rings without it. */
  rollBack(rings: ReadonlyMap<Market, PriceRing>): Map<Market, PriceRing> {
    const without = [...rings].map(([market, ring]) =>
      [market, ringWithout(ring, this.#filled.get(market) ?? [])] as const
    );
    this.#filled.clear();
    return new Map(without);
  }

  #changedCells(market: Market, ring: PriceRing): Set<number> {
    const cellOf = (slot: number) => Math.floor(slot / CELL_SLOTS);
    const cells = new Set((this.#filled.get(market) ?? []).map(cellOf));
    const from = Math.max((this.#stored.get(market) ?? -1) + 1, ring.oldest / SLOT_MS);
    const to = newestSlot(ring);
    for (let cell = cellOf(from); cell * CELL_SLOTS <= to; cell++) cells.add(cell);
    return cells;
  }

  #put(market: Market, ring: PriceRing, cell: number): void {
    const bytes = new Uint8Array(CELL_SLOTS * RECORD_BYTES);
    const view = new DataView(bytes.buffer);
    for (let index = 0; index < CELL_SLOTS; index++) {
      const slot = cell * CELL_SLOTS + index;
      const price = ring.at(slot * SLOT_MS);
      if (price === undefined) continue;
      view.setBigUint64(index * RECORD_BYTES, price);
      view.setUint32(index * RECORD_BYTES + 8, checksumOf(market, slot, price));
    }
    const sql = `INSERT OR REPLACE INTO ${TABLE} (market, cell, slots) VALUES (?, ?, ?)`;
    this.#db.run(sql, market.symbol, cell, bytes);
  }
}

function newestSlot({ newest }: PriceRing): number {
  return newest === undefined ? -1 : newest / SLOT_MS;
}

function ringWithout(ring: PriceRing, slots: readonly number[]): PriceRing {
  if (slots.length === 0) return ring;
  const bytes = ring.bytes.slice();
  for (const slot of slots) {
    const at = slot % ring.slots * SLOT_BYTES;
    bytes.fill(0, at, at + SLOT_BYTES);
  }
  const without = PriceRing.fromBytes(bytes);
  if (ring.newest !== undefined) without.skipTo(ring.newest);
  return without;
}

function checksumOf({ symbol }: Market, slot: number, price: bigint): number {
  // Never 0, which stands for a slot without a price.
  return crc32(`${symbol} ${slot} ${price}`) || 1;
}
