import { z } from "zod";
import type { OptionSpec } from "../service/options.ts";
import type { IntentStore } from "./intent.ts";
import { SqliteIntentStore } from "./sqlite.ts";

/** What tells the URL of a PostgreSQL database from a file. */
export const POSTGRES_URL = /^postgres(ql)?:\/\//;

const databaseSchema = z.string().min(1, "Expected a file or a URL with postgres:").refine(
  (text) => !POSTGRES_URL.test(text) || URL.canParse(text),
  "Expected a URL such as postgres://user@host:5432/name",
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
    // The URL may hold a password.
    secret: true,
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
