/** Answers of nodes, byte by byte: complete ones are read, all others close their connection. */
import assert from "node:assert/strict";
import { errors } from "undici";
import { ByteBudget, LARGE_SHARE, SMALL_BYTES } from "../../../services/proxy/shared/limits.ts";
import { ConnectionError } from "../../../services/proxy/node/http_connection.ts";
import type { HttpPool } from "../../../services/proxy/node/http_pool.ts";
import { REPLY_BYTES_MAX, ReplyBody, ReplyError } from "../../../services/proxy/node/reply_body.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { CHANGE, failed, poolTo, RawNode, READ, TIMEOUT_MS } from "./http_pool_scene.ts";

async function play(
  answer: RawNode["answer"],
  scene: (pool: HttpPool, node: RawNode, clock: FakeClock) => Promise<void>,
  budget = new ByteBudget(Infinity),
): Promise<void> {
  const node = new RawNode(answer);
  const clock = new FakeClock();
  const pool = poolTo(`http://127.0.0.1:${await node.listen()}`, { clock, budget });
  try {
    await scene(pool, node, clock);
    assert.equal(budget.used, 0);
  } finally {
    pool.stop();
    await node.stop();
    assert.equal(clock.pending, 0, "A timer was left behind");
  }
}

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;

Deno.test("HttpConnection: an ambiguous answer, or one that is not HTTP, is refused", async () => {
  const refused: [text: string, why: RegExp][] = [
    ["SSH-2.0-OpenSSH\r\n\r\n", /HTTP/],
    [
      "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
      /bad upgrade/,
    ],
    [`${OK}no field\r\n\r\n`, /HTTP/],
    [`${OK}content-length : 1\r\n\r\na`, /HTTP/],
    [`${OK}content-length: -1\r\n\r\n`, /HTTP/],
    [`${OK}content-length: 1\r\ncontent-length: 2\r\n\r\na`, /length/],
    [`${OK}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`, /length/],
    [`${OK}transfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n1\r\na\r\n0\r\n\r\n`, /./],
    [`${OK}content-encoding: gzip\r\ncontent-length: 1\r\n\r\na`, /content encoding/],
    [`${OK}content-length: ${REPLY_BYTES_MAX + 1}\r\n\r\n`, /is over 67108864 bytes/],
    [`${CHUNKED}zz\r\n`, /HTTP/],
    [`${CHUNKED}1\r\nabc0\r\n\r\n`, /HTTP/],
    [`${OK}x: ${"a".repeat(20_000)}\r\n\r\n`, /Headers/],
  ];
  for (const [text, why] of refused) {
    await play(() => ({ pieces: [text] }), async (pool, node) => {
      for (const options of [READ, CHANGE]) {
        await assert.rejects(pool.post("a", options), failed("sent", why), text);
      }
      assert.equal(node.requests.length, 2, "It is not asked again");
      await eventually("its end", () => node.sockets.size === 0);
    });
  }
});

Deno.test("ConnectionError: shows a code or a message without an address", () => {
  const rows: [cause: unknown, message: string][] = [
    [Object.assign(new Error("10.0.0.1"), { code: "ECONNRESET" }), "ECONNRESET"],
    [new errors.SocketError("other side closed"), "The node closed the connection"],
    [new ReplyError("timeout", "No answer within 7 ms"), "No answer within 7 ms"],
    [new Error("The proxy stops"), "The proxy stops"],
  ];
  for (const [cause, message] of rows) {
    const error = new ConnectionError("sent", cause);
    assert.equal(error.message, message);
    assert.equal(error.cause, cause);
  }
});

Deno.test("HttpConnection: if an answer is incomplete, the request fails, and its bytes are freed", async () => {
  const [short, large] = [3, SMALL_BYTES + 1].map((n) => `${OK}content-length: ${n}\r\n\r\nab`);
  for (const text of [OK, short!, large!, `${CHUNKED}3\r\nabc\r\n`]) {
    await play(() => ({ pieces: [text], ends: true }), async (pool) => {
      await assert.rejects(pool.post("a", READ), failed("sent", /./));
    });
  }
});

Deno.test("HttpConnection: a read is not sent again if its answer broke off, or its connection was new", async () => {
  const whole = `${OK}content-length: 2\r\n\r\nok`;
  const reused = [{ pieces: [whole] }, { pieces: [whole.slice(0, -1)], ends: true }];
  const reopened = [{ pieces: [whole], ends: true }, { pieces: [], ends: true }];
  for (const [answers, isOpenBefore] of [[reused, true], [reopened, false]] as const) {
    await play((request) => answers[request - 1] ?? { pieces: [whole] }, async (pool, node) => {
      await pool.post("a", READ);
      if (!isOpenBefore) await eventually("its end", () => node.sockets.size === 0);
      await assert.rejects(pool.post("b", READ), failed("sent", /./));
      assert.equal(node.requests.length, 2);
    });
  }
});

Deno.test("HttpConnection: an unrequested answer is dropped, and reads get their own answers", () => {
  const answer = (body: string) => `${OK}content-length: ${body.length}\r\n\r\n${body}`;
  const bodyOf = (text: string) => text.slice(text.indexOf("\r\n\r\n") + 4);
  return play((request, text) => {
    const own = answer(bodyOf(text));
    return { pieces: request % 3 === 0 ? [own, answer("unasked for")] : [own] };
  }, async (pool) => {
    const read = async (reader: number) => {
      for (let n = 0; n < 50; n += 1) {
        const text = `reader ${reader} read ${n}`;
        const { body } = await pool.post(text, { ...READ, isAnswer: (body) => body === text });
        assert.equal(body, text);
      }
    };
    await Promise.all([1, 2, 3, 4].map(read));
  });
});

Deno.test("HttpConnection: a write uses a new connection, which the node is asked to close", () =>
  play(() => ({ pieces: [`${OK}content-length: 2\r\n\r\nok`] }), async (pool, node) => {
    await pool.post("a", READ);
    for (let n = 0; n < 3; n += 1) await pool.post("b", CHANGE);
    await pool.post("a", READ);
    assert.deepEqual(node.requests.map(({ connection }) => connection), [1, 2, 3, 4, 1]);
    const closes = node.requests.map(({ text }) => /^connection: close$/im.test(text));
    assert.deepEqual(closes, [false, true, true, true, false]);
    await eventually("the end of the others", () => node.sockets.size === 1);
  }));

Deno.test("HttpConnection: writes to a node that closes idle connections arrive once, and none fails", () =>
  play((request) => ({
    pieces: [`${OK}content-length: 2\r\n\r\nok`],
    ends: request % 3 === 0, // as if it had been idle for too long
  }), async (pool, node) => {
    const texts = Array.from({ length: 200 }, (_, n) => `write ${n}.`);
    for (const [n, text] of texts.entries()) {
      const reads = [pool.post(`read ${n}.`, READ), pool.post(`read ${n}.`, READ)];
      assert.deepEqual(await pool.post(text, CHANGE), { status: 200, body: "ok" });
      for (const { status } of await Promise.all(reads)) assert.equal(status, 200);
    }
    for (const text of texts) {
      assert.equal(node.requests.filter((request) => request.text.endsWith(text)).length, 1, text);
    }
  }));

Deno.test("HttpConnection: single bytes do not extend the time limit", () => {
  let isDone = false;
  const dribble = () => ({ pieces: [`${OK}content-length: 9\r\n\r\na`] });
  return play(dribble, async (pool, node, clock) => {
    const late = pool.post("a", READ).finally(() => isDone = true);
    void late.catch(() => {});
    await eventually("it is asked", () => node.requests.length === 1);
    for (let n = 0; n < 4; n += 1) {
      assert(!isDone);
      for (const socket of node.sockets) socket.write("a");
      clock.advance(TIMEOUT_MS / 4);
    }
    await assert.rejects(late, failed("sent", "timeout"));
    await eventually("its end", () => node.sockets.size === 0);
  });
});

Deno.test("HttpConnection: an answer that does not fit into memory is refused, and its connection closed", () => {
  const large = `${OK}content-length: ${SMALL_BYTES + 1}\r\n\r\n${"a".repeat(SMALL_BYTES + 1)}`;
  return play(() => ({ pieces: [large] }), async (pool, node) => {
    await assert.rejects(pool.post("a", READ), failed("sent", "memory"));
    await eventually("its end", () => node.sockets.size === 0);
  }, new ByteBudget(SMALL_BYTES / LARGE_SHARE));
});

Deno.test("ReplyBody: pieces of every size are joined to one text, and the next body starts empty", () => {
  const body = new ReplyBody(new ByteBudget(Infinity));
  const text = Array.from({ length: 5_000 }, (_, n) => `${n}€`).join("");
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 7, 4_096, bytes.length]) {
    for (let at = 0; at < bytes.length; at += size) body.add(bytes.subarray(at, at + size));
    assert.equal(body.end(), text, `${size}`);
  }
});

Deno.test("ReplyBody: a large body is counted from its declared length, or once it exceeds the small size", () => {
  const large = SMALL_BYTES + 1;
  const budget = new ByteBudget(Math.ceil(large / LARGE_SHARE));
  const body = new ReplyBody(budget);
  body.reserve(large);
  assert.equal(budget.used, large);
  body.add(new Uint8Array(large).fill(0x61));
  assert.equal(budget.used, large);
  assert.equal(body.end(), "a".repeat(large));
  assert.equal(budget.used, 0);
  body.add(new Uint8Array(SMALL_BYTES).fill(0x61));
  assert.equal(budget.used, 0);
  body.add(new Uint8Array([0x62]));
  assert.equal(budget.used, large);
  assert.throws(() => body.add(new Uint8Array(1)), { kind: "memory" });
  body.clear();
  assert.equal(budget.used, 0);
  assert.equal(body.end(), "");
});

Deno.test("ReplyBody: a body of the maximum size is read, a larger one is refused", () => {
  const body = new ReplyBody(new ByteBudget(Infinity));
  const piece = new Uint8Array(1024 * 1024).fill(0x61);
  for (let bytes = 0; bytes < REPLY_BYTES_MAX; bytes += piece.length) body.add(piece);
  assert.throws(() => body.add(new Uint8Array(1)), { message: /is over 67108864 bytes/ });
  assert.equal(body.end().length, REPLY_BYTES_MAX);
  assert.throws(() => body.reserve(REPLY_BYTES_MAX + 1), { message: /is over 67108864 bytes/ });
});
