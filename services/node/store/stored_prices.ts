import { crc32 } from "node:zlib";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import type { Market, Markets } from "../../../lib/protocol/markets.ts";
import type { Database } from "./database.ts";

/** Slots of one cell, which is a row of the table. */
const CELL_SLOTS = 64;

/** Bytes of a slot in a row: price, CRC-32 of market, slot and price. Zeros: no price. */
const STORED_SLOT_BYTES = 12;

/**
 * The price rings, and their copy in the database: a row per 64 slots, deleted once the ring has
 * passed it. Each slot has its own checksum, so that only a damaged slot counts as missing, not its
 * neighbours.
 */
export class StoredPrices {
  readonly rings: ReadonlyMap<Market, PriceRing>;
  readonly damagedSlots = new Map<Market, number>();
  readonly #db: Database;
  /** The last slot of each market that is stored. */
  readonly #stored: Map<Market, number>;

  constructor(db: Database, markets: Markets, ringSlots: number) {
    this.#db = db;
    this.rings = new Map(markets.list.map((market) => [market, this.#load(market, ringSlots)]));
    this.#stored = new Map(Array.from(this.rings, ([market, ring]) => [market, lastSlotOf(ring)]));
  }

  /** Time of the newest price of all markets; 0 if there is none. */
  get newestMs(): number {
    return Math.max(0, ...this.rings.values().map(({ newestMs = 0 }) => newestMs));
  }

  /** Whether a price of a symbol is stored, also if it is damaged. */
  hasStored(symbol: string): boolean {
    return this.#db.get("SELECT cell FROM prices WHERE market = ?", symbol) !== undefined;
  }

  /** Writes new slots of markets. @returns Marks them as stored; call it after the commit. */
  save(markets: Iterable<Market> = this.rings.keys()): () => void {
    const saved: [market: Market, last: number][] = [];
    for (const market of markets) {
      const ring = this.rings.get(market)!; // one for each
      const last = lastSlotOf(ring);
      saved.push([market, last]);
      const firstUnstored = (this.#stored.get(market) ?? -1) + 1;
      const fromMs = Math.max(firstUnstored * SLOT_MS, ring.oldestMs);
      // A large ring of a new chain is empty before its first price.
      const [gap] = ring.checkRange(fromMs, (last + 1) * SLOT_MS).missing;
      const firstMs = gap?.from === fromMs ? gap.to : fromMs;
      for (let cell = cellOf(firstMs / SLOT_MS); cell <= cellOf(last); cell++) {
        this.#put(market, ring, cell);
      }
      const oldestCell = cellOf(ring.oldestMs / SLOT_MS);
      this.#db.run("DELETE FROM prices WHERE market = ? AND cell < ?", market.symbol, oldestCell);
    }
    return () => saved.forEach(([market, last]) => this.#stored.set(market, last));
  }

  #load(market: Market, slots: number): PriceRing {
    const ring = new PriceRing(slots);
    let damagedSlots = 0;
    const sql = "SELECT cell, slots FROM prices WHERE market = ? ORDER BY cell";
    for (const { cell, slots: records } of this.#db.all(sql, market.symbol)) {
      // A damaged row may have values of other types than declared.
      if (typeof cell !== "number" || !(records instanceof Uint8Array)) {
        damagedSlots += CELL_SLOTS;
        continue;
      }
      const stored = new DataView(records.buffer, records.byteOffset, records.byteLength);
      for (let index = 0; (index + 1) * STORED_SLOT_BYTES <= records.length; index++) {
        const price = stored.getBigUint64(index * STORED_SLOT_BYTES);
        const checksum = stored.getUint32(index * STORED_SLOT_BYTES + 8);
        if (price === 0n && checksum === 0) continue;
        const slot = cell * CELL_SLOTS + index;
        // In a damaged table, rows may be out of order.
        const isNew = ring.newestMs === undefined || slot * SLOT_MS > ring.newestMs;
        if (isNew && checksum === checksumOf(market, slot, price)) {
          ring.append(slot * SLOT_MS, price);
        } else damagedSlots += 1;
      }
    }
    if (damagedSlots > 0) this.damagedSlots.set(market, damagedSlots);
    return ring;
  }

  #put(market: Market, ring: PriceRing, cell: number): void {
    const bytes = new Uint8Array(CELL_SLOTS * STORED_SLOT_BYTES);
    const view = new DataView(bytes.buffer);
    let isEmpty = true;
    for (let index = 0; index < CELL_SLOTS; index++) {
      const slot = cell * CELL_SLOTS + index;
      const price = ring.at(slot * SLOT_MS);
      if (price === undefined) continue;
      isEmpty = false;
      view.setBigUint64(index * STORED_SLOT_BYTES, price);
      view.setUint32(index * STORED_SLOT_BYTES + 8, checksumOf(market, slot, price));
    }
    if (isEmpty) return;
    const sql = "INSERT OR REPLACE INTO prices (market, cell, slots) VALUES (?, ?, ?)";
    this.#db.run(sql, market.symbol, cell, bytes);
  }
}

/** The slot of the newest price; -1 without one. */
function lastSlotOf({ newestMs = -SLOT_MS }: PriceRing): number {
  return newestMs / SLOT_MS;
}

function cellOf(slot: number): number {
  return Math.floor(slot / CELL_SLOTS);
}

function checksumOf({ symbol }: Market, slot: number, price: bigint): number {
  return crc32(`${symbol} ${slot} ${price}`);
}
