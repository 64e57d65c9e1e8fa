import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import { OutcomeUnknownError } from "../../../lib/intents/errors.ts";
import { quoteToWire, type QuoteWire } from "../../../lib/protocol/quote.ts";
import { createHttpHedge, SimulatedHedge } from "../../../services/solver/execution/hedge.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withAnswer } from "../../support/http_answers.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { type Scene, signed, withExecutor } from "./support.ts";

interface Received {
  key: string | null;
  body: { quoteHash: string; risk: string; quote: QuoteWire };
}

/** On a busy machine even an immediate answer takes a while. */
const TIMEOUT_MS = 30_000;

interface Served extends Scene {
  received: Received[];
  url: string;
}

/** Runs a test with a market maker's hedging service, which gives the test's answers. */
async function withService(
  answer: (attempt: number) => Response,
  test: (served: Served) => Promise<void>,
): Promise<void> {
  const received: Received[] = [];
  await withAnswer(async (request) => {
    const key = request.headers.get("idempotency-key");
    received.push({ key, body: await request.json() });
    return answer(received.length);
  }, async (serviceUrl) => {
    const url = `${serviceUrl}/hedge?key=SECRET`;
    const hedge = createHttpHedge({ url, timeoutMs: TIMEOUT_MS });
    await withExecutor(hedge, (scene) => test({ ...scene, received, url }));
  });
}

Deno.test("--hedge-url: an execution is posted with quote and risk, and submitted after the hedge", () =>
  withService(
    () => Response.json({ hedged: true }),
    async ({ executor, clock, sent, received }) => {
      const { execution, quoteHash } = signed(clock);
      assert.equal((await executor.execute(execution)).status, "committed");
      const [{ key, body }] = received as [Received];
      assert.deepEqual([key, body.quoteHash, body.risk], [quoteHash, quoteHash, "10"]);
      assert.deepEqual(body.quote, quoteToWire(execution.quote));
      assert.equal(sent.length, 1);
    },
  ));

Deno.test("--hedge-url: a refusal ends the execution for good, with the service's reason", () =>
  withService(
    () => Response.json({ hedged: false, reason: "book is full" }),
    async ({ executor, exposure, clock, sent, received }) => {
      const { execution } = signed(clock);
      for (let attempt = 0; attempt < 2; attempt++) {
        await assert.rejects(executor.execute(execution), {
          code: "HEDGE_REFUSED",
          message: /book is full/,
        });
      }
      assert.deepEqual([received.length, sent, exposure.total], [1, [], 0n]);
    },
  ));

/** Answers that neither hedge nor refuse, and how each is logged. */
const failures: [name: string, answer: () => Response, reason: RegExp, status?: number][] = [
  ["an error", () => Response.json({ error: "bug" }, { status: 500 }), /status 500$/, 500],
  ["a success without a word", () => new Response("ok"), /^gave an invalid answer$/, 200],
  ["a hedged error", () => Response.json({ hedged: true }, { status: 502 }), /status 502$/, 502],
  ["too long an answer", () => new Response("x".repeat(70_000)), /longer than 65536/],
];

for (const [name, failure, reason, status] of failures) {
  Deno.test(`--hedge-url: after ${name} the execution is sent again under the same key`, () =>
    withLogs("warning", (records) =>
      withService(
        (attempt) => attempt === 1 ? failure() : Response.json({ hedged: true }),
        async ({ executor, exposure, clock, sent, received, url }) => {
          const { execution, quoteHash } = signed(clock);
          await assert.rejects(executor.execute(execution), (thrown) => {
            assert.ok(thrown instanceof OutcomeUnknownError);
            assert.ok(thrown.cause instanceof RangemakerError);
            assert.equal(thrown.cause.code, "HEDGE_UNAVAILABLE");
            return true;
          });
          assert.equal(exposure.total, 10n, "the risk stays reserved");
          const { reason: logged, ...record } = records[0]?.properties ?? {};
          assert.match(String(logged), reason);
          const service = new URL(url).origin;
          assert.deepEqual(record, { event: "hedge_failed", quoteHash, service, status });
          assert.doesNotMatch(JSON.stringify(record), /SECRET/);
          assert.equal((await executor.execute(execution)).status, "committed");
          assert.deepEqual(received.map(({ key }) => key), [quoteHash, quoteHash]);
          assert.equal(sent.length, 1);
        },
      )));
}

const reasons: readonly [name: string, answer: { reason?: string }, message: RegExp][] = [
  ["without a reason says so", {}, /no reason given/],
  ["says 200 characters of its reason", { reason: "x".repeat(201) }, /hedged: x{200}; request/],
];

for (const [name, answer, message] of reasons) {
  Deno.test(`--hedge-url: a refusal ${name}`, () =>
    withService(() => Response.json({ hedged: false, ...answer }), async ({ executor, clock }) => {
      await assert.rejects(executor.execute(signed(clock).execution), message);
    }));
}

Deno.test("SimulatedHedge: waits for its delay", async () => {
  const clock = new FakeClock();
  const hedge = new SimulatedHedge(clock, 250);
  let isCovered = false;
  const covered = hedge.cover().then(() => isCovered = true);
  clock.advance(249);
  await Promise.resolve();
  assert.equal(isCovered, false);
  clock.advance(1);
  await covered;
});
