import assert from "node:assert/strict";
import { ProblemTracker } from "../../../lib/log/problem_tracker.ts";

Deno.test("ProblemTracker: a problem begins once until it changes or ends, and ends once", () => {
  const tracker = new ProblemTracker();
  assert.equal(tracker.end(), false);
  assert.equal(tracker.begin("store"), true);
  assert.equal(tracker.begin("store"), false);
  assert.equal(tracker.begin("node"), true);
  assert.equal(tracker.end(), true);
  assert.equal(tracker.end(), false);
  assert.equal(tracker.begin("node"), true);
});
