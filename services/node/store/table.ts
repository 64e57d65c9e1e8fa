import { crc32 } from "node:zlib";
import type { Row, SqliteValue } from "../../../lib/database/sqlite.ts";
import { damaged, type Database } from "./database.ts";

/** Number of a table's rows, and sum of their checksums: the loss of a page changes them. */
export interface TableTotals {
  rows: number;
  sum: number;
}

/** Modulus of sums of checksums; a number represents the sums exactly. */
const SUM_MODULUS = 2 ** 48;

/** Rows of one step of a check, which takes about a millisecond. */
const ROWS_PER_STEP = 100;

/** Converts values to text and back. */
export interface Codec<V> {
  encode(value: V): string;
  decode(text: string): V;
}

/** One table of values by key. Each row has a checksum over table, key and value. */
export class Table<V> {
  readonly #db: Database;
  readonly #name: string;
  readonly #codec: Codec<V>;
  readonly #totals: TableTotals | undefined;
  readonly #select: string;
  readonly #selectOne: string;
  readonly #selectCrc: string;
  readonly #insert: string;
  readonly #update: string;
  readonly #delete: string;

  /** @param totals Kept up to date; undefined for a table without. */
  constructor(db: Database, name: string, codec: Codec<V>, totals?: TableTotals) {
    this.#db = db;
    this.#name = name;
    this.#codec = codec;
    this.#totals = totals;
    this.#select = `SELECT key, value, crc FROM ${name}`;
    this.#selectOne = `${this.#select} WHERE key = ?`;
    this.#selectCrc = `SELECT crc FROM ${name} WHERE key = ?`;
    this.#insert = `INSERT INTO ${name} (key, value, crc) VALUES (?, ?, ?)`;
    this.#update = `UPDATE ${name} SET value = ?, crc = ? WHERE key = ?`;
    this.#delete = `DELETE FROM ${name} WHERE key = ? RETURNING crc`;
  }

  has(key: SqliteValue): boolean {
    return this.get(key) !== undefined;
  }

  /** @throws {StorageError} If the row is damaged. */
  get(key: SqliteValue): V | undefined {
    const row = this.#db.get(this.#selectOne, key);
    return row && this.#codec.decode(this.#checked(row));
  }

  /** The rows that the end of a query selects. @throws {StorageError} If one is damaged. */
  select(end = "", ...values: SqliteValue[]): [key: SqliteValue, V][] {
    return this.#db.all(`${this.#select} ${end}`, ...values)
      .map((row) => [row.key as SqliteValue, this.#codec.decode(this.#checked(row))]); // of a column
  }

  /** Adds a row with a new key. */
  add(key: SqliteValue, value: V): void {
    const text = this.#codec.encode(value);
    const crc = this.#checksum(key, text);
    this.#db.run(this.#insert, key, text, crc);
    this.#count(1, crc);
  }

  /** Adds or replaces a row. */
  put(key: SqliteValue, value: V): void {
    // An update takes less time than deleting and adding the row.
    const before = this.#db.get(this.#selectCrc, key);
    if (before === undefined) return this.add(key, value);
    const text = this.#codec.encode(value);
    const crc = this.#checksum(key, text);
    this.#db.run(this.#update, text, crc, key);
    this.#count(0, crc - Number(before.crc));
  }

  delete(key: SqliteValue): void {
    const deleted = this.#db.get(this.#delete, key);
    if (deleted !== undefined) this.#count(-1, -Number(deleted.crc));
  }

  /**
   * Compares all rows with their checksums, and with the totals of the table, in short steps. Twice
   * before rows are missing: if a page cannot be read, the runtime ends the rows without an error.
   */
  *check(isSecond = false): Generator<void, void> {
    let [rows, sum] = [0, 0];
    for (const row of this.#db.iterate(this.#select)) {
      if (rows % ROWS_PER_STEP === 0) yield;
      this.#checked(row);
      rows += 1;
      sum = (sum + Number(row.crc)) % SUM_MODULUS;
    }
    const expected = this.#totals ?? { rows, sum };
    if (rows === expected.rows && sum === expected.sum) return;
    if (!isSecond) return yield* this.check(true);
    throw damaged(`table ${this.#name}: ${rows} rows instead of ${expected.rows}, or older ones`);
  }

  /** The text of a row. */
  #checked({ key, value, crc }: Row): string {
    const text = `${value}`;
    if (this.#checksum(key, text) === crc) return text;
    throw damaged(`row ${keyText(key)} of the table ${this.#name}`);
  }

  #checksum(key: unknown, text: string): number {
    return crc32(`${this.#name}\n${keyText(key)}\n${text}`);
  }

  #count(rows: number, sum: number): void {
    if (this.#totals === undefined) return;
    this.#totals.rows += rows;
    this.#totals.sum = (this.#totals.sum + sum + SUM_MODULUS) % SUM_MODULUS;
  }
}

/** A key as text. A damaged page may have keys of other types than declared. */
function keyText(key: unknown): string {
  return key instanceof Uint8Array ? key.toHex() : `${key}`;
}
