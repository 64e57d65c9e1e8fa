import { z } from "zod";
import { type Address, addressSchema, hash32Schema, type Hex } from "../protocol/scalars.ts";
import { asStoreError, StoreDamagedError, StoreError } from "./errors.ts";
import { checksum, integerSchema, parseRow, type SqlDriver, type SqlSteps } from "./database.ts";

const SQL = {
  // Takes the row's lock until the transaction ends, whether the row is new or not.
  lockRecord: `INSERT INTO services (service) VALUES (?)
    ON CONFLICT (service) DO UPDATE SET service = excluded.service
    RETURNING genesis, signer, highest_block, checksum`,
  writeRecord: `UPDATE services SET genesis = ?, signer = ?, highest_block = ?, checksum = ?
    WHERE service = ?`,
  selectRecord: "SELECT genesis, signer, highest_block, checksum FROM services WHERE service = ?",
  saveValue: `INSERT INTO saved_values (service, name, value, saved_at_ms, checksum)
    VALUES (?, ?, ?, ?, ?) ON CONFLICT (service, name) DO UPDATE
    SET value = excluded.value, saved_at_ms = excluded.saved_at_ms, checksum = excluded.checksum`,
  selectValue: "SELECT * FROM saved_values WHERE service = ? AND name = ?",
};

export interface ServiceRecord {
  /** Hash of the first block of its chain; null before its first contact with a node. */
  genesis: Hex | null;
  /** The account that signs these intents; null before the first start that binds them. */
  signer: Address | null;
  /** Highest block that the chain was seen to have. */
  highestBlock: number;
}

const recordSchema = z.object({
  genesis: z.nullable(hash32Schema),
  signer: z.nullable(addressSchema),
  highest_block: integerSchema,
  checksum: integerSchema.nullable(),
});

function recordChecksum({ genesis, signer, highestBlock }: ServiceRecord): number {
  return checksum([genesis, signer, highestBlock]);
}

/** Reads `RETURNING genesis, signer, highest_block, checksum`. */
function recordOfRow(row: unknown): ServiceRecord {
  const { checksum: stored, highest_block: highestBlock, ...rest } = parseRow(recordSchema, row);
  const record = { ...rest, highestBlock };
  const isNew = stored === null && record.signer === null && highestBlock === 0;
  if (isNew || stored === recordChecksum(record)) return record;
  throw new StoreDamagedError("Database is damaged: the record of its chain and key has changed");
}

const savedValueSchema = z.object({
  value: z.string(),
  saved_at_ms: integerSchema,
  checksum: integerSchema,
});

/** What a store keeps of a service beside its intents. Every method throws like {@link SqlDriver}. */
export class ServiceRecords {
  readonly #db: SqlDriver;
  readonly #service: string;

  constructor(db: SqlDriver, service: string) {
    this.#db = db;
    this.#service = service;
  }

  /**
   * Completes the record of the service: adds a missing chain or key, and raises the highest block.
   *
   * @param learned `resetBlock` replaces the highest block, even by a lower one.
   * @returns The record as it is now.
   */
  async update(
    learned: Partial<ServiceRecord> & { resetBlock?: number },
  ): Promise<ServiceRecord> {
    const service = this.#service;
    // Not thrown inside the transaction, which may be part of a batch.
    const result = await this.#db.transaction(
      function* (): SqlSteps<ServiceRecord | StoreError> {
        const [[row] = []] = yield [{ sql: SQL.lockRecord, values: [service] }];
        let before: ServiceRecord;
        try {
          before = recordOfRow(row);
        } catch (thrown) {
          return asStoreError(thrown);
        }
        const genesis = before.genesis ?? learned.genesis ?? null;
        const signer = before.signer ?? learned.signer ?? null;
        const highestBlock = learned.resetBlock ??
          Math.max(before.highestBlock, learned.highestBlock ?? 0);
        const next = { genesis, signer, highestBlock };
        const values = [genesis, signer, highestBlock, recordChecksum(next), service];
        yield [{ sql: SQL.writeRecord, values }];
        return next;
      },
    );
    if (result instanceof StoreError) throw result;
    return result;
  }

  /** The record as it is; an empty one before the first {@link update}. */
  async read(): Promise<ServiceRecord> {
    const [row] = await this.#db.read(SQL.selectRecord, [this.#service]);
    return row === undefined ? { genesis: null, signer: null, highestBlock: 0 } : recordOfRow(row);
  }

  /** Saves a value of the service under a name, and replaces the previous one. */
  async saveValue(name: string, value: string, nowMs: number): Promise<void> {
    const columns = [name, value, nowMs];
    await this.#db.write(SQL.saveValue, [this.#service, ...columns, checksum(columns)]);
  }

  /** The value saved under a name, and the time it was saved. A damaged one counts as missing. */
  async findValue(name: string): Promise<{ value: string; savedAtMs: number } | undefined> {
    const [row] = await this.#db.read(SQL.selectValue, [this.#service, name]);
    if (row === undefined) return undefined;
    const { data } = savedValueSchema.safeParse(row);
    if (data === undefined) return undefined;
    const { value, saved_at_ms: savedAtMs, checksum: stored } = data;
    return stored === checksum([name, value, savedAtMs]) ? { value, savedAtMs } : undefined;
  }
}
