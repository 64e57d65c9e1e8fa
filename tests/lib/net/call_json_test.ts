import assert from "node:assert/strict";
import { z } from "zod";
import { callJson, ServiceError } from "../../../lib/net/call_json.ts";
import { CoreReader } from "../../../lib/net/core_reader.ts";
import { NetworkError, request } from "../../../lib/net/http_request.ts";
import { withAnswer } from "../../support/http_answers.ts";

async function failureOf<E extends Error>(
  call: Promise<unknown>,
  type: new (...args: never[]) => E,
): Promise<E> {
  const thrown = await call.then(() => undefined, (reason: unknown) => reason);
  assert(thrown instanceof type, String(thrown));
  return thrown;
}

const schema = z.object({ n: z.string().transform(BigInt) });

Deno.test("callJson: parses the answer of a GET, and of a POST with its body", () =>
  withAnswer(async (request) => {
    if (request.method === "GET") return Response.json({ n: request.headers.get("x-n") ?? "7" });
    assert.equal(request.headers.get("content-type"), "application/json");
    return Response.json(await request.json());
  }, async (url) => {
    assert.deepEqual(await callJson(url, schema), { n: 7n });
    assert.deepEqual(await callJson(url, schema, { n: "8" }), { n: 8n });
    assert.equal((await request(url, { headers: { "x-n": "9" } })).text, '{"n":"9"}');
  }));

Deno.test("callJson: a request that is aborted while it waits throws the signal's reason", async () => {
  const answer = Promise.withResolvers<Response>();
  const received = Promise.withResolvers<void>();
  await withAnswer(() => {
    received.resolve();
    return answer.promise;
  }, async (url) => {
    const unwanted = new AbortController();
    const { signal } = unwanted;
    const failure = failureOf(callJson(url, schema, { n: "8" }, { signal }), DOMException);
    await received.promise;
    unwanted.abort();
    assert.equal(await failure, signal.reason);
    answer.resolve(Response.json({ n: "8" }));
  });
});

Deno.test("callJson: a refusal has the service's code, retry, details and status", async () => {
  const expected = [
    [400, undefined, "never"],
    [400, "new_quote", "new_quote"],
    [409, "soon", "never"],
    [429, undefined, "later"],
    [500, undefined, "same"],
    [503, undefined, "later"],
    [503, "never", "never"],
    [504, undefined, "same"],
  ] as const;
  for (const [status, sent, retry] of expected) {
    const error = status === 409 ? "NONCE_USED: Used" : "Used";
    const details = { nonce: "1" };
    const refusal = { success: false, error, code: "NONCE_USED", retry: sent, details };
    await withAnswer(() => Response.json(refusal, { status }), async (url) => {
      const error = await failureOf(callJson(url, schema), ServiceError);
      assert.deepEqual([error.code, error.details, error.status, error.retry], [
        "NONCE_USED",
        details,
        status,
        retry,
      ]);
      assert.equal(error.message, "Used");
    });
  }
});

Deno.test("callJson: an answer of another form is INVALID_ANSWER, with its text", async () => {
  const long = "x".repeat(10_000);
  for (const body of ["<html>", "{}", '{"n":1}', "null", '{"success":false}', long]) {
    await withAnswer(() => new Response(body, { status: 500 }), async (url) => {
      const error = await failureOf(callJson(url, schema), ServiceError);
      assert.deepEqual([error.code, error.status, error.retry], ["INVALID_ANSWER", 500, "same"]);
      const [, shown = ""] = / answered 500: (.*)$/.exec(error.message) ?? [];
      assert(shown !== "" && body.startsWith(shown) && shown.length < 1_000, error.message);
      if (body !== long) assert.equal(shown, body);
      assert.equal(error.message.startsWith("Not a rangemaker service: "), !/^[{n]/.test(body));
    });
  }
});

Deno.test("callJson: the error about JSON of another form names the first field that does not fit", () =>
  withAnswer(() => Response.json({ success: true, n: 1 }), async (url) => {
    const { message } = await failureOf(callJson(url, schema), ServiceError);
    const field = "n: Expected a string";
    assert.equal(
      message,
      `Not a rangemaker service (${field}): ${url} answered 200: {"success":true,"n":1}`,
    );
  }));

Deno.test("callJson: an error page of a gateway is reported as an unreachable service", async () => {
  for (const status of [502, 503, 504]) {
    await withAnswer(() => new Response("<html>", { status }), async (url) => {
      const error = await failureOf(callJson(url, schema), NetworkError);
      assert.deepEqual([error.code, error.retry], ["SERVICE_UNREACHABLE", "same"]);
      assert.match(error.message, new RegExp(`: a gateway in front of it answered ${status}$`));
      const node = new CoreReader({ url });
      const unread = await failureOf(node.getChainId(), NetworkError);
      assert.deepEqual([unread.code, unread.retry], ["NODE_UNREACHABLE", "later"]);
      assert.match(unread.message, new RegExp(`: a gateway in front of it answered ${status}$`));
    });
  }
});

Deno.test("callJson: the JSON of a front in place of a service that is down is a NetworkError too", async () => {
  const front = new URL("../../../docs/deployment/front/haproxy.cfg", import.meta.url);
  const [body = ""] = /\{"success":false.*?\}/.exec(await Deno.readTextFile(front)) ?? [];
  for (const [status, retry] of [[502, "same"], [503, "later"], [504, "same"]] as const) {
    await withAnswer(() => new Response(body, { status }), async (url) => {
      const error = await failureOf(callJson(url, schema), NetworkError);
      assert.deepEqual([error.code, error.retry], ["SERVICE_UNREACHABLE", retry]);
    });
  }
});

Deno.test("request: a service that is down or too slow is a NetworkError, without keys of the URL", async () => {
  const late = Promise.withResolvers<Response>();
  await withAnswer(() => late.promise, async (url) => {
    const unwanted = new AbortController();
    const timer = setTimeout(() => unwanted.abort(), 5_000); // long after the timeout
    for (const signal of [undefined, unwanted.signal]) {
      const asked = request(`${url}/?key=SECRET`, { timeoutMs: 50, signal });
      const slow = await failureOf(asked, NetworkError);
      assert.deepEqual([slow.code, slow.retry], ["SERVICE_TIMEOUT", "same"]);
      assert(!slow.message.includes("SECRET"), slow.message);
    }
    clearTimeout(timer);
    late.resolve(new Response());
  });
  // Nobody listens there. (fetch refuses ports 1 and 9 itself.)
  const down = await failureOf(request("http://127.0.0.1:2/?key=SECRET"), NetworkError);
  assert.deepEqual([down.code, down.retry], ["SERVICE_UNREACHABLE", "same"]);
  assert.match(down.message, /^http:\/\/127\.0\.0\.1:\d+\/\?… cannot be reached: .*refused/i);
  assert(down.cause instanceof Error);
});
