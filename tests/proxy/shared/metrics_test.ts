import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { ProxyMetrics } from "../../../services/proxy/shared/metrics.ts";
import { seriesIn } from "../../support/http_answers.ts";

Deno.test("ProxyMetrics: invented method names add no series and do not replace real methods", async () => {
  const registry = new Registry();
  const metrics = new ProxyMetrics(registry);
  for (let n = 0; n < 5_000; n += 1) metrics.countCall(`eth_invented${n}`);
  for (const method of ["no underscore", "__proto__", "constructor", '"}\n']) {
    metrics.countCall(method);
  }
  metrics.countCall("eth_call");
  const lines = (await registry.metrics()).split("\n")
    .filter((line) => line.startsWith("proxy_rpc_methods_total{"));
  assert(lines.length < 250, `${lines.length}`);
  assert(lines.includes('proxy_rpc_methods_total{method="eth_call"} 1'));
  const total = lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  assert.equal(total, 5_005);
});

Deno.test("ProxyMetrics: unknown HTTP methods share a label", async () => {
  const registry = new Registry();
  const metrics = new ProxyMetrics(registry);
  metrics.countHttp("BREW", "proxy", 404, 1);
  metrics.countHttp("PROPFIND", "proxy", 404, 1);
  const line = 'proxy_http_requests_total{method="other",target="proxy",status="404"} 2';
  assert((await registry.metrics()).includes(line));
});

Deno.test("ProxyMetrics: durations are counted in seconds", async () => {
  const registry = new Registry();
  const metrics = new ProxyMetrics(registry);
  metrics.countHttp("POST", "read", 200, 1_500);
  metrics.upstreamLatencyOf("write")(0.25);
  const text = await registry.metrics();
  assert.equal(seriesIn(text, 'proxy_http_request_duration_seconds_sum{target="read"}'), 1.5);
  assert.equal(seriesIn(text, 'proxy_upstream_latency_seconds_sum{target="write"}'), 0.25);
});

Deno.test("ProxyMetrics: a hundred additional methods have a label each", async () => {
  const registry = new Registry();
  const metrics = new ProxyMetrics(registry);
  for (let n = 0; n < 100; n += 1) metrics.countCall(`own_method${n}`);
  const text = await registry.metrics();
  assert(text.includes('{method="own_method99"} 1'));
  assert(!text.includes('{method="other"}'));
});
