import assert from "node:assert/strict";
import { MessageTurns, WAITING_MAX } from "../../../services/proxy/clients/message_turns.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const AT_ONCE = 256;

Deno.test("MessageTurns: handles what comes at once, then lets callers take turns, each in order", () => {
  const clock = new FakeClock();
  const turns = new MessageTurns(clock);
  const handled: string[] = [];
  const [first, second] = ["a", "b"].map((caller) =>
    turns.ofClient(caller, (text) => handled.push(caller + text))
  );
  assert(first && second);
  for (let n = 0; n < AT_ONCE + 3; n += 1) assert(first(`${n}`));
  assert(second("0"));
  assert.deepEqual(handled.splice(0), Array.from({ length: AT_ONCE }, (_, n) => `a${n}`));
  clock.advance(0);
  assert.deepEqual(handled.splice(0), ["a256", "b0", "a257", "a258"]);
  assert(first("next"));
  assert.deepEqual(handled, ["anext"]);
});

Deno.test("MessageTurns: sockets are served every few milliseconds", () => {
  let [nowMs, handled] = [0, 0];
  const turns: (() => void)[] = [];
  const after = (_: number, task: () => void) => {
    turns.push(task);
    return () => {};
  };
  const receive = new MessageTurns({ now: () => nowMs, after }).ofClient("a", () => {
    handled += 1;
    nowMs += 1; // what a message takes
  });
  for (let n = 0; n < AT_ONCE + 10; n += 1) receive("x");
  turns.shift()?.();
  assert.deepEqual([handled, turns.length], [AT_ONCE + 4, 1]);
});

Deno.test("MessageTurns: of one client, a bounded number of messages and characters waits", () => {
  const turns = new MessageTurns(new FakeClock());
  const [many, large] = [turns.ofClient("a", () => {}), turns.ofClient("b", () => {})];
  for (let n = 0; n < AT_ONCE + WAITING_MAX; n += 1) assert(many("x"));
  assert.equal(many("x"), false);
  assert(large("x".repeat(1024 * 1024)));
  assert.equal(large("x"), false);
});
