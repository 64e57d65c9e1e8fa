import { z } from "zod";
import { POSTGRES_URL } from "../intents/open.ts";
import type { OptionSpec } from "./options.ts";

const DATABASE_RULE = "Expected a file or a URL with postgres:// or postgresql://";

/**
 * A mistyped URL or a key: as a file name it would show a password or the key. A single letter before
 * the colon may be a drive.
 */
const NOT_A_FILE = /^[a-z][a-z0-9+.-]+:\/|^postgres\w*:|:\/\/|^(0x)?[0-9a-f]{64}$/i;

const databaseSchema = z.string().min(1, DATABASE_RULE)
  .refine((text) => POSTGRES_URL.test(text) || !NOT_A_FILE.test(text.trim()), DATABASE_RULE)
  .refine(
    (text) => !POSTGRES_URL.test(text) || URL.canParse(text),
    "Expected a URL such as postgres://host:5432/name",
  );

/** The option that names the database of a service's intents. */
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
