import { crc32 } from "node:zlib";
import { type Database, type SqlValue, StorageError } from "./database.ts";

/** Key of a row. */
export type Key = SqlValue;

/** Number and sum of the checksums of a table's rows: a page that was lost changes them. */
export interface TableTotals {
  rows: number;
  sum: number;
}

/** Sums of checksums are counted modulo this, which a number represents exactly. */
export const SUM_MODULUS = 2 ** 48;

/** Converts values to text and back. */
export interface Codec<V> {
  encode(value: V): string;
  decode(text: string): V;
}

/** A row is not what was written. */
export class DamagedRowError extends StorageError {
  constructor(table: string, key: Key) {
    super(`Row ${keyText(key)} of the table ${table} is damaged: restore a backup`, {
      isFinal: true,
    });
  }
}

/** One table: a text by key, each row with a checksum over table, key and text. */
export class Rows<V> {
  readonly #db: Database;
  readonly #table: string;
  readonly #codec: Codec<V>;
  readonly #totals: TableTotals | undefined;
  readonly #sql: ReturnType<typeof statementsOf>;

  /** @param totals Kept up to date; undefined for a table without. */
  constructor(db: Database, table: string, codec: Codec<V>, totals?: TableTotals) {
    this.#db = db;
    this.#table = table;
    this.#codec = codec;
    this.#totals = totals;
    this.#sql = statementsOf(table);
  }

  has(key: Key): boolean {
    return this.get(key) !== undefined;
  }

  /** @throws {DamagedRowError} */
  get(key: Key): V | undefined {
    const row = this.#db.get(this.#sql.get, key);
    return row && this.#decode(row);
  }

  /** Adds a row with a new key. */
  add(key: Key, value: V): void {
    this.#count(1, this.#write(this.#sql.add, key, value));
  }

  /** Adds or replaces a row. */
  put(key: Key, value: V): void {
    if (this.#totals === undefined) return void this.#write(this.#sql.put, key, value);
    const before = this.#db.get(this.#sql.checksum, key);
    if (before === undefined) return this.add(key, value);
    this.#count(0, this.#write(this.#sql.replace, key, value) - Number(before.crc));
  }

  /** Deletes a row if it exists. */
  delete(key: Key): void {
    const deleted = this.#db.get(this.#sql.delete, key);
    if (deleted !== undefined) this.#count(-1, -Number(deleted.crc));
  }

  /** The rows that the end of a query selects: all by default. @throws {DamagedRowError} */
  select(end = "", ...values: SqlValue[]): [Key, V][] {
    return this.#db.all(`${this.#sql.select} ${end}`, ...values)
      .map((row) => [row.key as Key, this.#decode(row)]); // as declared
  }

  #decode(row: Record<string, unknown>): V {
    const { key, value, crc } = row as { key: Key; value: string; crc: number }; // as declared
    if (checksumOf(this.#table, key, value) !== crc) throw new DamagedRowError(this.#table, key);
    return this.#codec.decode(value);
  }

  /** @returns The checksum of the row. */
  #write(sql: string, key: Key, value: V): number {
    const text = this.#codec.encode(value);
    const checksum = checksumOf(this.#table, key, text);
    this.#db.run(sql, text, checksum, key);
    return checksum;
  }

  #count(rows: number, sum: number): void {
    if (this.#totals === undefined) return;
    this.#totals.rows += rows;
    this.#totals.sum = (this.#totals.sum + sum + SUM_MODULUS) % SUM_MODULUS;
  }
}

/** The declaration of a table; with `isOrdered`, rows have a `rowid` in the order of their addition. */
export function declaration(
  table: string,
  keyType: "INTEGER" | "TEXT" | "BLOB",
  { isOrdered = keyType === "INTEGER" } = {},
): string {
  const columns = `key ${keyType} PRIMARY KEY NOT NULL, value TEXT NOT NULL, crc INTEGER NOT NULL`;
  return `CREATE TABLE ${table} (${columns}) STRICT${isOrdered ? "" : ", WITHOUT ROWID"}`;
}

/** CRC-32 of a row. */
function checksumOf(table: string, key: Key, text: string): number {
  return crc32(`${table}\n${keyText(key)}\n${text}`);
}

/** A damaged page may have a key of NULL in spite of its column, which is then written as such. */
function keyText(key: Key): string {
  return key instanceof Uint8Array ? key.toHex() : `${key}`;
}

function statementsOf(table: string) {
  const select = `SELECT key, value, crc FROM ${table}`;
  return {
    select,
    get: `${select} WHERE key = ?`,
    checksum: `SELECT crc FROM ${table} WHERE key = ?`,
    add: `INSERT INTO ${table} (value, crc, key) VALUES (?, ?, ?)`,
    put: `INSERT OR REPLACE INTO ${table} (value, crc, key) VALUES (?, ?, ?)`,
    replace: `UPDATE ${table} SET value = ?, crc = ? WHERE key = ?`,
    delete: `DELETE FROM ${table} WHERE key = ? RETURNING crc`,
  };
}
