import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import { statOf } from "../../../lib/files.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { type Receipt, receiptSchema } from "../../../lib/protocol/receipt.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { type Thesis, thesisSchema } from "../../../lib/protocol/thesis.ts";
import { toWire } from "../../../lib/protocol/wire.ts";
import type { Archive } from "../chain/archive.ts";
import { decodeLine, encodeLine, PRIVATE_FILE } from "./files.ts";
import { DataDirError } from "./images.ts";

/** Rows that one call of {@link SqliteArchive.dropBefore} deletes per table: a few milliseconds. */
const ROWS_PER_DROP = 500;

/** Rows that move from the journal to the archive. */
export interface ArchivedRows {
  theses: Thesis[];
  receipts: { receipt: Receipt; atMs: number }[];
}

/**
 * Settled theses and receipts in a SQLite file, so that the node's memory and start time do not depend
 * on them. Each row has a checksum: a damaged one is treated as missing. No decision uses them.
 */
export class SqliteArchive implements Archive {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #statements: Readonly<Record<keyof typeof SQL, StatementSync>>;

  #isDamaged = false;

  private constructor(path: string, db: DatabaseSync) {
    this.#path = path;
    this.#db = db;
    db.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 200",
    );
    db.exec(TABLES);
    const statements = Object.entries(SQL).map(([name, sql]) => [name, db.prepare(sql)]);
    this.#statements = Object.fromEntries(statements) as Record<keyof typeof SQL, StatementSync>; // same names
  }

  /**
   * Opens the archive, and creates it if it does not exist.
   *
   * @throws {DataDirError} If it cannot be used.
   */
  static open(path: string): SqliteArchive {
    let db: DatabaseSync | undefined;
    try {
      if (statOf(path) === undefined) {
        Deno.openSync(path, { write: true, create: true, mode: PRIVATE_FILE }).close();
      }
      db = new DatabaseSync(path);
      return new SqliteArchive(path, db);
    } catch (cause) {
      db?.close();
      throw new DataDirError(
        `Archive ${path} cannot be opened: ${
          messageOf(cause)
        }. It holds settled theses and receipts only: ` +
          "if it is damaged, move it elsewhere, and they are not found any more",
        cause,
      );
    }
  }

  /** Adds rows, which {@link synced} makes durable. @throws {Error} If that fails. */
  add({ theses, receipts }: ArchivedRows): void {
    if (theses.length + receipts.length === 0) return;
    const { putThesis, putReceipt } = this.#statements;
    this.#db.exec("BEGIN");
    try {
      for (const thesis of theses) {
        putThesis.run(thesis.id, thesis.settledAt ?? 0, lineOf(thesis));
      }
      for (const { receipt, atMs } of receipts) {
        putReceipt.run(keyOf(receipt.txHash), atMs, lineOf(receipt));
      }
      this.#db.exec("COMMIT");
    } catch (thrown) {
      this.#db.exec("ROLLBACK");
      throw thrown;
    }
  }

  /** Resolves when all rows are on the disk. It does not block, unlike a commit that syncs. */
  async synced(): Promise<void> {
    using log = await Deno.open(`${this.#path}-wal`);
    await log.syncData();
  }

  thesis(id: number): Thesis | undefined {
    const thesis = fromRow(this.#rows("thesis", id)[0], thesisSchema);
    return thesis?.id === id ? thesis : undefined;
  }

  receipt(txHash: Hex): Receipt | undefined {
    const receipt = fromRow(this.#rows("receipt", keyOf(txHash))[0], receiptSchema);
    return receipt?.txHash === txHash ? receipt : undefined;
  }

  theses(fromId: number, toId: number): Thesis[] {
    const rows = this.#rows("theses", fromId, toId);
    return rows.flatMap((row) => fromRow(row, thesisSchema) ?? []);
  }

  firstId(): number | undefined {
    const { id } = Object(this.#rows("firstId")[0]);
    return typeof id === "number" ? id : undefined;
  }

  /** Deletes some of the rows that are older. @returns How many. @throws {Error} If that fails. */
  dropBefore(timeMs: number): number {
    const { dropTheses, dropReceipts } = this.#statements;
    return Number(dropTheses.run(timeMs).changes) + Number(dropReceipts.run(timeMs).changes);
  }

  /** The rows of a query: none if the file is damaged, which is logged once. */
  #rows(name: keyof typeof SQL, ...values: (number | Uint8Array)[]): unknown[] {
    try {
      return this.#statements[name].all(...values);
    } catch (thrown) {
      if (!this.#isDamaged) {
        const reason = messageOf(thrown);
        serviceLog("node").warning(
          "The archive cannot be read, its contents count as missing: {reason}",
          { reason },
        );
      }
      this.#isDamaged = true;
      return [];
    }
  }

  /** Closes the file. */
  close(): void {
    this.#db.close();
  }
}

const TABLES = `
  CREATE TABLE IF NOT EXISTS theses (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, line TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS theses_by_time ON theses (at_ms);
  CREATE TABLE IF NOT EXISTS receipts (key BLOB PRIMARY KEY, at_ms INTEGER NOT NULL, line TEXT NOT NULL)
    WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS receipts_by_time ON receipts (at_ms);
`;

const SQL = {
  putThesis: "INSERT OR REPLACE INTO theses (id, at_ms, line) VALUES (?, ?, ?)",
  putReceipt: "INSERT OR REPLACE INTO receipts (key, at_ms, line) VALUES (?, ?, ?)",
  thesis: "SELECT line FROM theses WHERE id = ?",
  theses: "SELECT line FROM theses WHERE id >= ? AND id < ? ORDER BY id",
  firstId: "SELECT min(id) AS id FROM theses",
  receipt: "SELECT line FROM receipts WHERE key = ?",
  dropTheses:
    `DELETE FROM theses WHERE id IN (SELECT id FROM theses WHERE at_ms < ? LIMIT ${ROWS_PER_DROP})`,
  dropReceipts:
    `DELETE FROM receipts WHERE key IN (SELECT key FROM receipts WHERE at_ms < ? LIMIT ${ROWS_PER_DROP})`,
};

/** The first half of a transaction hash: enough to find it, and the row has all of it. */
function keyOf(txHash: Hex): Uint8Array {
  return Uint8Array.fromHex(txHash.slice(2, 34));
}

function lineOf(value: Thesis | Receipt): string {
  return new TextDecoder().decode(encodeLine(JSON.stringify(toWire(value))).bytes.subarray(0, -1));
}

function fromRow<S extends z.ZodType>(row: unknown, schema: S): z.output<S> | undefined {
  const { line } = Object(row);
  if (typeof line !== "string") return undefined;
  const text = decodeLine(new TextEncoder().encode(line))?.text;
  return text === undefined ? undefined : schema.parse(JSON.parse(text));
}
