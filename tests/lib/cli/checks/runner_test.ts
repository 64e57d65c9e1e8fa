import assert from "node:assert/strict";
import {
  type CheckOutcome,
  failure,
  passed,
  type ServiceCheck,
} from "../../../../lib/cli/checks/check.ts";
import { type CheckResult, runChecks } from "../../../../lib/cli/checks/runner.ts";
import { NodeUnreachableError } from "../../../../lib/net/core_reader.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

const DEADLINE_MS = 1_000;

function checkOf(
  subject: string,
  run: () => Promise<CheckOutcome>,
  exclusiveResource?: string,
): ServiceCheck {
  return {
    service: "sample",
    subject,
    run,
    ...(exclusiveResource !== undefined && { exclusiveResource }),
  };
}

/** Runs checks; records results and lists of pending checks in the order they are reported. */
function start(...checks: ServiceCheck[]) {
  const clock = new FakeClock();
  const reported: CheckResult[] = [];
  const waited: string[] = [];
  const done = runChecks(checks, {
    clock,
    deadlineMs: DEADLINE_MS,
    onResult: (result) => reported.push(result),
    onWaiting: (waiting) => waited.push(waiting.map(({ subject }) => subject).join()),
  });
  return { clock, reported, waited, done };
}

Deno.test("runChecks: runs side by side, and prints results in the order of the checks", async () => {
  const slow = Promise.withResolvers<CheckOutcome>();
  const run = start(
    checkOf("slow", () => slow.promise),
    checkOf("quick", () => Promise.resolve(passed("done"))),
  );
  while (run.waited.at(-1) !== "slow") await Promise.resolve();
  assert.deepEqual(run.reported, []);
  run.clock.advance(70);
  slow.resolve(passed("done at last"));
  const results = await run.done;
  assert.deepEqual(results.map(({ subject, tookMs }) => [subject, tookMs]), [
    ["slow", 70],
    ["quick", 0],
  ]);
  assert.deepEqual(run.reported, results);
  assert.deepEqual([run.waited[0], run.waited.at(-1)], ["slow,quick", ""]);
  assert.equal(run.clock.pending, 0);
});

Deno.test("runChecks: a check that does not end fails at the deadline", async () => {
  const run = start(checkOf("never", () => new Promise(() => {})));
  run.clock.advance(DEADLINE_MS);
  const [result] = await run.done;
  assert.deepEqual([result?.level, result?.text], ["fail", "Not finished within 1000 ms"]);
});

Deno.test("runChecks: a check that blocks the event loop runs first, and its time does not count for others", async () => {
  const keystore = Promise.withResolvers<CheckOutcome>();
  let isOpen = false;
  const run = start(
    checkOf("node", () => Promise.resolve(isOpen ? passed("in time") : failure("too early", ""))),
    { ...checkOf("key", () => keystore.promise), blocksEventLoop: true },
  );
  run.clock.advance(10 * DEADLINE_MS);
  isOpen = true;
  keystore.resolve(passed("opened"));
  const found = (await run.done).map(({ subject, text, tookMs }) => [subject, text, tookMs]);
  assert.deepEqual(found, [["node", "in time", 0], ["key", "opened", 10 * DEADLINE_MS]]);
  assert.equal(run.clock.pending, 0);
});

Deno.test("runChecks: a throwing check does not fail the others", async () => {
  const run = start(
    checkOf("throws", () => Promise.reject(new TypeError("oops"))),
    checkOf("forbidden", () => Promise.reject(new Deno.errors.NotCapable("Requires net access"))),
    checkOf("away", () => Promise.reject(new NodeUnreachableError("http://a", undefined))),
    checkOf("fine", () => Promise.resolve(passed("well"))),
  );
  const results = await run.done;
  assert.deepEqual(results.map(({ level, text }) => [level, text.slice(0, 19)]), [
    ["fail", "oops"],
    ["fail", "Requires net access"],
    ["fail", "Core node at http:/"],
    ["ok", "well"],
  ]);
  assert.deepEqual(results.map(({ remedy }) => remedy), [
    "Fix the problem in the message",
    "Grant the permissions that the permissions check lists",
    "Start that service, or correct its URL",
    undefined,
  ]);
});

Deno.test("runChecks: a resource claimed by two checks is tried once, and reported for the second", async () => {
  let tries = 0;
  const listen = () => Promise.resolve(passed(`try ${tries += 1}`));
  const results = await start(
    checkOf("first", listen, "127.0.0.1:1"),
    checkOf("second", listen, "127.0.0.1:1"),
    { ...checkOf("of another", listen, "127.0.0.1:1"), service: "other" },
    checkOf("third", listen, "127.0.0.1:2"),
  ).done;
  assert.deepEqual(results.map(({ level }) => level), ["ok", "fail", "warn", "ok"]);
  for (const result of [results[1], results[2]]) {
    assert.match(result?.text ?? "", /^127\.0\.0\.1:1 is also configured for sample$/);
  }
  assert.equal(tries, 2);
});
