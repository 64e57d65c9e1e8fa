import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { z } from "zod";
import { listen } from "../../../lib/http/listener.ts";
import { ExchangeHistory, type ExchangeHistoryOptions } from "../../../lib/net/exchange_history.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const schema = z.array(z.number());

/** Reads a page of an exchange with a list of answers, then `[7]`. */
async function withExchange(
  answers: (() => Response | Promise<Response>)[],
  test: (scene: {
    clock: FakeClock;
    asked: string[];
    read: (signal?: AbortSignal) => Promise<number[]>;
  }) => Promise<void>,
  options?: ExchangeHistoryOptions,
): Promise<void> {
  const asked: string[] = [];
  await using exchange = listen("127.0.0.1", 0, (request) => {
    const { pathname, search } = new URL(request.url);
    asked.push(pathname + search);
    return answers.shift()?.() ?? Response.json([7]);
  });
  const clock = new FakeClock();
  const history = new ExchangeHistory(`${exchange.url}//`, clock, options);
  const read = (signal?: AbortSignal) => history.readPage("/api", { a: "b c" }, schema, signal);
  await test({ clock, asked, read });
}

/** Passes a wait that ends after exactly so long. */
async function passWait(clock: FakeClock, waitMs: number): Promise<void> {
  await eventually("a wait", () => clock.pending > 0);
  clock.advance(waitMs - 1);
  assert.equal(clock.pending, 1);
  clock.advance(1);
}

const failing = (status: number, headers: Record<string, string> = {}) => () =>
  new Response("x".repeat(10_000), { status, headers });

Deno.test("ExchangeHistory: waits for Retry-After, at most a minute, then retries", () =>
  withExchange([
    failing(429, { "retry-after": "30" }),
    failing(418, { "retry-after": "7200" }),
    failing(502),
    failing(500),
  ], async ({ clock, asked, read }) => {
    const reading = read();
    for (const waitMs of [30_000, 60_000, 3_000, 4_000]) await passWait(clock, waitMs);
    assert.deepEqual(await reading, [7]);
    assert.deepEqual(asked, Array(5).fill("/api?a=b+c"));
  }));

Deno.test("ExchangeHistory: fails after five attempts, or after attemptsMax", async () => {
  for (const [attempts, options] of [[5, {}], [2, { attemptsMax: 2 }]] as const) {
    await withExchange(Array(9).fill(failing(500)), async ({ clock, asked, read }) => {
      const refused = assert.rejects(read(), (thrown) => {
        assert(thrown instanceof Error && "code" in thrown);
        assert(thrown.message.length < 400, "not the whole answer");
        return thrown.code === "EXCHANGE_HISTORY" && /: status 500: x+$/.test(thrown.message);
      });
      for (let wait = 1; wait < attempts; wait++) await passWait(clock, 1_000 * wait);
      await refused;
      assert.equal(asked.length, attempts);
    }, options);
  }
});

Deno.test("ExchangeHistory: a refusal or an unexpected answer is final", async () => {
  const answers = [
    [() => Response.json({ msg: "Invalid symbol." }, { status: 400 }), /Invalid symbol/],
    [() => Response.json(["7"]), /unexpected answer: 0: Expected a number$/],
  ] as const;
  for (const [answer, message] of answers) {
    await withExchange([answer], async ({ clock, asked, read }) => {
      await assert.rejects(read(), message);
      assert.deepEqual([asked.length, clock.pending], [1, 0]);
    });
  }
});

Deno.test("ExchangeHistory: a page that is too long or not JSON is requested again", () => {
  const tooLong = () => Response.json(Array(600_000).fill(1));
  return withExchange([tooLong, () => new Response("[")], async ({ clock, read }) => {
    const reading = read();
    for (const waitMs of [1_000, 2_000]) await passWait(clock, waitMs);
    assert.deepEqual(await reading, [7]);
  });
});

Deno.test("ExchangeHistory: an attempt takes no longer than its timeout", () => {
  const { promise: late, resolve } = Promise.withResolvers<Response>();
  return withExchange([() => late], async ({ read }) => {
    await assert.rejects(read(), /timeout$/);
    resolve(new Response());
  }, { attemptsMax: 1, timeoutMs: 50 });
});

Deno.test("ExchangeHistory: removes its abort listener after each wait", () =>
  withExchange([failing(500), failing(500)], async ({ clock, read }) => {
    const { signal } = new AbortController();
    const reading = read(signal);
    for (const waitMs of [1_000, 2_000]) await passWait(clock, waitMs);
    await reading;
    assert.equal(getEventListeners(signal, "abort").length, 0);
  }));

Deno.test("ExchangeHistory: an abort ends the wait, and no attempt follows", () =>
  withExchange([failing(500)], async ({ clock, asked, read }) => {
    const unwanted = new AbortController();
    const ended = assert.rejects(read(unwanted.signal), /aborted/);
    await eventually("a wait", () => clock.pending > 0);
    unwanted.abort();
    await ended;
    assert.deepEqual([asked.length, clock.pending], [1, 0]);
  }));
