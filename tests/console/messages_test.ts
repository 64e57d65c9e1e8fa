import assert from "node:assert/strict";
import { signal } from "@preact/signals";
import { announceReturn, openMessages } from "../../services/console/page/data/messages.ts";
import { FakeClock } from "../support/fake_clock.ts";

Deno.test("Messages: the newest three for 8 s each, until one is removed; equal words are two events", () => {
  const clock = new FakeClock();
  const { messages, announce } = openMessages(clock);
  const texts = () => messages.value.map(({ text, isSpoken }) => isSpoken ? `(${text})` : text);
  announce("a");
  clock.advance(5_000);
  announce("b");
  const remove = announce("b", { isSpoken: true });
  assert.deepEqual(texts(), ["a", "b", "(b)"]);
  announce("c");
  assert.deepEqual(texts(), ["b", "(b)", "c"]);
  remove();
  assert.deepEqual(texts(), ["b", "c"]);
  clock.advance(8_000);
  assert.deepEqual(texts(), []);
});

Deno.test("announceReturn: a device that was offline for a second is said to be online again, once", () => {
  const clock = new FakeClock();
  const isOffline = signal(false);
  const { messages, announce } = openMessages(clock);
  announceReturn(isOffline, announce, clock);
  for (const awayMs of [999, 1_000]) {
    isOffline.value = true;
    clock.advance(awayMs);
    isOffline.value = false;
  }
  clock.advance(5_000);
  assert.deepEqual(messages.value.map(({ text }) => text), ["You are online again."]);
});
