import postgres from "postgres";
import { messageOf } from "../errors.ts";
import { requireKnown, type StoreInspection } from "./inspect.ts";
import { StoreError } from "./intent.ts";
import { MIGRATIONS } from "./migrations.ts";
import { countOfRow } from "./rows.ts";

const CONNECT_TIMEOUT_SECONDS = 3;
const STATEMENT_TIMEOUT_MS = 3_000;
const CLOSE_TIMEOUT_SECONDS = 1;

/** Looks at a PostgreSQL database in a transaction that cannot write. @throws {StoreError} */
export async function inspectPostgres(
  url: string,
  service: string,
  stuckBeforeMs: number,
): Promise<StoreInspection | "new"> {
  const sql = postgres(url, {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    onnotice: () => {},
    connection: { statement_timeout: STATEMENT_TIMEOUT_MS },
  });
  try {
    const [server] = await sql`SHOW transaction_read_only`;
    if (server?.transaction_read_only === "on") throw new StoreError("Database is read-only");
    return await sql.begin("read only", (tx) => read(tx, service, stuckBeforeMs));
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no reason given";
    throw new StoreError(`Database cannot be used: ${messageOf(cause) || code}`, cause);
  } finally {
    // At once, where all is well: with no time at all the driver may still be closing when it says so.
    await sql.end({ timeout: CLOSE_TIMEOUT_SECONDS });
  }
}

async function read(
  sql: postgres.TransactionSql,
  service: string,
  stuckBeforeMs: number,
): Promise<StoreInspection | "new"> {
  const [tables] = await sql`
    SELECT to_regclass('migrations') IS NOT NULL AND to_regclass('intents') IS NOT NULL AS made,
      has_schema_privilege(current_schema(), 'CREATE') AS may_create`;
  if (!tables?.made) {
    if (tables?.may_create) return "new";
    throw new StoreError("Database has no tables yet, and its user may not make them");
  }
  const [newest] = await sql`SELECT coalesce(max(number), 0) AS count FROM migrations`;
  const version = countOfRow(newest);
  requireKnown(version);
  const [all] = await sql`
    SELECT count(*) AS count FROM intents
    WHERE service = ${service} AND state IN ('accepted', 'submitted')`;
  const [stuck] = await sql`
    SELECT count(*) AS count FROM intents
    WHERE service = ${service} AND state IN ('accepted', 'submitted')
      AND created_at_ms < ${stuckBeforeMs}`;
  return {
    version,
    latestVersion: MIGRATIONS.length,
    unfinished: countOfRow(all),
    stuck: countOfRow(stuck),
  };
}
