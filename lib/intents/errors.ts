/** What goes wrong with intents, and with the store that has them. */
import { createErrors, messageOf, RangemakerError } from "../errors.ts";
import type { Hex } from "../protocol/scalars.ts";
import { isDamage } from "../database/sqlite.ts";

/** The intent must not be submitted: it fails with this code, message and details. */
export class IntentRefusedError extends RangemakerError {}

/** Failures without a receipt; a receipt has the node's own. */
export const submissionFailure = createErrors({
  DEADLINE_PASSED: ({ deadline }: { deadline: number }) =>
    `Deadline ${deadline} passed before the core node accepted the transaction`,
  /** The deadline passed so long ago that the node may have dropped the receipt. */
  RECEIPT_DROPPED: ({ txHash, ageMs }: { txHash: Hex; ageMs: number }) =>
    `Transaction ${txHash} was signed ${Math.floor(ageMs / 60_000)} min ago, and the core node ` +
    "may have dropped its receipt: compare the balances to see whether it was executed",
  /** The node rejected the transaction as invalid and recorded nothing. */
  NODE_REFUSED: ({ reason }: { reason: string; rpcCode: number }) =>
    `Core node refused the transaction: ${reason}`,
});

/** The node may or may not have acted; the submitter keeps trying. */
export class OutcomeUnknownError extends RangemakerError {
  constructor(txHash: Hex | null, cause: unknown) {
    super(
      "OUTCOME_UNKNOWN",
      `Outcome of ${txHash === null ? "the request" : `transaction ${txHash}`} is unknown: ` +
        `the same request may be sent again (${messageOf(cause)})`,
      { cause, details: { txHash } },
    );
  }
}

/** The store failed and changed nothing. */
export class StoreError extends RangemakerError {
  constructor(message: string, cause?: unknown, code: string = "STORE_UNAVAILABLE") {
    super(code, message, { cause });
  }
}

/** The connection broke during a statement: it is unknown whether the statement took effect. */
export class StoreConnectionLostError extends StoreError {
  constructor(cause: unknown) {
    // Also in logs and in the health, where there is no request; the answer to one says more.
    super("Database connection was lost", cause, "STORE_CONNECTION_LOST");
  }
}

/**
 * The database, or one row of it, is not as it was written. Treat it as unreadable: nothing that
 * depends on it is signed or sent.
 */
export class StoreDamagedError extends StoreError {
  /** Key of the damaged row; undefined if the damage is not in one row. */
  readonly key: string | undefined;

  constructor(message: string, key?: string, cause?: unknown) {
    super(message, cause, "STORE_DAMAGED");
    this.key = key;
  }
}

export function rowDamaged(
  key: string | undefined,
  reason: string,
  cause?: unknown,
): StoreDamagedError {
  return new StoreDamagedError(`Row ${key} of the database is damaged: ${reason}`, key, cause);
}

/** Converts an error of a database driver to a {@link StoreError}. */
export function asStoreError(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  if (isDamage(cause)) {
    return new StoreDamagedError(`Database is damaged: ${describeCause(cause)}`, undefined, cause);
  }
  return new StoreError(`Database failed: ${describeCause(cause)}`, cause);
}

/** Why a database driver failed. */
export function describeCause(cause: unknown): string {
  // An error for several addresses of one host has a code and no message.
  return messageOf(cause) || driverCodeOf(cause) || "no reason given";
}

/** The code of a driver's or the system's error, if it has one. */
export function driverCodeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? String(cause.code) : "";
}

/** What an error code of PostgreSQL (SQLSTATE) says about the server and the statement. */
type SqlStateKind =
  /** Shutdown, crash, broken connection: it is unknown whether the statement took effect. */
  | "lost"
  /** The server starts, stops or closed an idle session: nothing was run. */
  | "starting"
  /** Read-only, or it ended an idle transaction: another server may be the primary. */
  | "not_primary"
  /** A lack of resources. */
  | "exhausted"
  /** Another process was faster: a conflict, or something that exists already. */
  | "race"
  /** Waiting does not help. */
  | "permanent"
  /** Not a code of the server, such as one of the connection. */
  | "none";

/** The first that fits counts. */
const KINDS: readonly [codes: RegExp, kind: SqlStateKind][] = [
  [/^(57P0[12]|08)/, "lost"],
  [/^57P0/, "starting"],
  [/^(25006|25P03)/, "not_primary"],
  [/^53/, "exhausted"],
  [/^(23|40|42P0[67]$|42710$)/, "race"],
  // Not EPIPE: a system's codes begin with E, the server's never do.
  [/^[0-9A-DF-Z][0-9A-Z]{4}$/, "permanent"],
];

export function sqlStateKindOf(code: string): SqlStateKind {
  return KINDS.find(([codes]) => codes.test(code))?.[1] ?? "none";
}
