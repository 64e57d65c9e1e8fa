import assert from "node:assert/strict";
import { sqlStateKindOf } from "../../../lib/intents/sqlstate.ts";

const kinds: readonly [kind: string, ...codes: string[]][] = [
  ["lost", "57P01", "57P02", "08000", "08006"],
  ["starting", "57P03", "57P05"],
  ["not_primary", "25006", "25P03"],
  ["exhausted", "53300", "53100"],
  ["race", "23505", "40001", "42P06", "42P07", "42710"],
  ["permanent", "28P01", "3D000", "42P01", "57014", "25001", "XX000"],
  ["none", "", "ECONNREFUSED"],
];

for (const [kind, ...codes] of kinds) {
  Deno.test(`sqlStateKindOf: ${codes.join(", ") || "no code"} is of kind ${kind}`, () =>
    codes.forEach((code) => assert.equal(sqlStateKindOf(code), kind, code)));
}
