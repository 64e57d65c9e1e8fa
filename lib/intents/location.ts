import { z } from "zod";

/** Tells the URL of a PostgreSQL database from the path of a file. */
export const POSTGRES_URL = /^postgres(ql)?:\/\//i;

const DATABASE_RULE = "Expected a file or a URL with postgres:// or postgresql://";

/**
 * A mistyped URL or a key. Taken as a path, it would put a password or a key into a file name. One
 * letter before the colon may be a drive.
 */
const NO_FILE = /^[a-z][a-z0-9+.-]+:\/|^postgres\w*:|:\/\/|^(0x)?[0-9a-f]{64}$/i;

/** Where intents are stored: a SQLite file, `:memory:`, or a `postgres:` URL. */
export const databaseSchema = z.string().min(1, DATABASE_RULE)
  .refine((text) => POSTGRES_URL.test(text) || !NO_FILE.test(text.trim()), DATABASE_RULE)
  .refine(
    (text) => !POSTGRES_URL.test(text) || URL.canParse(text),
    "Expected a URL such as postgres://host:5432/name",
  );
