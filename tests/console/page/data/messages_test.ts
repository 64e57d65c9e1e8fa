import assert from "node:assert/strict";
import { createMessages } from "../../../../services/console/page/data/messages.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

Deno.test("createMessages: each message is shown for 8 s, and a repeated text is announced once", () => {
  const clock = new FakeClock();
  const { list: messages, announce } = createMessages(clock);
  const texts = () => messages.value.map(({ text, isSpoken }) => isSpoken ? `(${text})` : text);
  announce("a");
  clock.advance(5_000);
  for (const text of ["b", "c", "d"]) announce(text, { isSpoken: true });
  const remove = announce("e", { isSpoken: true });
  assert.deepEqual(texts(), ["a", "(b)", "(c)", "(d)", "(e)"]);
  remove();
  announce("d", { isSpoken: true });
  assert.deepEqual(texts(), ["a", "(b)", "(c)", "(d)"]);
  const [{ id } = { id: -1 }] = messages.value.slice(-1);
  announce("d");
  announce("d", { isSpoken: true });
  assert.deepEqual(texts(), ["a", "(b)", "(c)", "d"], "seen from now on, and not read again");
  assert.equal(messages.value.at(-1)?.id, id);
  clock.advance(3_000);
  assert.deepEqual(texts(), ["(b)", "(c)", "d"]);
  announce("a");
  announce("d");
  assert.deepEqual(texts(), ["(b)", "(c)", "d", "a", "d"], "news in between");
  clock.advance(8_000);
  assert.deepEqual(texts(), []);
});

Deno.test("createMessages: a text that is repeated later is announced again", () => {
  const clock = new FakeClock();
  const { list: messages, announce } = createMessages(clock);
  announce("the price is outside", { isSpoken: true });
  const [first] = messages.value;
  clock.advance(1_000);
  announce("the price is outside", { isSpoken: true });
  assert.deepEqual(messages.value.map(({ text }) => text), ["the price is outside"]);
  const [second] = messages.value;
  assert.notEqual(second?.id, first?.id);
  announce("the price is outside", { isSpoken: true });
  assert.equal(messages.value[0]?.id, second?.id);
  announce("the price is outside", { isSpoken: true, isAnswer: true });
  assert.notEqual(messages.value[0]?.id, second?.id, "a key is always answered");
});

Deno.test("createMessages: closing a message hides it, and leaves the text for screen readers", () => {
  const { list: messages, announce, hide } = createMessages(new FakeClock());
  announce("a");
  announce("b", { isSpoken: true });
  hide();
  assert.deepEqual(messages.value.map(({ text }) => text), ["b"]);
});

Deno.test("notify: a browser that lets no page notify, such as Chrome on Android, ends nothing else", async () => {
  // Not a literal: its types are those of a browser.
  const url = import.meta.resolve("../../../../services/console/page/data/notify.ts");
  const { notify }: { notify(body: string): void } = await import(url);
  let tried = 0;
  class Notification {
    static permission = "granted";
    constructor() {
      tried += 1;
      throw new TypeError("Illegal constructor");
    }
  }
  Object.assign(globalThis, { Notification, document: { hidden: true } });
  try {
    notify("Bet 7 won");
  } finally {
    for (const name of ["Notification", "document"]) Reflect.deleteProperty(globalThis, name);
  }
  assert.equal(tried, 1);
});
