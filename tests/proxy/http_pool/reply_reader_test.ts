import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { REPLY_BYTES_MAX } from "../../../services/proxy/http_pool/reply_body.ts";
import { ReplyError } from "../../../services/proxy/http_pool/reply_head.ts";
import { ByteBudget, LARGE_SHARE, SMALL_BYTES } from "../../../services/proxy/byte_budget.ts";
import {
  type HttpReply,
  ReplyBudgetError,
  ReplyReader,
} from "../../../services/proxy/http_pool/reply_reader.ts";

/** Feeds an answer in pieces of the given sizes, the last one as often as it takes. */
function readInPieces(answer: Buffer, sizes: readonly number[]): HttpReply | undefined {
  const reader = new ReplyReader();
  let at = 0;
  for (let piece = 0; at < answer.length; piece += 1) {
    const size = sizes[Math.min(piece, sizes.length - 1)] ?? answer.length;
    // A copy, as each piece of a socket is.
    const reply = reader.read(Buffer.from(answer.subarray(at, at + size)));
    at += size;
    if (reply !== undefined) {
      assert(at >= answer.length, "It was whole before its end");
      return reply;
    }
  }
  return reader.end();
}

const body = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));

const pieces = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 8 });

const fields = fc.constantFrom(
  "",
  "Date: Fri, 20 Nov 2026 12:00:00 GMT\r\n",
  "x-empty:\r\nContent-Type:application/json\r\n",
  "Connection: keep-alive, x\r\n",
);

const interim = fc.constantFrom(
  "",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n",
);

function chunked(
  bytes: Buffer,
  sizes: readonly number[],
  extension: string,
  trailer: string,
): Buffer {
  const parts: (Buffer | string)[] = [];
  for (let at = 0, chunk = 0; at < bytes.length; chunk += 1) {
    const part = bytes.subarray(at, at + (sizes[chunk % sizes.length] ?? 1));
    parts.push(`${part.length.toString(16)}${extension}\r\n`, part, "\r\n");
    at += part.length;
  }
  parts.push(`0${extension}\r\n${trailer}\r\n`);
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

Deno.test("ReplyReader: a counted body is read whole, wherever the pieces end", () => {
  fc.assert(fc.property(body, pieces, fields, interim, (bytes, sizes, others, before) => {
    const head = `${before}HTTP/1.1 200 OK\r\n${others}CONTENT-LENGTH: ${bytes.length} \r\n\r\n`;
    const reply = readInPieces(Buffer.concat([Buffer.from(head), bytes]), sizes);
    assert.deepEqual(reply && Buffer.from(reply.body), bytes);
    assert.deepEqual([reply?.status, reply?.reusable], [200, true]);
  }));
});

Deno.test("ReplyReader: a chunked body is joined, without extensions and trailers", () => {
  const extension = fc.constantFrom("", ";a=b", " ;x");
  const trailer = fc.constantFrom("", "checksum: 1\r\n", "a: b\r\nc: d\r\n");
  fc.assert(
    fc.property(body, pieces, pieces, extension, trailer, (bytes, sizes, chunks, extra, last) => {
      const head = "HTTP/1.1 429 Slow Down\r\nTransfer-Encoding: Chunked\r\n\r\n";
      const answer = Buffer.concat([Buffer.from(head), chunked(bytes, chunks, extra, last)]);
      const reply = readInPieces(answer, sizes);
      assert.deepEqual(reply && Buffer.from(reply.body), bytes);
      assert.deepEqual([reply?.status, reply?.reusable], [429, true]);
    }),
  );
});

Deno.test("ReplyReader: without a length, the end of the connection is the end of the body", () => {
  fc.assert(fc.property(body, pieces, (bytes, sizes) => {
    const head = Buffer.from("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
    const reply = readInPieces(Buffer.concat([head, bytes]), sizes);
    assert.deepEqual(reply && Buffer.from(reply.body), bytes);
    assert.equal(reply?.reusable, false);
  }));
});

Deno.test("ReplyReader: an answer that is cut off is none", () => {
  for (
    const text of [
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n",
    ]
  ) {
    assert.equal(readInPieces(Buffer.from(text), [7]), undefined, text);
  }
});

Deno.test("ReplyReader: a connection is not used again after HTTP/1.0, a close, or bytes too many", () => {
  const length = "content-length: 1\r\n";
  for (
    const [answer, reusable] of [
      [`HTTP/1.1 200 OK\r\n${length}\r\na`, true],
      [`HTTP/1.1 200\r\n${length}\r\na`, true],
      [`HTTP/1.0 200 OK\r\n${length}\r\na`, false],
      [`HTTP/1.1 200 OK\r\n${length}Connection: Keep-Alive, Close\r\n\r\na`, false],
      [`HTTP/1.1 200 OK\r\n${length}\r\nab`, false],
      ["HTTP/1.1 204 No Content\r\n\r\n", true],
      ["HTTP/1.1 205 Reset Content\r\ncontent-length: 2\r\n\r\n{}", false],
      ["HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", true],
    ] as const
  ) {
    assert.equal(readInPieces(Buffer.from(answer), [answer.length])?.reusable, reusable, answer);
  }
});

Deno.test("ReplyReader: what is no answer, or could be read in two ways, is refused for what it is", () => {
  const ok = "HTTP/1.1 200 OK\r\n";
  const chunks = `${ok}transfer-encoding: chunked\r\n\r\n`;
  const long = "a".repeat(20_000);
  const refusals: [text: string, why: RegExp][] = [
    ["SSH-2.0-OpenSSH\r\n\r\n", /not HTTP/],
    ["HTTP/2 200\r\n\r\n", /not HTTP/],
    ["HTTP/1.1 99 x\r\n\r\n", /not HTTP/],
    ["HTTP/1.1 600 x\r\n\r\n", /not HTTP/],
    ["HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n", /changes the protocol/],
    [`${ok}no field\r\n\r\n`, /no field/],
    [`${ok}: no name\r\n\r\n`, /no field/],
    [`${ok}content-length : 1\r\n\r\na`, /no field/],
    [`${ok}x: a\r\n folded: b\r\n\r\n`, /no field/],
    [`${ok}content-length: -1\r\n\r\n`, /Length/],
    [`${ok}content-length: 0x1\r\n\r\na`, /Length/],
    [`${ok}content-length: 1\r\ncontent-length: 2\r\n\r\na`, /Length/],
    [`${ok}content-length: 1\r\ncontent-length: 1\r\n\r\na`, /Length/],
    [`${ok}content-length: 99999999\r\n\r\n`, /is over 67108864 bytes/],
    [`${ok}content-length: 67108865\r\n\r\n`, /is over 67108864 bytes/],
    [`${ok}content-encoding: gzip\r\ncontent-length: 1\r\n\r\na`, /content encoding/],
    [`${ok}transfer-encoding: gzip, chunked\r\n\r\n`, /transfer encoding/],
    [`${chunks}zz\r\n`, /no size/],
    [`${chunks}\r\n`, /no size/],
    // Whole but for the line end: without a look at it, "bc" would pass for one.
    [`${chunks}1\r\nabc0\r\n\r\n`, /longer than it says/],
    [`${chunks}7fffffff\r\n${"a".repeat(10)}`, /is over 67108864 bytes/],
    [`${ok}x: ${long}\r\n\r\n`, /is over 16384 bytes/],
    [`${chunks}1;${long}\r\n`, /is over 16384 bytes/],
  ];
  for (const [text, message] of refusals) {
    for (const sizes of [[text.length], [5]]) {
      assert.throws(
        () => readInPieces(Buffer.from(text), sizes),
        { name: ReplyError.name, message },
        text.slice(0, 90),
      );
    }
  }
});

Deno.test("ReplyReader: the largest answer is read, however its end is known, and no larger one", () => {
  const largest = Buffer.alloc(REPLY_BYTES_MAX, "a");
  const untilClose = () => {
    const reader = new ReplyReader();
    reader.read(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"));
    reader.read(largest);
    return reader;
  };
  assert.equal(untilClose().end()?.body.length, REPLY_BYTES_MAX);
  const open = untilClose();
  assert.throws(() => open.read(Buffer.from("a")), { message: /is over 67108864 bytes/ });
  const length = Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${largest.length}\r\n\r\n`);
  const counted = readInPieces(Buffer.concat([length, largest]), [length.length, Infinity]);
  assert.equal(counted?.body.length, REPLY_BYTES_MAX);
  const head = Buffer.from("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
  const answer = Buffer.concat([head, chunked(largest, [REPLY_BYTES_MAX], "", "")]);
  assert.equal(readInPieces(answer, [Infinity])?.body.length, REPLY_BYTES_MAX);
});

Deno.test("ReplyReader: a body in the smallest chunks keeps nothing of what it came in", () => {
  const chunk = Buffer.from(`1;${"x".repeat(2_000)}\r\na\r\n`);
  const reader = new ReplyReader();
  reader.read(Buffer.from("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"));
  const CHUNKS = 20_000;
  for (let n = 0; n < CHUNKS; n += 1) reader.read(Buffer.from(chunk));
  const reply = reader.read(Buffer.from("0\r\n\r\n"));
  assert.equal(reply?.body.length, CHUNKS);
  // What is kept is the body alone, and not the 40 MB that it came in.
  assert.equal(reply?.body instanceof Uint8Array && reply.body.buffer.byteLength, 32_768);
});

Deno.test("ReplyReader: chunk lines count, too", () => {
  const reader = new ReplyReader();
  reader.read(Buffer.from("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"));
  const piece = Buffer.from(`1;${"x".repeat(16_000)}\r\na\r\n`.repeat(64));
  // As many again as an answer may have, and no more.
  const piecesTaken = Math.floor(2 * REPLY_BYTES_MAX / piece.length);
  for (let n = 0; n < piecesTaken; n += 1) assert.equal(reader.read(piece), undefined);
  assert.throws(() => reader.read(piece), { message: /is over 67108864 bytes/ });
});

Deno.test("ReplyReader: a large answer counts as memory while it is read, however its end is known", () => {
  const ok = "HTTP/1.1 200 OK\r\n";
  const large = SMALL_BYTES + 1;
  const parts = ["a".repeat(SMALL_BYTES), "a"];
  const chunk = `${ok}transfer-encoding: chunked\r\n\r\n${large.toString(16)}\r\n`;
  // What counts after each piece; a length counts before its bytes come.
  const rows: [pieces: string[], counted: number[]][] = [
    [[`${ok}content-length: ${large}\r\n\r\n`, ...parts], [large, large, 0]],
    [[`${ok}\r\n`, ...parts], [0, 0, large]],
    [[chunk, ...parts, "\r\n0\r\n\r\n"], [0, 0, large, 0]],
  ];
  for (const [pieces, counted] of rows) {
    const budget = new ByteBudget(Math.ceil(large / LARGE_SHARE));
    const reader = new ReplyReader(budget);
    let reply: HttpReply | undefined;
    const used = pieces.map((piece) => {
      reply = reader.read(Buffer.from(piece));
      return budget.used;
    });
    assert.deepEqual(used, counted);
    reply ??= reader.end();
    assert.deepEqual([reply?.body.length, budget.used], [large, 0]);
    const full = new ByteBudget(SMALL_BYTES / LARGE_SHARE);
    const refused = new ReplyReader(full);
    assert.throws(
      () => pieces.forEach((piece) => refused.read(Buffer.from(piece))),
      ReplyBudgetError,
    );
    refused.reset();
    assert.equal(full.used, 0);
  }
  const budget = new ByteBudget(0);
  const small = Buffer.from(
    `${ok}content-length: ${SMALL_BYTES}\r\n\r\n${"a".repeat(SMALL_BYTES)}`,
  );
  assert.equal(new ReplyReader(budget).read(small)?.body.length, SMALL_BYTES);
  const cut = new ByteBudget(Infinity);
  const reader = new ReplyReader(cut);
  reader.read(Buffer.from(`${ok}\r\n${"a".repeat(large)}`));
  reader.read(Buffer.from("a"));
  assert.equal(cut.used, large + 1);
  reader.reset();
  assert.equal(cut.used, 0);
  assert.equal(reader.end(), undefined, "nothing is left of it");
  assert.equal(reader.read(Buffer.from(`${ok}content-length: 1\r\n\r\nb`))?.body.length, 1);
});
