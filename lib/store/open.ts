import { z } from "zod";
import type { OptionSpec } from "../service/options.ts";
import type { IntentStore } from "./intent.ts";
import { SqliteIntentStore } from "./sqlite.ts";

const databaseSchema = z.string().min(1, "Expected a file");

/** The option that says where a service keeps its intents. */
export function databaseOption(env: string, defaultPath: string) {
  return {
    flags: "--database <file>",
    env,
    description: "SQLite file; :memory: keeps nothing",
    schema: databaseSchema,
    default: defaultPath,
  } satisfies OptionSpec;
}

/** Opens the store that an option names. @throws {StoreError} Where it cannot be used. */
export function openIntentStore(database: string): Promise<IntentStore> {
  return Promise.resolve(SqliteIntentStore.open(database));
}
