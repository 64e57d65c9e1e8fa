/**
 * Messages of the runtime and of libraries that decide something here, since the errors have no
 * code for it. Tests provoke each one: an update of a library that changes its words fails.
 */

/** commander: the arguments beyond those that a command takes. */
export const EXCESS_ARGUMENTS = /got \d+: (.*)\.$/s;

/**
 * commander: the name of an option that it does not know, without a value after `=`; only `-` if
 * that follows a flag of one letter.
 */
export const UNKNOWN_OPTION = /'(--[^'=]*|-(?==))/;

/** zod: one of its own messages, not one that a schema gives. */
export const DEFAULT_MESSAGE = /^(Invalid (input|option|string)|Too (small|big))/;

/** @ethereumjs/wallet: the checksum of a keystore does not match. */
export const WRONG_PASSWORD = /possibly wrong passphrase/;

/** pg: the connection was lost or closed before, so nothing was sent. */
export const NOT_SENT = /is not queryable/;

/** pgbouncer: it cannot keep a parameter of the session. */
export const REFUSED_PARAMETER = /unsupported startup parameter/;
