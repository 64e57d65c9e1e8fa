import assert from "node:assert/strict";
import { systemClock } from "../../../lib/clock.ts";
import { listen } from "../../../lib/http/listener.ts";
import { LATE_ANSWER_MAX_MS, OracleClient } from "../../../services/node/oracle/oracle_client.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { pricesBody, startFakeOracle } from "../support/fake_oracle.ts";

Deno.test("OracleClient: an answer after the timeout is passed on as a late answer", async () => {
  await using oracle = startFakeOracle();
  const clock = new FakeClock();
  const asked = Promise.withResolvers<void>();
  const late = Promise.withResolvers<Response>();
  oracle.answer = () => {
    asked.resolve();
    return late.promise;
  };
  let received: unknown;
  const pulling = new OracleClient(oracle.url, 10, clock).pull((body) => received = body);
  await asked.promise;
  clock.advance(10);
  assert.deepEqual(await pulling, { failure: "timeout", reason: "no answer within 10 ms" });
  clock.advance(LATE_ANSWER_MAX_MS - 11);
  late.resolve(Response.json(pricesBody(1)));
  assert.deepEqual(await eventually("the late answer", () => received), pricesBody(1));
  assert.equal(clock.pending, 0);
});

Deno.test("OracleClient: every kind of failure of the oracle is an error", async () => {
  const oracle = startFakeOracle();
  oracle.answer = () => new Response("busy", { status: 503 });
  const client = new OracleClient(oracle.url, 900, systemClock);
  assert.deepEqual(await client.pull(), { failure: "error", reason: "status 503" });
  oracle.answer = () => new Response("{");
  assert.equal(Object(await client.pull()).failure, "error");
  await oracle.stop();
  assert.equal(Object(await client.pull()).failure, "error", "nobody listens");
});

Deno.test("OracleClient: an answer that stops halfway is aborted", async () => {
  const clock = new FakeClock();
  const begun = Promise.withResolvers<void>();
  await using half = listen("127.0.0.1", 0, () => {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"prices":'));
        begun.resolve();
      },
    });
    return new Response(stream);
  });
  const client = new OracleClient(half.url, 10, clock);
  const pulling = client.pull(() => assert.fail("nothing whole arrived"));
  await begun.promise;
  clock.advance(10);
  assert.equal(Object(await pulling).failure, "timeout");
  clock.advance(LATE_ANSWER_MAX_MS - 10);
});

Deno.test("OracleClient: closing it aborts the requests that still wait", async () => {
  await using oracle = startFakeOracle();
  const clock = new FakeClock();
  const asked = Promise.withResolvers<AbortSignal>();
  const late = Promise.withResolvers<Response>();
  oracle.answer = (request) => {
    asked.resolve(request.signal);
    return late.promise;
  };
  const client = new OracleClient(oracle.url, 10, clock);
  const pulling = client.pull(() => assert.fail("aborted"));
  const signal = await asked.promise;
  clock.advance(10);
  await pulling;
  client.close();
  await eventually("the request is aborted", () => signal.aborted);
  late.resolve(Response.json({}));
});
