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
  [/^[0-9A-Z]{5}$/, "permanent"],
];

export function sqlStateKindOf(code: string): SqlStateKind {
  return KINDS.find(([codes]) => codes.test(code))?.[1] ?? "none";
}
