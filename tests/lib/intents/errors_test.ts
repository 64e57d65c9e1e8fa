import assert from "node:assert/strict";
import {
  asStoreError,
  sqlStateKindOf,
  StoreConnectionLostError,
} from "../../../lib/intents/errors.ts";

const kinds: readonly [kind: string, ...codes: string[]][] = [
  ["lost", "57P01", "57P02", "08000", "08006"],
  ["starting", "57P03", "57P05"],
  ["not_primary", "25006", "25P03"],
  ["exhausted", "53300", "53100"],
  ["race", "23505", "40001", "42P06", "42P07", "42710"],
  ["permanent", "28P01", "3D000", "42P01", "57014", "25001", "XX000"],
  ["none", "", "ECONNREFUSED", "EPIPE"],
];

for (const [kind, ...codes] of kinds) {
  Deno.test(`sqlStateKindOf: ${codes.join(", ") || "no code"} is of kind ${kind}`, () =>
    codes.forEach((code) => assert.equal(sqlStateKindOf(code), kind, code)));
}

Deno.test("asStoreError: an error without a message is reported by its code", () => {
  // As for a host name with two addresses, both of which refuse.
  const cause = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
  assert.equal(asStoreError(cause).message, "Database failed: ECONNREFUSED");
  assert.equal(asStoreError(new Error()).message, "Database failed: no reason given");
  assert.equal(asStoreError(new Error("disk is full")).message, "Database failed: disk is full");
});

Deno.test("StoreConnectionLostError: speaks of no request, since logs and the health show it too", () => {
  const { message } = new StoreConnectionLostError(new Error("reset"));
  assert.equal(message, "Database connection was lost");
});
