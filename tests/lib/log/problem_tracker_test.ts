import assert from "node:assert/strict";
import { ProblemTracker } from "../../../lib/log/problem_tracker.ts";

Deno.test("ProblemTracker: a problem begins once until it changes or ends, and ends once", () => {
  const tracker = new ProblemTracker();
  assert.equal(tracker.ends(), false);
  assert.equal(tracker.begins("store"), true);
  assert.equal(tracker.begins("store"), false);
  assert.equal(tracker.begins("node"), true);
  assert.equal(tracker.ends(), true);
  assert.equal(tracker.ends(), false);
  assert.equal(tracker.begins("node"), true);
});
