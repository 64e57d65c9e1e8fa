import { crc32 } from "node:zlib";
import type { Row, SqliteValue } from "../../../lib/sqlite.ts";
import { damaged, type Database } from "./database.ts";

/** Key of a row; keys of bytes are hex text. */
export type Key = number | string;

/** Types of the keys of tables. */
export type KeyType = "INTEGER" | "TEXT" | "BLOB";

/** Number of a table's rows, and sum of their checksums: the loss of a page changes them. */
export interface TableTotals {
  rows: number;
  sum: number;
}

/** Modulus of sums of checksums; a number represents the sums exactly. */
export const SUM_MODULUS = 2 ** 48;

/** Converts values to text and back. */
export interface Codec<V> {
  encode(value: V): string;
  decode(text: string): V;
}

/** A row that is not written yet; `value` is undefined for a deletion. */
interface Change<V> {
  value: V | undefined;
  /** The table has no row with this key. */
  isNew: boolean;
}

/**
 * One table of texts by key. Each row has a checksum over table, key and text. Changes stay in
 * memory until {@link write}: writing them together takes a third of the time.
 */
export class Table<V> {
  readonly #db: Database;
  readonly #name: string;
  readonly #keyType: KeyType;
  readonly #codec: Codec<V>;
  readonly #totals: TableTotals | undefined;
  readonly #sql: ReturnType<typeof buildStatements>;
  readonly #changes = new Map<Key, Change<V>>();

  /** @param totals Kept up to date by {@link write}; undefined for a table without. */
  constructor(
    db: Database,
    table: string,
    keyType: KeyType,
    codec: Codec<V>,
    totals?: TableTotals,
  ) {
    this.#db = db;
    this.#name = table;
    this.#keyType = keyType;
    this.#codec = codec;
    this.#totals = totals;
    this.#sql = buildStatements(table);
  }

  has(key: Key): boolean {
    return this.get(key) !== undefined;
  }

  /** @throws {StorageError} If the row is damaged. */
  get(key: Key): V | undefined {
    const change = this.#changes.get(key);
    if (change !== undefined) return change.value;
    const row = this.#db.get(this.#sql.get, this.#columnOf(key));
    return row && this.#decode(row);
  }

  /** Adds a row with a new key. */
  add(key: Key, value: V): void {
    this.#change(key, value, true);
  }

  /** Adds or replaces a row. */
  put(key: Key, value: V): void {
    this.#change(key, value, false);
  }

  /** Deletes a row if it exists. */
  delete(key: Key): void {
    this.#change(key, undefined, false);
  }

  write(): void {
    for (const [key, { value, isNew }] of this.#changes) {
      const column = this.#columnOf(key);
      const before = isNew ? undefined : this.#db.get(this.#sql.checksum, column);
      const crcBefore = Number(before?.crc ?? 0);
      if (value !== undefined) {
        const text = this.#codec.encode(value);
        const crc = checksumOf(this.#name, `${key}`, text);
        this.#db.run(before === undefined ? this.#sql.add : this.#sql.replace, text, crc, column);
        this.#count(before === undefined ? 1 : 0, crc - crcBefore);
      } else if (before !== undefined) {
        this.#db.run(this.#sql.delete, column);
        this.#count(-1, -crcBefore);
      }
    }
    this.#changes.clear();
  }

  /**
   * The rows that the end of a query selects, without changes only in memory; by default all.
   *
   * @throws {StorageError} If a row is damaged.
   */
  select(end = "", ...values: SqliteValue[]): [Key, V][] {
    return this.#db.all(`${this.#sql.select} ${end}`, ...values).map((row) => [
      row.key instanceof Uint8Array ? row.key.toHex() : row.key as Key, // as declared
      this.#decode(row),
    ]);
  }

  #change(key: Key, value: V | undefined, isNew: boolean): void {
    this.#changes.set(key, { value, isNew: this.#changes.get(key)?.isNew ?? isNew });
  }

  #columnOf(key: Key): SqliteValue {
    return this.#keyType === "BLOB" ? Uint8Array.fromHex(`${key}`) : key;
  }

  #decode({ key, value, crc }: Row): V {
    const text = `${value}`;
    if (checksumOf(this.#name, keyText(key), text) === crc) return this.#codec.decode(text);
    throw damaged(`row ${keyText(key)} of the table ${this.#name}`);
  }

  #count(rows: number, sum: number): void {
    if (this.#totals === undefined) return;
    this.#totals.rows += rows;
    this.#totals.sum = (this.#totals.sum + sum + SUM_MODULUS) % SUM_MODULUS;
  }
}

/** With `isOrdered`, rows have a `rowid` in the order of their addition. */
export function createTableSql(
  table: string,
  keyType: KeyType,
  { isOrdered = keyType === "INTEGER" } = {},
): string {
  const columns = `key ${keyType} PRIMARY KEY NOT NULL, value TEXT NOT NULL, crc INTEGER NOT NULL`;
  return `CREATE TABLE ${table} (${columns}) STRICT${isOrdered ? "" : ", WITHOUT ROWID"}`;
}

/** A key as text. A damaged page may have keys of other types than declared. */
export function keyText(key: unknown): string {
  return key instanceof Uint8Array ? key.toHex() : `${key}`;
}

export function checksumOf(table: string, key: string, text: string): number {
  return crc32(`${table}\n${key}\n${text}`);
}

function buildStatements(table: string) {
  const select = `SELECT key, value, crc FROM ${table}`;
  return {
    select,
    get: `${select} WHERE key = ?`,
    checksum: `SELECT crc FROM ${table} WHERE key = ?`,
    add: `INSERT INTO ${table} (value, crc, key) VALUES (?, ?, ?)`,
    replace: `UPDATE ${table} SET value = ?, crc = ? WHERE key = ?`,
    delete: `DELETE FROM ${table} WHERE key = ?`,
  };
}
