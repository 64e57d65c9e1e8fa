import assert from "node:assert/strict";
import fc from "fast-check";
import { ClientFrames } from "../../../lib/net/client_frames.ts";

/** Reads the frames of a client by the letter of RFC 6455, section 5.2. */
function read(bytes: Uint8Array): { text: string; mask: string }[] {
  const frames: { text: string; mask: string }[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length;) {
    assert.equal(view.getUint8(at), 0x81, "a whole text message");
    const second = view.getUint8(at + 1);
    assert(second & 0x80, "masked");
    let length = second & 0x7f;
    at += 2;
    if (length === 126) {
      length = view.getUint16(at);
      assert(length > 125, "the shortest form of a length");
      at += 2;
    } else if (length === 127) {
      length = Number(view.getBigUint64(at));
      assert(length > 65_535, "the shortest form of a length");
      at += 8;
    }
    const mask = bytes.slice(at, at + 4);
    const payload = bytes.slice(at + 4, at + 4 + length)
      .map((byte, index) => byte ^ (mask[index % 4] ?? 0));
    frames.push({ text: new TextDecoder().decode(payload), mask: mask.toHex() });
    at += 4 + length;
  }
  return frames;
}

const frames = new ClientFrames();
const texts = (written: readonly string[]) => read(frames.encode(written)).map(({ text }) => text);

Deno.test("ClientFrames: a server reads back every text written, in ASCII and beyond it", () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: "grapheme", maxLength: 200 }));
  fc.assert(fc.property(fc.array(text), (written) => {
    assert.deepEqual(texts(written), written);
  }));
});

Deno.test("ClientFrames: each form of a length, at its bounds", () => {
  for (const length of [0, 1, 125, 126, 127, 65_535, 65_536]) {
    const [ascii, wide] = ["x".repeat(length), `${"x".repeat(Math.max(0, length - 2))}é`];
    assert.deepEqual(texts([ascii, wide, ascii]), [ascii, wide, ascii]);
  }
});

Deno.test("ClientFrames: each frame has a random mask of its own, the first one too", () => {
  const masks = read(new ClientFrames().encode(Array(3_000).fill("a"))).map(({ mask }) => mask);
  assert(new Set(masks).size > 2_990 && masks[0] !== "00000000");
});
