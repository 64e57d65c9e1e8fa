import assert from "node:assert/strict";
import { StoreError } from "../../lib/intents/errors.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { BridgeMetrics } from "../../services/bridge/metrics.ts";
import { post, seriesIn } from "../support/http_answers.ts";
import { signedRequest, withBridge } from "./support.ts";

Deno.test("BridgeMetrics: outcomes, answers, time to commit, retries, pending and signatures", () =>
  withBridge(async ({ url }, node) => {
    await post(`${url}/deposit`, signedRequest());
    await post(`${url}/deposit`, signedRequest());
    await post(`${url}/deposit`, { ...signedRequest({ nonce: 2n }), amount: "7" });
    node.refusal = "PERMISSION_DENIED";
    await post(`${url}/deposit`, signedRequest({ nonce: 3n }));
    // After the bridge has seen that it is the right chain: otherwise it refuses at once.
    node.loseTransactions({ paused: true });
    await post(`${url}/deposit`, signedRequest({ nonce: 4n }));
    const page = await (await fetch(`${url}/metrics`)).text();
    const expected: Record<string, number> = {
      'bridge_deposits_total{outcome="committed"}': 1,
      'bridge_deposits_total{outcome="failed"}': 1,
      'bridge_deposit_requests_total{status="200"}': 1,
      'bridge_deposit_requests_total{status="401"}': 1,
      'bridge_deposit_requests_total{status="409"}': 1,
      'bridge_deposit_requests_total{status="503"}': 1,
      'bridge_deposit_requests_total{status="504"}': 1,
      "bridge_time_to_commit_seconds_count": 1,
      "bridge_signature_failures_total": 1,
      "bridge_deposits_pending": 1,
    };
    for (const [name, value] of Object.entries(expected)) {
      assert.equal(seriesIn(page, name), value, name);
    }
    assert.ok(seriesIn(page, "bridge_retries_total") >= 1);
  }));

Deno.test("BridgeMetrics: a store that cannot be read leaves the other figures readable", async () => {
  const registry = createRegistry();
  const metrics = new BridgeMetrics(registry, () => Promise.reject(new StoreError("Away")));
  metrics.countRetry();
  const text = await registry.metrics();
  assert.match(text, /^bridge_deposits_pending Nan$/mi);
  assert.match(text, /^bridge_retries_total 1$/m);
});
