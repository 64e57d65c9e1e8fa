import assert from "node:assert/strict";
import { OnceLog } from "../../../lib/log/once_log.ts";

Deno.test("OnceLog: logs a problem once until it changes or ends, and its end once", () => {
  const log = new OnceLog();
  assert.equal(log.ends(), false);
  assert.equal(log.begins("store"), true);
  assert.equal(log.begins("store"), false);
  assert.equal(log.begins("node"), true);
  assert.equal(log.ends(), true);
  assert.equal(log.ends(), false);
  assert.equal(log.begins("node"), true);
});
