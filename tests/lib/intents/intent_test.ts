import assert from "node:assert/strict";
import {
  asStoreError,
  isFinal,
  OutcomeUnknownError,
  StoreConnectionLostError,
  StoreError,
} from "../../../lib/intents/intent.ts";

Deno.test("asStoreError: an error without a message is named by its code", () => {
  // As for a host name with two addresses, both of which refuse.
  const cause = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
  assert.equal(asStoreError(cause).message, "Database failed: ECONNREFUSED");
  assert.equal(asStoreError(new Error()).message, "Database failed: no reason given");
  assert.equal(asStoreError(new Error("disk is full")).message, "Database failed: disk is full");
});

Deno.test("asStoreError: a StoreError stays as it is", () => {
  const error = new StoreError("Database is read-only");
  assert.equal(asStoreError(error), error);
});

Deno.test("Errors of the store and of an unknown outcome have a code, and may be tried again", () => {
  const cause = new Error("test");
  const errors = [
    new StoreError("Full"),
    new StoreConnectionLostError(cause),
    new OutcomeUnknownError(`0x${"1".repeat(64)}`, cause),
    new OutcomeUnknownError(null, cause),
  ];
  assert.deepEqual(errors.map(({ code, retryable }) => [code, retryable]), [
    ["STORE_UNAVAILABLE", true],
    ["STORE_CONNECTION_LOST", true],
    ["OUTCOME_UNKNOWN", true],
    ["OUTCOME_UNKNOWN", true],
  ]);
  assert.match(errors[2]!.message, /transaction 0x1{64} .*test/);
  assert.doesNotMatch(errors[3]!.message, /null/);
});

Deno.test("isFinal: committed and failed intents do not change any more", () => {
  const states = ["accepted", "submitted", "committed", "failed"] as const;
  assert.deepEqual(states.filter(isFinal), ["committed", "failed"]);
});
