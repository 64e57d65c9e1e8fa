import assert from "node:assert/strict";
import {
  databaseSchema,
  postgresServers,
  withPassword,
} from "../../../lib/database/database_url.ts";

Deno.test("postgresServers: returns a URL for each host, without target_session_attrs", () => {
  const url =
    "postgres://u:p,w@one:5432,two:5433/x?target_session_attrs=read-write&sslmode=require";
  assert.deepEqual(postgresServers(url).map(String), [
    "postgres://u:p,w@one:5432/x?sslmode=require",
    "postgres://u:p,w@two:5433/x?sslmode=require",
  ]);
  assert.deepEqual(postgresServers("postgresql://h").map(String), ["postgresql://h"]);
});

Deno.test("databaseSchema: accepts a file, or a URL of valid hosts that requires a primary", () => {
  const isTaken = (text: string) => databaseSchema.safeParse(text).success;
  const roles = ["", "?a=1", "?target_session_attrs=primary", "?target_session_attrs=read-write"];
  for (const role of roles) {
    assert.ok(isTaken(`postgres://u@one,two/x${role}`), role);
  }
  for (const role of ["standby", "any", ""]) {
    assert.ok(!isTaken(`postgres://u@one,two/x?target_session_attrs=${role}`), role);
  }
  const files = ["data/store.sqlite", "./12:30.sqlite", "C:/me@home/x.sqlite", ":memory:"];
  const urls = ["Postgres://u:pw@h/x", "POSTGRESQL://h/x", "postgres://u:p,w@one:1,two:2/x"];
  for (const text of [...files, ...urls, "file?target_session_attrs=standby"]) {
    assert.ok(isTaken(text), text);
  }
  const hosts = ["postgres://one:5432,two:port/x", "postgres://one:port,two:5432/x"];
  const schemes = ["mysql://h/x", "MySQL://h/x", "postgre://h/x", "postgres+ssl://h/x"];
  const malformed = ["postgres:h", "postgresql:/u@h/x", " postgres://h/x", "=postgres://h/x"];
  const bare = ["u:pw@h:5432/x", "u:p/w@h/x", "host=h user=u password = pw", "dbname=x"];
  const others = [
    "",
    "file:///x.sqlite",
    "file:x?mode=memory",
    "ab".repeat(32),
    `0x${"ab".repeat(32)}`,
  ];
  for (const text of [...hosts, ...schemes, ...malformed, ...bare, ...others]) {
    assert.ok(!isTaken(text), text);
  }
});

const passwords: [url: string, expected: string][] = [
  ["postgres://host/name", "postgres://:p%40ss@host/name"],
  ["postgres://u@one:1,two:2/name?a=b", "postgres://u:p%40ss@one:1,two:2/name?a=b"],
  ["postgres://u:own@host/name", "postgres://u:own@host/name"],
];
for (const [url, expected] of passwords) {
  Deno.test(`withPassword: ${url} becomes ${expected}`, () => {
    assert.equal(withPassword(url, "p@ss"), expected);
    assert.equal(withPassword(url, undefined), url);
  });
}
