import { StoreDamagedError, StoreError } from "./intent.ts";
import { checksumOf, parseIntentRow, sequenceSchema, type Steps } from "./sql.ts";
import { savedValueSchema, valueChecksum } from "./service_store.ts";

/** One step, in the dialect of each database. */
export interface Migration {
  readonly sqlite: string;
  readonly postgres: string;
  /** Runs after the statements, in the same transaction. */
  readonly fill?: () => Steps<void>;
}

/** A {@link Migration} with its number. */
export interface NumberedMigration extends Migration {
  readonly number: number;
}

/**
 * Reservations are a column of their intents, so no crash can separate the two. Intents that were
 * unfinished before get one each. Processes of a service wait for its row in `reservation_locks`.
 */
const RESERVATIONS = `
  ALTER TABLE intents ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0;
  UPDATE intents SET reserved = 1 WHERE state IN ('accepted', 'submitted');
  CREATE INDEX intents_reserved ON intents (service, sequence, key) WHERE reserved = 1;
  CREATE TABLE reservation_locks (service TEXT PRIMARY KEY);`;

/**
 * One row for each service: the chain that its intents belong to, by the hash of its first block, and a
 * number that checks of the store count up. The index serves {@link IntentStore.deleteFinished}.
 */
const SERVICES_AND_RETENTION = `
  CREATE TABLE services (service TEXT PRIMARY KEY, genesis TEXT, checks BIGINT NOT NULL DEFAULT 0);
  CREATE INDEX intents_finished ON intents (service, expires_at_ms)
    WHERE state IN ('committed', 'failed') AND reserved = 0;`;

/** Values that a service stores besides its intents, by name. Losing them does no harm. */
const SAVED_VALUES = `
  CREATE TABLE saved_values (service TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
    saved_at_ms BIGINT NOT NULL, PRIMARY KEY (service, name));`;

/**
 * Every row has a checksum, so that a change which the service did not make is noticed. The row of a
 * service remembers its key and how far its chain was.
 */
const CHECKSUMS = `
  ALTER TABLE intents ADD COLUMN checksum INTEGER;
  ALTER TABLE saved_values ADD COLUMN checksum INTEGER;
  ALTER TABLE services ADD COLUMN signer TEXT;
  ALTER TABLE services ADD COLUMN highest_block BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE services ADD COLUMN checksum INTEGER;`;

/** The facts behind a failure, so that the same request again gets the same answer. */
const FAILURE_DETAILS = "ALTER TABLE intents ADD COLUMN failure_details TEXT;";

/** Rows that get their checksum at once. */
const FILL_PAGE = 500;

/** Gives rows of earlier versions their checksum. One that cannot be read stays without, as damaged. */
function* fillChecksums(): Steps<void> {
  const [values = []] = yield [{ sql: "SELECT * FROM saved_values", values: [] }];
  yield values.map((row) => {
    const { service, name, value, saved_at_ms: savedAtMs } = savedValueSchema.parse(row);
    return {
      sql: "UPDATE saved_values SET checksum = ? WHERE service = ? AND name = ?",
      values: [valueChecksum(name, value, savedAtMs), service, name],
    };
  });
  for (let after = 0;;) {
    const select = "SELECT * FROM intents WHERE sequence > ? ORDER BY sequence LIMIT ?";
    const [rows = []] = yield [{ sql: select, values: [after, FILL_PAGE] }];
    if (rows.length === 0) return;
    after = sequenceSchema.parse(rows.at(-1)).sequence;
    yield rows.flatMap((row) => {
      try {
        const { service, intent } = parseIntentRow(row);
        const values = [checksumOf(service, intent), intent.sequence];
        return [{ sql: "UPDATE intents SET checksum = ? WHERE sequence = ?", values }];
      } catch (thrown) {
        if (thrown instanceof StoreDamagedError) return [];
        throw thrown;
      }
    });
  }
}

/**
 * The steps from an empty database to the present tables, numbered from 1. A released step never
 * changes; a change of the tables is a new step at the end.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    sqlite: intentsTable("INTEGER PRIMARY KEY AUTOINCREMENT", "INTEGER", " STRICT"),
    postgres: intentsTable("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BIGINT", ""),
  },
  { sqlite: RESERVATIONS, postgres: RESERVATIONS },
  { sqlite: SERVICES_AND_RETENTION, postgres: SERVICES_AND_RETENTION },
  { sqlite: SAVED_VALUES, postgres: SAVED_VALUES },
  { sqlite: CHECKSUMS, postgres: CHECKSUMS, fill: fillChecksums },
  { sqlite: FAILURE_DETAILS, postgres: FAILURE_DETAILS },
];

/**
 * The steps that a database of this version lacks.
 *
 * @throws {StoreError} If a newer program made the tables.
 */
export function missingMigrations(version: number): NumberedMigration[] {
  if (version > MIGRATIONS.length) {
    throw new StoreError(
      `Database has version ${version}, made by a newer program: ` +
        `expected at most ${MIGRATIONS.length}`,
    );
  }
  return MIGRATIONS.map((step, index) => ({ ...step, number: index + 1 })).slice(version);
}

function intentsTable(sequenceType: string, integerType: string, tableOptions: string): string {
  return `
    CREATE TABLE intents (
      sequence ${sequenceType},
      service TEXT NOT NULL,
      key TEXT NOT NULL,
      subject TEXT NOT NULL,
      payload TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('accepted', 'submitted', 'committed', 'failed')),
      tx_hash TEXT,
      transaction_text TEXT,
      receipt TEXT,
      failure_code TEXT,
      failure_message TEXT,
      expires_at_ms ${integerType} NOT NULL,
      created_at_ms ${integerType} NOT NULL,
      updated_at_ms ${integerType} NOT NULL,
      UNIQUE (service, key)
    )${tableOptions};
    CREATE INDEX intents_by_subject ON intents (service, subject, sequence);
    CREATE INDEX intents_unfinished ON intents (service, sequence)
      WHERE state IN ('accepted', 'submitted');`;
}
