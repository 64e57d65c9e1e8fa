import assert from "node:assert/strict";
import { asStoreError } from "../../../lib/intents/intent.ts";

Deno.test("asStoreError: an error without a message is reported by its code", () => {
  // As for a host name with two addresses, both of which refuse.
  const cause = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
  assert.equal(asStoreError(cause).message, "Database failed: ECONNREFUSED");
  assert.equal(asStoreError(new Error()).message, "Database failed: no reason given");
  assert.equal(asStoreError(new Error("disk is full")).message, "Database failed: disk is full");
});
