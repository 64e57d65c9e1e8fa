import assert from "node:assert/strict";
import { parseOptions, UsageError } from "../../../lib/cli/options.ts";
import { databaseOption } from "../../../lib/cli/shared_options.ts";

const text = { name: "sample", description: "", examples: [] };
const table = { database: databaseOption("data/sample.sqlite") };

function parse(database: string): string {
  return parseOptions(text, table, ["--database", database], () => undefined).database;
}

const taken = [
  ":memory:",
  "data/store.sqlite",
  "/var/lib/store.sqlite",
  "./12:30.sqlite",
  "C:/store.sqlite",
  "postgres://db.example/x",
  "postgresql://user:pw@db.example:5432/x",
  "postgres://user:p,w@one.example:5432,two.example:5433/x",
  "postgres://one.example,two.example/x?target_session_attrs=primary",
  "Postgres://user:pw@db.example/x",
  "POSTGRESQL://db.example/x",
];

for (const database of taken) {
  Deno.test(`databaseOption: takes ${database}`, () => {
    assert.equal(parse(database), database);
  });
}

const refused = [
  "postgre://u:hunter2@h/x",
  "postgresql:/u:hunter2@h/x",
  "postgres:u:hunter2@h",
  "mysql://u:hunter2@h/x",
  "MySQL://u:hunter2@h/x",
  " postgres://u:hunter2@h/x",
  "=postgres://u:hunter2@h/x",
  "postgres+ssl://u:hunter2@h/x",
  "postgres://u:hunter2@h:port/x",
  "postgres://u:hunter2@h:5432,i:port/x",
  "postgres://u:hunter2@h,i/x?target_session_attrs=standby",
  "file:///hunter2.sqlite",
  `0x${"ab".repeat(32)}`,
  "ab".repeat(32),
  "",
];

for (const database of refused) {
  Deno.test(`databaseOption: refuses "${database}" and does not repeat it`, () => {
    assert.throws(() => parse(database), (thrown) => {
      assert(thrown instanceof UsageError);
      assert.match(thrown.message, /^Invalid --database: Expected a (file or a )?URL [\w/: ]+$/);
      assert(!/hunter2|abab/.test(thrown.message), thrown.message);
      return true;
    });
  });
}
