import assert from "node:assert/strict";
import fc from "fast-check";
import { redact } from "../../lib/redact.ts";

const shown: readonly (readonly [text: string, expected: string])[] = [
  ["http://localhost:8545 answers", "http://localhost:8545 answers"],
  ["see ws://127.0.0.1:8546/ws, please", "see ws://127.0.0.1:8546/ws, please"],
  ["https://user:pass@node.example/rpc", "https://…@node.example/rpc"],
  ["(https://user@node.example)", "(https://…@node.example)"],
  ["https://p@ss:w@rd@node.example/", "https://…@node.example/"],
  ["postgres://bridge:pw@db:5432/bridge?sslmode=require", "postgres://…@db:5432/bridge?…"],
  ["at postgres://u:p,w@a:1,b:2/x?k=1", "at postgres://…@a:1,b:2/x?…"],
  ["postgres://a:1,b:2/x?password=pw", "postgres://a:1,b:2/x?…"],
  ["https://node.example/v3/0123456789abcdef0123/x", "https://node.example/v3/…/x"],
  ["https://node.example/a?apikey=1#b", "https://node.example/a?…"],
  ["ws://u:p(w)x,y'z@node.example/ws", "ws://…@node.example/ws"],
  ["http://node.example/?key=abc,def(1)", "http://node.example/?…"],
  ["http://node.example#secret", "http://node.example?…"],
  ["http://h/0123456789abcdef01.23456789abcdef", "http://h/…"],
  [`reading "https://u:p@h/?k=1" failed`, `reading "https://…@h/?…" failed`],
  [`received "0x${"ab".repeat(32)}"`, 'received "…"'],
  [`received ${"AB".repeat(32)}0`, "received …0"],
  ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"],
];

for (const [text, expected] of shown) {
  Deno.test(`redact: ${text.slice(0, 40)} becomes ${expected.slice(0, 40)}`, () => {
    assert.equal(redact(text), expected);
  });
}

Deno.test("redact: no user or password of any URL is left", () => {
  const letter = fc.constantFrom(..."Az09!$&*+;=%@:.(),'-");
  const word = fc.string({ unit: letter, maxLength: 12 }).map((text) => `SECRET${text}`);
  // Unlike fc.webPath, made in a moment.
  const segment = fc.string({ unit: fc.constantFrom(..."Az09-._~!$&'()*+,;=:@%"), maxLength: 30 });
  const path = fc.array(segment, { maxLength: 4 })
    .map((segments) => segments.map((segment) => `/${segment}`).join(""));
  fc.assert(fc.property(word, word, path, (user, password, path) => {
    assert(!redact(`tried wss://${user}:${password}@host${path} twice`).includes("SECRET"));
  }));
});

Deno.test("redact: takes time in proportion to the length of the text", () => {
  const started = performance.now();
  for (const piece of ["a.", "a://", "a:", "://", "@", "a://b@", "a?"]) {
    redact(`${piece.repeat(100_000)}://x`);
  }
  assert(performance.now() - started < 2_000, "A quadratic one took minutes");
});
