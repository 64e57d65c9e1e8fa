import postgres from "postgres";
import { withFolder } from "./files.ts";

/** A PostgreSQL server where tests may create schemas; without it they are skipped. */
export const POSTGRES_URL = Deno.env.get("TEST_POSTGRES_URL");

/** Suffix of the names of tests that need that server. */
export const NEEDS_POSTGRES = POSTGRES_URL === undefined
  ? " (left out: TEST_POSTGRES_URL is not set)"
  : "";

/** Runs statements on a database. @returns The rows of the last one. */
export async function runSql(url: string, ...statements: string[]): Promise<postgres.Row[]> {
  const client = postgres(url, { max: 1, onnotice: () => {} });
  try {
    let rows: postgres.Row[] = [];
    for (const statement of statements) rows = await client.unsafe(statement);
    return rows;
  } finally {
    await client.end();
  }
}

/** Gives a database the version and a table of a newer program. */
export async function addMigration(url: string): Promise<void> {
  await runSql(
    url,
    "CREATE TABLE added_later (name TEXT)",
    "INSERT INTO migrations SELECT max(number) + 1 FROM migrations",
  );
}

/** Runs a test on an empty schema of its own, dropped afterwards. */
export async function withSchema(test: (url: string) => Promise<void>): Promise<void> {
  if (POSTGRES_URL === undefined) throw new Error("TEST_POSTGRES_URL is not set");
  const schema = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  await runSql(POSTGRES_URL, `CREATE SCHEMA ${schema}`);
  try {
    const url = new URL(POSTGRES_URL);
    url.searchParams.set("search_path", schema);
    await test(url.href);
  } finally {
    await runSql(POSTGRES_URL, `DROP SCHEMA ${schema} CASCADE`);
  }
}

/** Declares a test on an empty schema of its own. */
export function testOnPostgres(name: string, test: (url: string) => Promise<void>): void {
  Deno.test({
    name: name + NEEDS_POSTGRES,
    ignore: POSTGRES_URL === undefined,
    fn: () => withSchema(test),
  });
}

/** The kinds of databases; each call of `withDatabase` makes an empty one. */
export const DATABASE_KINDS = [
  {
    name: "SQLite",
    ignore: false,
    withDatabase: (test: (database: string) => Promise<void>) =>
      withFolder((folder) => test(`${folder}/nested/intents.sqlite`)),
  },
  {
    name: `PostgreSQL${NEEDS_POSTGRES}`,
    ignore: POSTGRES_URL === undefined,
    withDatabase: withSchema,
  },
];
