import assert from "node:assert/strict";
import fc from "fast-check";
import {
  FrameJoiner,
  OutgoingMessage,
  withIds,
} from "../../../services/proxy/hub/notifications.ts";

/** The text messages in some bytes, read by the letter of RFC 6455, section 5.2. */
function received(bytes: Uint8Array): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  for (let at = 0; at < bytes.length;) {
    assert.equal(view.getUint8(at), 0b1000_0001, "FIN, no extension, opcode 1");
    let length = view.getUint8(at + 1); // the mask bit is not set
    at += 2;
    if (length === 126) {
      length = view.getUint16(at);
      assert(length > 125, "The shortest form is used");
      at += 2;
    } else if (length === 127) {
      length = Number(view.getBigUint64(at));
      assert(length > 65_535, "The shortest form is used");
      at += 8;
    }
    assert(at + length <= bytes.length);
    texts.push(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(at, at + length)));
    at += length;
  }
  return texts;
}

Deno.test("OutgoingMessage: frames of every length are decoded to the same text", () => {
  for (const length of [0, 1, 125, 126, 127, 65_535, 65_536, 200_000]) {
    const text = "x".repeat(length);
    assert.deepEqual(received(new OutgoingMessage(text).frame), [text]);
  }
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => {
    assert.deepEqual(received(new OutgoingMessage(text).frame), [text]);
  }));
});

Deno.test("FrameJoiner: joins the given messages, independent of earlier calls", () => {
  const messages = [..."abcd"].map((letter) => new OutgoingMessage(letter.repeat(200)));
  fc.assert(fc.property(
    fc.array(fc.subarray(messages, { minLength: 1 }), { maxLength: 5 }),
    (wishes) => {
      const joiner = new FrameJoiner();
      for (const wish of wishes) {
        const texts = wish.map(({ text }) => text);
        assert.deepEqual(received(joiner.join(wish)), texts);
      }
    },
  ));
});

Deno.test("FrameJoiner: equal lists share the bytes", () => {
  const [a, b] = [new OutgoingMessage("a"), new OutgoingMessage("b")];
  const joiner = new FrameJoiner();
  const joined = joiner.join([a, b]);
  assert.equal(joiner.join([a, b]), joined);
  assert.equal(joiner.join([a]), a.frame);
  assert.equal(joiner.join([a, b]), joined);
  assert.deepEqual(received(joiner.join([b, a])), ["b", "a"]);
  assert.deepEqual(received(joiner.join([b, a, a])), ["b", "a", "a"]);
  assert.deepEqual(received(new FrameJoiner().join([])), []);
});

Deno.test("withIds: changes only the subscription id", () => {
  const frame = (id: string) =>
    `{ "method":"eth_subscription", "params":{"result":{"subscription":"0x1","n":1.0}, "subscription": "${id}"} }`;
  const textFor = withIds(frame("0x1"), "0x1");
  for (const id of ["0x2", "0x1", "0x3"]) assert.equal(textFor(id), frame(id));
  assert.equal(textFor(undefined), frame("0x1"));
});
