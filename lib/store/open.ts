import type { IntentStore } from "./intent.ts";
import { POSTGRES_URL } from "./location.ts";
import { SqliteIntentStore } from "./sqlite.ts";

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
