import assert from "node:assert/strict";
import { Hono } from "hono";
import { useEnvelope } from "../../../lib/http/envelope.ts";
import { limiterKey, type LimiterSettings, RequestLimiter } from "../../../lib/http/limiter.ts";

type Ask = (remote: string, forwarded?: string) => Promise<Response>;

async function withLimiter(
  settings: Partial<LimiterSettings>,
  test: (ask: Ask) => Promise<void>,
): Promise<void> {
  const all = { rateLimit: 0, rateLimitTotal: 0, trustProxy: false, ...settings };
  const limiter = new RequestLimiter(all);
  const app = new Hono();
  useEnvelope(app, "test", ["*"]);
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

Deno.test("RequestLimiter: an address passes in bursts of three seconds' worth, then gets 429", () =>
  withLimiter({ rateLimit: 2 }, async (ask) => {
    assert.equal(await passes(() => ask("1.1.1.1"), 10), 6);
    const refused = await ask("1.1.1.1");
    assert.equal(refused.status, 429);
    assert.match(refused.headers.get("retry-after") ?? "", /^[123]$/);
    const { error } = await refused.json();
    assert.match(error, /^RATE_LIMITED: Too many requests: retry after [123] s$/);
    assert.equal((await ask("2.2.2.2")).status, 200);
  }));

Deno.test("RequestLimiter: the total holds whoever asks, and one caller cannot use it up", () =>
  withLimiter({ rateLimit: 1, rateLimitTotal: 2 }, async (ask) => {
    assert.equal(await passes(() => ask("1.1.1.1"), 50), 3);
    assert.equal(await passes(() => ask("2.2.2.2"), 50), 3);
    assert.equal(await passes(() => ask("3.3.3.3"), 50), 0);
  }));

Deno.test("RequestLimiter: 0 sets no limit", () =>
  withLimiter({}, async (ask) => {
    assert.equal(await passes(() => ask("1.1.1.1"), 500), 500);
  }));

Deno.test("RequestLimiter: X-Forwarded-For counts only behind a trusted proxy, its last entry", async () => {
  let turn = 0;
  await withLimiter({ rateLimit: 1 }, async (ask) => {
    assert.equal(await passes(() => ask("1.1.1.1", `9.9.9.${turn += 1}`), 10), 3);
  });
  await withLimiter({ rateLimit: 1, trustProxy: true }, async (ask) => {
    assert.equal(await passes(() => ask("1.1.1.1", `${turn += 1}.9.9.9, 5.5.5.5`), 10), 3);
    assert.equal((await ask("1.1.1.1", "6.6.6.6")).status, 200);
  });
});

Deno.test("limiterKey: an IPv6 network of 64 bits is one caller, however its addresses are written", () => {
  const keys: [address: string, key: string][] = [
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
    ["[2001:0db8:0001:0002::9]", "2001:db8:1:2::/64"],
    ["2001:db8:1:3::9", "2001:db8:1:3::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["2001:db8:0:0:1::", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["0:0:0:0:0:FFFF:192.0.2.1", "192.0.2.1"],
    ["192.0.2.1", "192.0.2.1"],
    ["unknown", "unknown"],
  ];
  for (const [address, key] of keys) assert.equal(limiterKey(address), key, address);
});

Deno.test("RequestLimiter: a caller cannot pass its limit by changing its IPv6 address", () =>
  withLimiter({ rateLimit: 2 }, async (ask) => {
    let host = 0;
    assert.equal(await passes(() => ask(`2001:db8::${(host += 1).toString(16)}`), 10), 6);
    assert.equal((await ask("2001:db8:0:1::1")).status, 200);
  }));
