import assert from "node:assert/strict";
import { Hono } from "hono";
import { Registry } from "prom-client";
import { INTENT_ERRORS } from "../../../lib/intents/error_answers.ts";
import { useJsonApi } from "../../../lib/http/json_api.ts";
import { type LimiterSettings, RequestLimiter } from "../../../lib/http/limiter.ts";

type Ask = (remote: string, forwarded?: string) => Promise<Response>;

async function withLimiter(
  settings: Partial<LimiterSettings>,
  test: (ask: Ask) => Promise<void>,
): Promise<void> {
  const all = { rateLimit: 0, rateLimitTotal: 0, trustProxy: false, ...settings };
  const limiter = new RequestLimiter(all);
  const app = new Hono();
  useJsonApi(app, "test", ["*"], INTENT_ERRORS);
  app.get("/", limiter.handle, (c) => c.text("ok"));
  try {
    await test(async (remote, forwarded) => {
      const headers = forwarded === undefined ? undefined : { "x-forwarded-for": forwarded };
      return await app.request("/", { headers }, { remote });
    });
  } finally {
    await limiter.stop();
  }
}

async function passes(ask: () => Promise<Response>, attempts: number): Promise<number> {
  let passed = 0;
  for (let i = 0; i < attempts; i += 1) if ((await ask()).status === 200) passed += 1;
  return passed;
}

Deno.test("RequestLimiter: an address may send three seconds' worth of requests at once, then gets 429", () =>
  withLimiter({ rateLimit: 2 }, async (ask) => {
    assert.equal(await passes(() => ask("1.1.1.1"), 10), 6);
    const refused = await ask("1.1.1.1");
    assert.equal(refused.status, 429);
    assert.match(refused.headers.get("retry-after") ?? "", /^[123]$/);
    assert.equal((await ask("2.2.2.2")).status, 200);
  }));

Deno.test("RequestLimiter: the total limit applies to all callers, and one caller cannot exhaust it", () =>
  withLimiter({ rateLimit: 1, rateLimitTotal: 2 }, async (ask) => {
    assert.equal(await passes(() => ask("1.1.1.1"), 50), 3);
    assert.equal(await passes(() => ask("2.2.2.2"), 50), 3);
    assert.equal(await passes(() => ask("3.3.3.3"), 50), 0);
  }));

Deno.test("RequestLimiter: an IPv6 /56 gets the rate of two addresses, a /48 that of four", () =>
  withLimiter({ rateLimit: 1 }, async (ask) => {
    let turn = 0;
    const next = () => (turn = turn % 255 + 1).toString(16);
    const anyOf = (network: string) => () => ask(`${network}${next()}::1`);
    assert.equal(await passes(() => ask("2001:db8:1::1"), 10), 3);
    assert.equal(await passes(anyOf("2001:db8:1:"), 100), 3, "the rest of its /56");
    assert.equal(await passes(() => ask(`2001:db8:1:${next()}00::1`), 100), 6, "of its /48");
    assert.equal(await passes(anyOf("2001:db8:2:"), 100), 6, "another one has its own");
  }));

Deno.test("RequestLimiter: 0 sets no limit", () =>
  withLimiter({}, async (ask) => {
    assert.equal(await passes(() => ask("1.1.1.1"), 500), 500);
  }));

Deno.test("RequestLimiter: a caller that forges X-Forwarded-For gets half of the total rate at most", () =>
  withLimiter({ rateLimit: 1, rateLimitTotal: 8, trustProxy: true }, async (ask) => {
    let turn = 0;
    const forge = () => ask("1.1.1.1", `9.9.${turn += 1}.9`);
    assert.equal(await passes(forge, 100), 12);
    // The rest of the total is left to others, and its own address still has its own limit.
    assert.equal(await passes(() => ask("2.2.2.2"), 10), 3);
    assert.equal(await passes(() => ask("1.1.1.1"), 10), 3);
  }));

Deno.test("RequestLimiter: without a total limit, a forwarding connection gets the rate of ten callers", () =>
  withLimiter({ rateLimit: 1, trustProxy: true }, async (ask) => {
    let turn = 0;
    assert.equal(await passes(() => ask("1.1.1.1", `9.9.9.${turn += 1}`), 100), 30);
  }));

Deno.test("RequestLimiter: without a limit by address, a forwarding connection has no limit of its own", () =>
  withLimiter({ rateLimitTotal: 8, trustProxy: true }, async (ask) => {
    assert.equal(await passes(() => ask("1.1.1.1", "9.9.9.9"), 100), 24);
  }));

Deno.test("RequestLimiter: a caller over its limit does not use up that of its proxy", () =>
  withLimiter({ rateLimit: 1, rateLimitTotal: 4, trustProxy: true }, async (ask) => {
    assert.equal(await passes(() => ask("1.1.1.1", "5.5.5.5"), 100), 3);
    assert.equal(await passes(() => ask("1.1.1.1", "6.6.6.6"), 100), 3);
  }));

Deno.test("RequestLimiter: refusals are counted by the limit that was exceeded", async () => {
  const registry = new Registry();
  const limiter = new RequestLimiter(
    { rateLimit: 1, rateLimitTotal: 2, trustProxy: true },
    registry,
  );
  const count = (key: string, peerKey = key) =>
    limiter.secondsToWait({ key, networks: [], peerKey });
  for (let i = 0; i < 5; i += 1) await count("1.1.1.1"); // two over the address's limit
  for (let i = 0; i < 4; i += 1) await count(`2.2.2.${i}`, "9.9.9.9"); // one over the connection's
  for (let i = 0; i < 4; i += 1) await count(`3.3.3.${i}`); // four over the total, three are used
  await limiter.stop();
  const values = await registry.getSingleMetric("http_rate_limited_total")?.get();
  assert.deepEqual(
    Object.fromEntries(values?.values.map(({ labels, value }) => [labels.limit, value]) ?? []),
    { address: 2, connection: 1, total: 4 },
  );
});
