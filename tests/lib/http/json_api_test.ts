import assert from "node:assert/strict";
import { Hono } from "hono";
import { z } from "zod";
import { afterInput, type Clock } from "../../../lib/clock.ts";
import { NodeTimeoutError } from "../../../lib/net/core_reader.ts";
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { INTENT_ERRORS } from "../../../lib/intents/error_answers.ts";
import { allowReadsFrom, createBodyReader, useJsonApi } from "../../../lib/http/json_api.ts";
import { nextTurn } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const JSON_TYPE = { "content-type": "application/json" };

function newApi(origins: string[] = ["*"]): Hono {
  const app = new Hono();
  useJsonApi(app, "test", origins, INTENT_ERRORS);
  return app;
}

/** An application that reads JSON from pages of some origins, and returns it. */
function echoing(origins?: string[], clock?: Clock): Hono {
  const readBody = createBodyReader(origins ?? ["*"], clock);
  return newApi(origins).post("/", async (c) => c.json(await readBody(c, z.unknown())));
}

/** Sends a request. A body without a length is read in turns: the last one has ended too. */
async function request(app: Hono, path: string, init: RequestInit): Promise<Response> {
  const answer = await app.request(path, init);
  await new Promise<void>(afterInput);
  return answer;
}

/** Posts JSON. */
async function send(app: Hono, body: BodyInit, headers?: HeadersInit): Promise<Response> {
  return await request(app, "/", {
    method: "POST",
    body,
    headers: { ...JSON_TYPE, ...headers },
  });
}

Deno.test("useJsonApi: an expected error is answered with its status, code, message and advice", async () => {
  const timeout = new NodeTimeoutError("http://node", "eth_chainId", 5);
  const app = newApi().get("/", () => {
    throw timeout;
  });
  const response = await app.request("/");
  assert.equal(response.status, 503);
  assert.deepEqual(await response.json(), {
    success: false,
    error: `${timeout.message}; nothing was recorded, try again`,
    code: "NODE_TIMEOUT",
    retry: "later",
  });
});

Deno.test("useJsonApi: a call that the node refuses now may succeed later; one that it refuses for good may not", async () => {
  const app = newApi().get("/:code", (c) => {
    throw new RpcError(Number(c.req.param("code")), "Not now");
  });
  const answerTo = async (rpcCode: number) => {
    const { code, retry, details } = await (await app.request(`/${rpcCode}`)).json();
    return [code, retry, details.rpcCode];
  };
  const { limitExceeded, resourceUnavailable, invalidParams } = RpcCode;
  for (const rpcCode of [limitExceeded, resourceUnavailable]) {
    assert.deepEqual(await answerTo(rpcCode), ["NODE_UNREACHABLE", "later", rpcCode]);
  }
  assert.deepEqual(await answerTo(invalidParams), ["NODE_REFUSED", "never", invalidParams]);
});

Deno.test("createBodyReader: a body over the limit is 413, with and without Content-Length", async () => {
  const app = echoing();
  const largest = "1".repeat(65_536);
  assert.equal((await send(app, largest)).status, 200);
  assert.equal((await send(app, `${largest}1`, { "content-length": "65537" })).status, 413);
  assert.equal((await send(app, largest, { "content-length": "65536" })).status, 200);
  const stream = () => new Blob([`${largest}1`]).stream();
  const both = { "content-length": "65536", "transfer-encoding": "chunked" };
  assert.equal((await send(app, stream(), both)).status, 413);
  const refused = await send(app, stream());
  assert.equal(refused.status, 413);
  const twice = { "content-length": "65536, 65536" }; // the server accepts equal ones
  assert.equal((await send(app, stream(), twice)).status, 413);
  assert.match(
    (await refused.json()).error,
    /^BODY_TOO_LARGE: Body is over 65536 bytes, or in too many pieces: send a smaller one at once$/,
  );
});

const types: [type: string | undefined, status: number][] = [
  ["application/json", 200],
  ["application/json; charset=utf-8", 200],
  ["Application/JSON", 200],
  ["text/plain", 415],
  ["text/plain; application/json", 415],
  ["application/jsonp", 415],
  ["application/x-www-form-urlencoded", 415],
  ["multipart/form-data; boundary=a", 415],
  ["", 415],
  [undefined, 415],
];
for (const [type, status] of types) {
  Deno.test(`createBodyReader: Content-Type ${type} is answered with ${status}`, async () => {
    const app = echoing();
    const headers = type === undefined ? undefined : { "content-type": type };
    const body = new TextEncoder().encode("{}");
    assert.equal((await request(app, "/", { method: "POST", body, headers })).status, status);
  });
}

Deno.test("createBodyReader: accepts Content-Encoding identity, in any case", async () => {
  for (const [encoding, status] of [["Identity", 200], ["br", 415]] as const) {
    assert.equal((await send(echoing(), "{}", { "content-encoding": encoding })).status, status);
  }
});

Deno.test("createBodyReader: only a page of an allowed origin may send a body", async () => {
  const app = echoing(["https://app.example"]);
  for (const [origin, status] of [["https://app.example", 200], ["null", 403]] as const) {
    assert.equal((await send(app, "{}", { origin })).status, status);
  }
});

Deno.test("useJsonApi: with * every page may read answers and errors, and preflights are answered", async () => {
  const app = echoing();
  const ask = async (path: string, method: string, body?: string) => {
    const headers = { ...JSON_TYPE, origin: "https://any.example" };
    const answer = await request(app, path, { method, headers, body: body ?? null });
    return [answer.status, answer.headers.get("access-control-allow-origin")];
  };
  assert.deepEqual(await ask("/", "POST", "{}"), [200, "*"]);
  assert.deepEqual(await ask("/", "POST", "no JSON"), [400, "*"]);
  assert.deepEqual(await ask("/none", "GET"), [404, "*"]);
  assert.deepEqual(await ask("/", "PUT", "{}"), [405, "*"]);
  assert.deepEqual(await ask("/", "OPTIONS"), [204, "*"]);
});

Deno.test("allowReadsFrom: only the given origins may read, none without any, and only with GET", async () => {
  const [page, other] = ["http://127.0.0.1:8600", "https://other.example"];
  const rows: [
    allowed: string[] | undefined,
    origin: string,
    method: string,
    name: string | null,
  ][] = [
    [[page], page, "GET", page],
    [[page], other, "GET", null],
    [[page], page, "POST", null],
    [["*"], page, "GET", "*"],
    [undefined, page, "GET", null],
  ];
  for (const [allowed, origin, method, name] of rows) {
    const app = new Hono();
    allowReadsFrom(app, allowed);
    app.all("/metrics", (c) => c.text(""));
    const { headers } = await app.request("/metrics", { method, headers: { origin } });
    assert.equal(headers.get("access-control-allow-origin"), name, `${method} ${origin}`);
  }
});

for (const length of ["100", undefined]) {
  const kind = length === undefined ? "chunked" : "of a known length";
  Deno.test(`createBodyReader: a body ${kind} that does not arrive within five seconds is refused with 408`, async () => {
    const clock = new FakeClock();
    const app = echoing(undefined, clock);
    const sendText = (text: string, isComplete: boolean) => {
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(text));
          if (isComplete) controller.close();
        },
      });
      return send(app, body, length === undefined ? {} : { "content-length": length });
    };
    assert.equal((await sendText("{}", true)).status, 200);
    assert.equal(clock.pending, 0, "a timer was left behind");
    let isAnswered = false;
    const answer = sendText('{"a":', false).finally(() => isAnswered = true);
    await clock.untilScheduled();
    clock.advance(4_999);
    await nextTurn();
    assert.equal(isAnswered, false);
    clock.advance(1);
    const refused = await answer;
    assert.equal(refused.status, 408);
    assert.deepEqual(await refused.json(), {
      success: false,
      error: "BODY_TOO_SLOW: Body did not arrive within 5000 ms: send it at once",
      code: "BODY_TOO_SLOW",
      retry: "later",
      details: { maxMs: 5_000 },
    });
  });
}

Deno.test("createBodyReader: a body with far more members or levels than a valid one is not parsed", async () => {
  const app = echoing();
  const members = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, 1])));
  const levels = (count: number) => "[".repeat(count) + "]".repeat(count);
  for (const body of [members(5_000), levels(100)]) {
    const response = await send(app, body);
    assert.equal(response.status, 400);
    assert.match((await response.json()).error, /^INVALID_REQUEST: Body has over 1000 members/);
  }
  for (const body of [members(500), levels(20)]) assert.equal((await send(app, body)).status, 200);
});

Deno.test("createBodyReader: a body of unknown length that comes byte by byte is refused", async () => {
  const app = echoing();
  const sendIn = (text: string, bytes: number) => {
    const pieces = text.match(new RegExp(`.{1,${bytes}}`, "g")) ?? [];
    const body = ReadableStream.from(pieces.map((piece) => new TextEncoder().encode(piece)));
    return send(app, body);
  };
  const text = `"${"x".repeat(998)}"`;
  assert.equal((await sendIn(text, 1)).status, 413);
  assert.equal(await (await sendIn(text, 10)).json(), JSON.parse(text));
});

Deno.test("createBodyReader: refuses an empty body as not JSON, with or without a length", async () => {
  for (const body of ["", ReadableStream.from([])]) {
    const answer = await send(echoing(), body);
    assert.match((await answer.json()).error, /Body is not JSON: received ""/);
  }
});

Deno.test("createBodyReader: others are served while many bodies come in pieces", async () => {
  const app = echoing();
  let pieces = 0;
  const sendInPieces = async () => {
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        pieces += 1;
        controller.enqueue(new TextEncoder().encode("1"));
        if ((sent += 1) === 200) controller.close();
      },
    });
    return (await send(app, body)).status;
  };
  const answers = Array.from({ length: 10 }, sendInPieces);
  let [before, most] = [0, 0];
  const served = setInterval(() => {
    most = Math.max(most, pieces - before);
    before = pieces;
  }, 0);
  assert.deepEqual(await Promise.all(answers), new Array(10).fill(200));
  clearInterval(served);
  assert(0 < most && most < 200, `${most} of 2,000 pieces were read in one turn`);
});
