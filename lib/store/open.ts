import { z } from "zod";
import type { OptionSpec } from "../cli/options.ts";
import type { IntentStore } from "./intent.ts";
import { SqliteIntentStore } from "./sqlite.ts";

/** What tells the URL of a PostgreSQL database from a file. */
export const POSTGRES_URL = /^postgres(ql)?:\/\//i;

const DATABASE_RULE = "Expected a file or a URL with postgres:// or postgresql://";

/**
 * What is meant as a URL, or as a key, and would give a file that has a password or the key for its
 * name. One letter before the colon may be a drive.
 */
const NO_FILE = /^[a-z][a-z0-9+.-]+:\/|^postgres\w*:|:\/\/|^(0x)?[0-9a-f]{64}$/i;

const databaseSchema = z.string().min(1, DATABASE_RULE)
  .refine((text) => POSTGRES_URL.test(text) || !NO_FILE.test(text.trim()), DATABASE_RULE)
  .refine(
    (text) => !POSTGRES_URL.test(text) || URL.canParse(text),
    "Expected a URL such as postgres://host:5432/name",
  );

/** The option that says where a service keeps its intents. */
export function databaseOption(env: string, defaultPath: string) {
  return {
    flags: "--database <file|url>",
    env,
    description:
      "SQLite file (:memory: keeps nothing), or postgres://user@host/name with PGPASSWORD",
    schema: databaseSchema,
    default: defaultPath,
  } satisfies OptionSpec;
}

/**
 * Opens the store that an option names.
 *
 * @param database A file, `:memory:`, or a `postgres:` URL.
 * @param service Whose intents these are: services may share a database without seeing each other's.
 * @throws {StoreError} Where it cannot be used.
 */
export async function openIntentStore(database: string, service: string): Promise<IntentStore> {
  if (!POSTGRES_URL.test(database)) return SqliteIntentStore.open(database, service);
  // Loaded only where it is used: SQLite needs none of the driver.
  const { PostgresIntentStore } = await import("./postgres.ts");
  return await PostgresIntentStore.open(database, service);
}
