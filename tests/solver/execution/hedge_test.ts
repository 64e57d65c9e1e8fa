import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import { OutcomeUnknownError } from "../../../lib/intents/intent.ts";
import { quoteToWire, type QuoteWire } from "../../../lib/protocol/quote.ts";
import { HttpHedge, SimulatedHedge } from "../../../services/solver/execution/hedge.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { signed, withExecutor } from "./support.ts";

interface Received {
  key: string | null;
  body: { quoteHash: string; risk: string; quote: QuoteWire };
}

/** A busy machine takes a while for an answer that comes at once. */
const TIMEOUT_MS = { short: 1_500, ample: 30_000 };

/** A hedging service of a market maker, which answers as the test says. */
async function withService(
  answer: (attempt: number, ended: Promise<void>) => Response | Promise<Response>,
  test: (hedge: HttpHedge, received: Received[], url: string) => Promise<void>,
  timeoutMs = TIMEOUT_MS.ample,
): Promise<void> {
  const received: Received[] = [];
  const ended = Promise.withResolvers<void>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const key = request.headers.get("idempotency-key");
      received.push({ key, body: await request.json() });
      return await answer(received.length, ended.promise);
    },
  );
  const url = `http://127.0.0.1:${server.addr.port}/hedge?key=SECRET`;
  try {
    await test(new HttpHedge({ url, expectedMs: 0, timeoutMs }), received, url);
  } finally {
    ended.resolve();
    await server.shutdown();
  }
}

Deno.test("--hedge-url: an execution is posted with its quote and risk, and submitted once hedged", () =>
  withService(() => Response.json({ hedged: true }), async (hedge, received) => {
    await withExecutor(hedge, async ({ executor, clock, sent }) => {
      const { execution, quoteHash } = signed(clock);
      assert.equal((await executor.execute(execution)).status, "committed");
      const [{ key, body }] = received as [Received];
      assert.deepEqual([key, body.quoteHash, body.risk], [quoteHash, quoteHash, "10"]);
      assert.deepEqual(body.quote, quoteToWire(execution.quote));
      assert.equal(sent.length, 1);
    });
  }));

Deno.test("--hedge-url: a refusal ends the execution for good, with the service's reason", () =>
  withService(
    () => Response.json({ hedged: false, reason: "book is full" }),
    async (hedge, received) => {
      await withExecutor(hedge, async ({ executor, exposure, clock, sent }) => {
        const { execution } = signed(clock);
        for (let attempt = 0; attempt < 2; attempt++) {
          await assert.rejects(executor.execute(execution), {
            code: "HEDGE_REFUSED",
            message: "Execution was not hedged: book is full; request a new quote",
          });
        }
        assert.deepEqual([received.length, sent, exposure.total], [1, [], 0n]);
      });
    },
  ));

type Failure = (ended: Promise<void>) => Response | Promise<Response>;

const failures: readonly [name: string, answer: Failure, timeoutMs?: number][] = [
  ["an error", () => Response.json({ error: "bug" }, { status: 500 })],
  ["a success without a word", () => new Response("ok")],
  ["an error that says hedged", () => Response.json({ hedged: true }, { status: 502 })],
  ["no answer in time", (ended) => ended.then(() => new Response()), TIMEOUT_MS.short],
];

for (const [name, failure, timeoutMs] of failures) {
  Deno.test(`--hedge-url: after ${name} the same execution is sent again under the same key`, () =>
    withService(
      (attempt, ended) => attempt === 1 ? failure(ended) : Response.json({ hedged: true }),
      async (hedge, received) => {
        await withExecutor(hedge, async ({ executor, exposure, clock, sent }) => {
          const { execution, quoteHash } = signed(clock);
          await assert.rejects(executor.execute(execution), (thrown) => {
            assert.ok(thrown instanceof OutcomeUnknownError);
            assert.match(thrown.message, /not hedged yet: the hedging service/);
            assert.ok(thrown.cause instanceof RangemakerError);
            assert.equal(thrown.cause.code, "HEDGE_UNAVAILABLE");
            return true;
          });
          assert.equal(exposure.total, 10n, "the risk stays reserved");
          assert.equal((await executor.execute(execution)).status, "committed");
          assert.deepEqual(received.map(({ key }) => key), [quoteHash, quoteHash]);
          assert.equal(sent.length, 1);
        });
      },
      timeoutMs,
    ));
}

Deno.test("--hedge-url: a redirect is not followed, and leaves the execution unhedged", async () => {
  let followed = 0;
  await withService(
    () => {
      followed += 1;
      return Response.json({ hedged: true });
    },
    (_target, _received, elsewhere) =>
      withService(
        () => new Response(null, { status: 307, headers: { location: elsewhere } }),
        (hedge) =>
          withExecutor(hedge, async ({ executor, clock, sent }) => {
            await assert.rejects(executor.execute(signed(clock).execution), OutcomeUnknownError);
            assert.deepEqual(sent, []);
          }),
      ),
  );
  assert.equal(followed, 0);
});

const logged: readonly [
  name: string,
  answer: () => Response,
  status: number | undefined,
  RegExp,
][] = [
  ["a status", () => new Response("", { status: 500 }), 500, /^answered with status 500$/],
  ["an invalid answer", () => new Response("ok"), 200, /^gave an invalid answer$/],
  ["a redirect", () => Response.redirect("http://127.0.0.1:2/"), undefined, /redirect/],
  ["too long an answer", () => new Response("x".repeat(70_000)), undefined, /longer than 65536/],
];

for (const [name, answer, status, reason] of logged) {
  Deno.test(`--hedge-url: ${name} is logged, without the path and query of the URL`, () =>
    withService(answer, (hedge, _received, url) =>
      withLogs("warning", async (records) => {
        await withExecutor(hedge, async ({ executor, clock }) => {
          const { execution, quoteHash } = signed(clock);
          await assert.rejects(executor.execute(execution), OutcomeUnknownError);
          const [record] = records.map(({ properties }) => properties);
          assert.deepEqual([record?.event, record?.quoteHash], ["hedge_failed", quoteHash]);
          assert.deepEqual([record?.service, record?.status], [new URL(url).origin, status]);
          assert.match(String(record?.reason), reason);
          assert.doesNotMatch(JSON.stringify(record), /SECRET/);
        });
      })));
}

const reasons: readonly [name: string, answer: { reason?: string }, message: RegExp][] = [
  ["without a reason says so", {}, /hedged: no reason given; request a new quote$/],
  ["says 200 characters of its reason", { reason: "x".repeat(201) }, /hedged: x{200}; request/],
];

for (const [name, answer, message] of reasons) {
  Deno.test(`--hedge-url: a refusal ${name}`, () =>
    withService(() => Response.json({ hedged: false, ...answer }), async (hedge) => {
      await withExecutor(hedge, async ({ executor, clock }) => {
        await assert.rejects(executor.execute(signed(clock).execution), message);
      });
    }));
}

Deno.test("SimulatedHedge: waits as long as it says, and covers nothing", async () => {
  const clock = new FakeClock();
  const hedge = new SimulatedHedge(clock, 250);
  assert.equal(hedge.expectedMs, 250);
  let isCovered = false;
  const covered = hedge.cover().then(() => isCovered = true);
  clock.advance(249);
  await Promise.resolve();
  assert.equal(isCovered, false);
  clock.advance(1);
  await covered;
});
