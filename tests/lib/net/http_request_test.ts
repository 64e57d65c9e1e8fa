/** The bounds of every outgoing HTTP call, on real sockets. */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { NetworkError, request } from "../../../lib/net/http_request.ts";
import { withAnswer } from "../../support/http_answers.ts";

function unreachable(reason: RegExp) {
  return (thrown: unknown) => {
    assert.ok(thrown instanceof NetworkError, String(thrown));
    assert.deepEqual([thrown.code, thrown.retry], ["SERVICE_UNREACHABLE", "same"]);
    assert.match(thrown.message, reason);
    return true;
  };
}

/** An endless body without a length. @returns It, and how many bytes were read. */
function endlessBody(everyMs = 0) {
  const chunk = new Uint8Array(64 * 1024).fill(32);
  const sent = { bytes: 0 };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (everyMs > 0) await new Promise((resolve) => timer = setTimeout(resolve, everyMs));
      sent.bytes += chunk.length;
      controller.enqueue(chunk);
    },
    cancel: () => clearTimeout(timer),
  });
  return { body, sent };
}

for (const status of [301, 302, 303, 307, 308]) {
  Deno.test(`request: a redirect (${status}) is not followed, with a body or without`, async () => {
    let followed = 0;
    await withAnswer(() => {
      followed += 1;
      return new Response("elsewhere");
    }, (target) =>
      withAnswer(
        () => new Response("moved", { status, headers: { location: `${target}/?key=SECRET` } }),
        async (url) => {
          for (const options of [{}, { json: { pay: 1 } }]) {
            await assert.rejects(
              request(url, options),
              unreachable(/redirect, which is not followed/),
            );
          }
        },
      ));
    assert.equal(followed, 0);
  });
}

Deno.test("request: an endless body is aborted at maxBytes", async () => {
  const { body, sent } = endlessBody();
  await withAnswer(() => new Response(body), async (url) => {
    const asked = request(url, { maxBytes: 1_000_000 });
    await assert.rejects(asked, unreachable(/its answer is longer than 1000000 bytes$/));
  });
  assert.ok(sent.bytes < 16 * 1024 * 1024, `${sent.bytes} bytes were sent`);
});

Deno.test("request: a body longer than maxBytes is refused", async () => {
  const body = "x".repeat(1_001);
  await withAnswer(() => new Response(body), async (url) => {
    assert.equal((await request(url, { maxBytes: 1_001 })).text, body);
    await assert.rejects(request(url, { maxBytes: 1_000 }), unreachable(/longer than 1000 bytes$/));
  });
});

Deno.test("request: a compressed body counts with its decompressed length", async () => {
  const headers = { "content-encoding": "gzip", "content-type": "text/plain" };
  const bomb = Uint8Array.from(gzipSync("0".repeat(2_000_000)));
  assert.ok(bomb.length < 10_000);
  await withAnswer(() => new Response(bomb, { headers }), async (url) => {
    assert.equal((await request(url)).text.length, 2_000_000);
    await assert.rejects(request(url, { maxBytes: 1_000_000 }), unreachable(/longer than/));
  });
});

Deno.test("request: the timeout covers the whole body, even if bytes keep arriving", async () => {
  const { body } = endlessBody(20);
  await withAnswer(() => new Response(body), async (url) => {
    await assert.rejects(request(url, { timeoutMs: 200, maxBytes: 1e9 }), {
      code: "SERVICE_TIMEOUT",
    });
  });
});

Deno.test("request: a timeout is recognised also where fetch has errors of its own realm: Jest", async () => {
  const { fetch } = globalThis;
  const jestFetch: typeof fetch = (_url, init) =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener("abort", () => reject({ name: "TimeoutError" }));
    });
  Object.assign(globalThis, { fetch: jestFetch });
  try {
    await assert.rejects(request("http://127.0.0.1", { timeoutMs: 1 }), {
      code: "SERVICE_TIMEOUT",
    });
  } finally {
    Object.assign(globalThis, { fetch });
  }
});

Deno.test("request: the fetch of React Native has no streams, and its answers are read whole", async () => {
  const { fetch } = globalThis;
  const answer = Object.defineProperty(new Response("{}"), "body", { value: undefined });
  Object.assign(globalThis, { fetch: () => Promise.resolve(answer) });
  try {
    assert.equal((await request("http://127.0.0.1")).text, "{}");
  } finally {
    Object.assign(globalThis, { fetch });
  }
});

Deno.test("request: characters split over chunks are decoded correctly", async () => {
  const euros = "€".repeat(100_000); // three bytes each, in chunks of a power of two
  const body = () => new Blob([euros]).stream();
  await withAnswer(() => new Response(body(), { status: 404 }), async (url) => {
    const { status, text } = await request(url, { maxBytes: 300_000 });
    assert.deepEqual([status, text === euros], [404, true]);
    await assert.rejects(request(url, { maxBytes: 299_999 }), unreachable(/longer than/));
  });
});

Deno.test("request: an answer without a body has an empty text", () =>
  withAnswer(() => new Response(null, { status: 204 }), async (url) => {
    assert.equal((await request(url)).text, "");
  }));
