/** The row of an intent, and the statements about intents. */
import { z } from "zod";
import { tryParseJson } from "../json.ts";
import { hash32Schema } from "../protocol/scalars.ts";
import { describeIssue } from "../protocol/describe_input.ts";
import { checksum, integerSchema, keysSchema, type SqlValue, type Statement } from "./database.ts";
import { rowDamaged, type StoreDamagedError } from "./errors.ts";
import {
  acceptedIntent,
  type Intent,
  INTENT_STATES,
  type IntentFailure,
  isFinal,
} from "./intent.ts";

/** Longest key shown in an error; real keys are shorter. */
const KEY_SHOWN_MAX = 200;

/** Whether a row is one of another service in the database: 1 or 0. */
export const otherSchema = z.object({ is_other: integerSchema });

const stateSchema = z.enum(INTENT_STATES);

/** `SELECT … AS keys, … AS newestSequence, … AS state`. */
export const stateAndKeysSchema = keysSchema.extend({
  newestSequence: integerSchema.nullable(),
  state: stateSchema.nullable(),
});

/** The columns of {@link intentOfRow}. */
export const INTENT_COLUMNS =
  'sequence, service, key, "user", payload, state, tx_hash, transaction_text, receipt, ' +
  "failure_code, failure_message, failure_details, expires_at_ms, created_at_ms, updated_at_ms, " +
  "reserved, checksum";

const intentSchema = z.object({
  sequence: integerSchema,
  service: z.string(),
  key: z.string(),
  user: z.string(),
  payload: z.string(),
  state: stateSchema,
  tx_hash: z.nullable(hash32Schema),
  transaction_text: z.string().nullable(),
  receipt: z.string().nullable(),
  failure_code: z.string().nullable(),
  failure_message: z.string().nullable(),
  failure_details: z.string().nullable().transform((text) => text && tryParseJson(text))
    .pipe(z.record(z.string(), z.unknown()).nullable()),
  expires_at_ms: integerSchema,
  created_at_ms: integerSchema,
  updated_at_ms: integerSchema,
  reserved: integerSchema,
  checksum: integerSchema,
}).transform(({ sequence, service, key, user, payload, state, receipt, checksum, ...row }) => {
  const { tx_hash: txHash, transaction_text: text } = row;
  const { failure_code: code, failure_message: message, failure_details: details } = row;
  const recorded = { sequence, key, user, payload, state, receipt };
  const intent: Intent = {
    ...recorded,
    transaction: txHash === null || text === null ? null : { txHash, text },
    failure: code === null || message === null
      ? null
      : { code, message, ...(details && { details }) },
    reserved: row.reserved === 1,
    expiresAtMs: row.expires_at_ms,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
  return { service, intent, checksum };
});

const keySchema = z.object({ key: z.string().max(KEY_SHOWN_MAX) });

/**
 * Checksum of an intent's row, over everything that decides what is signed, sent or answered. It
 * leaves out the sequence, which the database chooses, and the columns that an attempt changes: the
 * time, and whether an unfinished intent was sent.
 */
export function checksumOf(service: string, intent: Omit<Intent, "sequence">): number {
  const { key, user, payload, transaction, receipt, failure } = intent;
  const isDone = isFinal(intent.state);
  const request = [service, key, user, payload, transaction?.txHash, transaction?.text];
  const outcome = [isDone ? intent.state : null, receipt, failure?.code, failure?.message];
  const times = [intent.expiresAtMs, intent.createdAtMs, isDone ? intent.updatedAtMs : null];
  const details = failure?.details === undefined ? [] : [JSON.stringify(failure.details)];
  return checksum([...request, ...outcome, ...times, intent.reserved, ...details]);
}

/** Columns that an attempt may have changed since the row was read. */
const ALWAYS_SET: ReadonlySet<string> = new Set(["state", "updated_at_ms"]);

/** The row of an intent, without the sequence, which the database chooses. */
function rowOf(service: string, intent: Omit<Intent, "sequence">): Record<string, SqlValue> {
  const { transaction } = intent;
  const failure = intent.failure && storableFailure(intent.failure);
  return {
    service,
    key: intent.key,
    '"user"': intent.user,
    payload: intent.payload,
    state: intent.state,
    tx_hash: transaction?.txHash ?? null,
    transaction_text: transaction?.text ?? null,
    receipt: intent.receipt,
    failure_code: failure?.code ?? null,
    failure_message: failure?.message ?? null,
    failure_details: failure?.details === undefined ? null : JSON.stringify(failure.details),
    expires_at_ms: intent.expiresAtMs,
    created_at_ms: intent.createdAtMs,
    updated_at_ms: intent.updatedAtMs,
    reserved: intent.reserved ? 1 : 0,
    checksum: checksumOf(service, { ...intent, failure }),
  };
}

/** Inserts an intent unless its key is taken; returns its sequence if it does. */
export function insertStatement(service: string, intent: Omit<Intent, "sequence">): Statement {
  const row = rowOf(service, intent);
  const names = Object.keys(row);
  const sql = `INSERT INTO intents (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})
    ON CONFLICT (service, key) DO NOTHING RETURNING sequence`;
  return { sql, values: Object.values(row) };
}

/**
 * Waits for the turn of this process, which lasts until the transaction ends. The row is locked
 * whether it is new or not.
 */
export function turnStatement(service: string): Statement {
  const sql = `INSERT INTO reservation_locks (service) VALUES (?)
    ON CONFLICT (service) DO UPDATE SET service = excluded.service`;
  return { sql, values: [service] };
}

/** Inserts a row as long as that of an intent, and removes it. */
export function probeStatements(service: string): Statement[] {
  const key = "probe";
  const payload = " ".repeat(1_000);
  const probe = { key, user: "", payload, transaction: null, expiresAtMs: 0, createdAtMs: 0 };
  const remove = { sql: INTENT_SQL.remove, values: [service, key] };
  return [insertStatement(service, acceptedIntent(probe, 0, false)), remove];
}

/**
 * Changes an intent if it still has the transaction it was read with and a condition fits. Sets
 * only columns that differ: setting an indexed column, even to the same value, makes the database
 * update the index.
 */
export function updateStatement(
  service: string,
  condition: string,
  before: Intent,
  after: Intent,
): Statement {
  const row = rowOf(service, before);
  const changed = Object.entries(rowOf(service, after))
    .filter(([name, value]) => value !== row[name] || ALWAYS_SET.has(name));
  const sql = `UPDATE intents SET ${changed.map(([name]) => `${name} = ?`).join(", ")}
    WHERE service = ? AND key = ? AND tx_hash IS NOT DISTINCT FROM ? AND ${condition}`;
  const where = [service, before.key, row.tx_hash ?? null];
  return { sql, values: [...changed.map(([, value]) => value), ...where] };
}

/**
 * A failure as every database returns it. Its text may be foreign: PostgreSQL refuses a NUL, SQLite
 * ends the text there, and both replace half a surrogate pair.
 */
function storableFailure({ code, message, details }: IntentFailure): IntentFailure {
  const storable = (text: string) => text.toWellFormed().replaceAll("\0", "\ufffd");
  const text = { code: storable(code), message: storable(message) };
  return details === undefined ? text : { ...text, details };
}

/**
 * Reads a row of {@link INTENT_COLUMNS}.
 *
 * @returns The damage, if it is not as this service wrote it.
 */
export function intentOfRow(row: unknown, service: string): Intent | StoreDamagedError {
  const { data, error } = intentSchema.safeParse(row);
  if (data?.service === service && data.checksum === checksumOf(service, data.intent)) {
    return data.intent;
  }
  const key = keySchema.safeParse(row).data?.key;
  const reason = error === undefined ? "its checksum is wrong" : describeIssue(error);
  return rowDamaged(key, reason);
}

/** Must match the partial index's condition literally, or the database does not use the index. */
export const UNFINISHED = "state IN ('accepted', 'submitted')";

/**
 * The service of a row, written so that no index applies: with one, the planner would read every
 * row of the service.
 */
export const UNINDEXED_SERVICE = "service || ''";

/** Rows among which the last commit is looked for; before them, it is the last recorded one. */
const RECENT_ROWS = 200;

const SELECT = `SELECT ${INTENT_COLUMNS} FROM intents WHERE service = ?`;

export const INTENT_SQL = {
  find: `${SELECT} AND key = ?`,
  listByUser: `${SELECT} AND "user" = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?`,
  listUnfinished: `${SELECT} AND ${UNFINISHED} AND sequence > ?
    AND (updated_at_ms <= ? OR updated_at_ms >= ?)
    ORDER BY sequence LIMIT ?`,
  countUnfinished: `SELECT count(*) AS count FROM intents
    WHERE service = ? AND ${UNFINISHED} AND created_at_ms < ?`,
  findState: `SELECT string_agg(key, ',') AS keys,
      (SELECT sequence FROM intents WHERE ${UNINDEXED_SERVICE} = ? ORDER BY sequence DESC LIMIT 1) AS "newestSequence",
      (SELECT state FROM intents WHERE service = ? AND key = ?) AS state
    FROM intents WHERE service = ? AND ${UNFINISHED}`,
  recordAttempt: `UPDATE intents
    SET updated_at_ms = ?, state = CASE WHEN tx_hash IS NULL THEN state ELSE 'submitted' END
    WHERE service = ? AND key = ? AND ${UNFINISHED} RETURNING ${INTENT_COLUMNS}`,
  remove: "DELETE FROM intents WHERE service = ? AND key = ?",
  // Conditions and order of the partial index.
  deleteFinished: `DELETE FROM intents WHERE sequence IN (
    SELECT sequence FROM intents
    WHERE service = ? AND state IN ('committed', 'failed') AND reserved = 0
      AND expires_at_ms < ? AND updated_at_ms < ?
    ORDER BY expires_at_ms LIMIT ?)`,
  // The same.
  deleteUnsent: `DELETE FROM intents WHERE sequence IN (
    SELECT sequence FROM intents
    WHERE service = ? AND state IN ('committed', 'failed') AND reserved = 0
      AND expires_at_ms >= ? AND expires_at_ms < ? AND state = 'failed' AND tx_hash IS NULL
    ORDER BY expires_at_ms LIMIT ?)`,
  // An intent may be committed later than many that were recorded after it.
  newestCommitted: `SELECT ${INTENT_COLUMNS} FROM intents WHERE sequence = coalesce((
      SELECT sequence FROM (
        SELECT sequence, service, state, updated_at_ms FROM intents
        ORDER BY sequence DESC LIMIT ${RECENT_ROWS}) AS recent
      WHERE service = ? AND state = 'committed'
      ORDER BY updated_at_ms DESC, sequence DESC LIMIT 1), (
      SELECT sequence FROM intents
      WHERE ${UNINDEXED_SERVICE} = ? AND state = 'committed' ORDER BY sequence DESC LIMIT 1))`,
  // Of all services: a row with a damaged service name belongs to no service.
  list: `SELECT ${INTENT_COLUMNS}, (SELECT count(*) FROM services
      WHERE services.service = intents.service AND services.service <> ?) AS is_other
    FROM intents WHERE sequence > ? ORDER BY sequence LIMIT ?`,
  // Its checksum stays wrong, so that every further read reports it.
  endDamaged: `UPDATE intents
    SET state = 'failed', reserved = 0, failure_code = ?, failure_message = ?
    WHERE service = ? AND key = ? AND ${UNFINISHED}`,
};
