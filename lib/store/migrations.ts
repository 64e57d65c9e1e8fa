/**
 * The numbered steps from an empty database to the present one. A step that was released is never
 * changed: what comes after is a new step at the end.
 */

/** One step, in each engine's words. */
export interface Migration {
  readonly sqlite: string;
  readonly postgres: string;
}

/** All steps; the number of a step is its place, from 1. */
export const MIGRATIONS: readonly Migration[] = [
  {
    sqlite: `
      CREATE TABLE intents (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
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
        expires_at_ms INTEGER NOT NULL,
        created_at_ms INTEGER NOT NULL,
        updated_at_ms INTEGER NOT NULL,
        UNIQUE (service, key)
      ) STRICT;
      CREATE INDEX intents_by_subject ON intents (service, subject, sequence);
      CREATE INDEX intents_unfinished ON intents (service, sequence)
        WHERE state IN ('accepted', 'submitted');`,
    postgres: `
      CREATE TABLE intents (
        sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
        expires_at_ms BIGINT NOT NULL,
        created_at_ms BIGINT NOT NULL,
        updated_at_ms BIGINT NOT NULL,
        UNIQUE (service, key)
      );
      CREATE INDEX intents_by_subject ON intents (service, subject, sequence);
      CREATE INDEX intents_unfinished ON intents (service, sequence)
        WHERE state IN ('accepted', 'submitted');`,
  },
];
