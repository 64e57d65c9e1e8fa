import assert from "node:assert/strict";
import { systemClock } from "../../../lib/clock.ts";
import { listen } from "../../../lib/http/listener.ts";
import { httpPull, isServiceUrl, oracleUrl } from "../../../services/node/oracle/pull.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { pricesBody, startFakeOracle } from "../support/fake_oracle.ts";

Deno.test("price oracle spec, service_url: the scheme may be left out", () => {
  assert.equal(oracleUrl("localhost:8550"), "http://localhost:8550");
  assert.equal(oracleUrl("https://oracle.example/"), "https://oracle.example");
  for (const good of ["localhost:8550", "http://[::1]:1", "oracle"]) assert.ok(isServiceUrl(good));
  for (const bad of ["", "http://", "a b", "localhost:99999"]) assert.ok(!isServiceUrl(bad), bad);
});

Deno.test("httpPull: brings the body of GET /prices", async () => {
  const oracle = startFakeOracle();
  const body = pricesBody(1);
  oracle.answer = () => Response.json(body);
  assert.deepEqual(await httpPull(oracle.url, 2_000, systemClock)(), { body });
  await oracle.stop();
});

Deno.test("httpPull: a late answer is abandoned at the timeout", async () => {
  const oracle = startFakeOracle();
  const clock = new FakeClock();
  const asked = Promise.withResolvers<void>();
  const late = Promise.withResolvers<Response>();
  oracle.answer = () => {
    asked.resolve();
    return late.promise;
  };
  const pulling = httpPull(oracle.url, 10, clock)();
  await asked.promise;
  clock.advance(10);
  assert.deepEqual(await pulling, { failure: "timeout", reason: "no answer within 10 ms" });
  assert.equal(clock.pending, 0);
  late.resolve(Response.json(pricesBody(1)));
  await oracle.stop();
});

Deno.test("httpPull: a failing oracle is an error, whichever way it fails", async () => {
  const oracle = startFakeOracle();
  oracle.answer = () => new Response("busy", { status: 503 });
  const pull = httpPull(oracle.url, 2_000, systemClock);
  assert.deepEqual(await pull(), { failure: "error", reason: "status 503" });
  oracle.answer = () => new Response("{");
  assert.equal(Object(await pull()).failure, "error");
  await oracle.stop();
  assert.equal(Object(await pull()).failure, "error", "nobody listens");
});

Deno.test("httpPull: an answer that stops half way is abandoned too", async () => {
  const clock = new FakeClock();
  const begun = Promise.withResolvers<void>();
  const half = listen("127.0.0.1", 0, () => {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"prices":'));
        begun.resolve();
      },
    });
    return new Response(stream);
  });
  const pulling = httpPull(half.url, 10, clock)();
  await begun.promise;
  clock.advance(10);
  assert.equal(Object(await pulling).failure, "timeout");
  await half.stop();
});
