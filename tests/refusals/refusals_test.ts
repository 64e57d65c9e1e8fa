/**
 * Every refusal of every interface has a documented code, the reason, the received value of invalid
 * input, and advice. It shows no key and no signature. Every answer matches the OpenAPI document of
 * its service, and every documented status is seen.
 */
import assert from "node:assert/strict";
import type { Hono } from "hono";
import { withDefaults } from "../../lib/cli/options.ts";
import { listen } from "../../lib/http/listener.ts";
import { TRANSACTION_ERROR_CODES } from "../../lib/protocol/receipt.ts";
import { createConsoleApi } from "../../services/console/api.ts";
import { options as consoleOptions, readConfig } from "../../services/console/mod.ts";
import { options, startExchanges } from "../../services/exchanges/mod.ts";
import { options as oracleOptions, startOracle } from "../../services/oracle/mod.ts";
import { withOracle } from "../openapi/support/apps.ts";
import { refuseAtBridge } from "./bridge_refusals.ts";
import { refuseAtNode } from "./node_refusals.ts";
import { refuseAtProxy } from "./proxy_refusals.ts";
import { refuseAtSolver } from "./solver_refusals.ts";
import {
  DOCUMENTED_CODES,
  documentedRpcCodes,
  isRpcNumberDocumented,
  Refusals,
  says,
} from "./support.ts";

const DOCUMENTED: readonly string[] = [
  ...DOCUMENTED_CODES.keys(),
  ...documentedRpcCodes(),
  ...TRANSACTION_ERROR_CODES,
];

/** Documented codes that no request provokes here, and the test that does. */
const TESTED_ELSEWHERE: Readonly<Record<string, string>> = {
  HISTORY_UNAVAILABLE: "solver/pricing/barrier_strategy_test.ts",
  PRICE_MOVED: "solver/pricing/barrier_strategy_test.ts",
  PRICE_IMPROVED: "solver/pricing/recheck_test.ts",
  CLOCKS_DIFFER: "bridge/depositor_test.ts",
  NODE_TIMEOUT: "lib/http/json_api_test.ts",
  RECEIPT_DROPPED: "lib/intents/submitter_test.ts",
  NeedsBackfill: "node/chain/settlement_test.ts",
  NODE_BUSY: "node/rpc/dispatcher_test.ts",
  SIGNER_UNAVAILABLE: "lib/net/remote_signer_test.ts",
  STORAGE: "node/store/failing_disk_test.ts",
};

async function serving(app: Hono, ask: (url: string) => Promise<unknown>): Promise<void> {
  await using listener = listen("127.0.0.1", 0, (request) => app.fetch(request));
  await ask(listener.url);
}

/** What the oracle refuses, and its other answers, with prices and without. */
async function refuseAtOracle(refusals: Refusals): Promise<void> {
  await withOracle(async ({ url }) => {
    await refusals.ask(url, noRoute);
    await refusals.askUnderWrongNames(url);
    for (const path of ["/", "/openapi.json", "/health", "/metrics", "/prices", "/providers"]) {
      await refusals.expect(url, 200, path);
    }
    await refusals.expectSoon(url, 200, "/ready");
  });
  // Nothing listens on port 1.
  const providerUrls = { provider_a: "ws://127.0.0.1:1/" };
  await using oracle = await startOracle(
    withDefaults(oracleOptions, { port: 0, providers: ["provider_a"], providerUrls }),
  );
  await refusals.expect(oracle.url, 200, "/prices");
  await refusals.expect(oracle.url, 503, "/health");
  await refusals.expect(oracle.url, 503, "/ready");
}

/** Requests that the simulated exchanges refuse in the exchange's own format. */
async function refuseAtExchanges(refusals: Refusals): Promise<void> {
  await using running = await startExchanges(withDefaults(options, { port: 0 }));
  const { url, providerUrls } = running;
  await refusals.ask(url, noRoute);
  const path = new URL(providerUrls.provider_b).pathname;
  const advice = "connect with a WebSocket client";
  await refusals.ask(url, { path, ...says("426 UPGRADE_REQUIRED", path, advice) });
  const headers = { upgrade: "websocket", connection: "Upgrade" };
  const broken = says("400 INVALID_REQUEST", "sec-websocket-key", advice);
  await refusals.ask(url, { path, headers, ...broken });
}

const noRoute = { path: "/nothing", ...says("404 NOT_FOUND", "GET /nothing", "GET /") };

Deno.test("Refusals: every refusal has a documented code, a reason and advice", async (t) => {
  const refusals = new Refusals();
  await t.step("solver", () => refuseAtSolver(refusals));
  await t.step("bridge", () => refuseAtBridge(refusals));
  await t.step("node", () => refuseAtNode(refusals));
  await t.step("proxy", () => refuseAtProxy(refusals));
  await t.step("oracle", () => refuseAtOracle(refusals));
  await t.step("exchanges", () => refuseAtExchanges(refusals));
  const config = await readConfig(withDefaults(consoleOptions, {}));
  await t.step(
    "console",
    () =>
      serving(createConsoleApi({ page: new Map(), config }), (url) => refusals.ask(url, noRoute)),
  );

  await t.step("every documented status was seen", () => {
    refusals.assertAllDocumentedCame();
  });

  await t.step("every code that was seen is documented", () => {
    for (const [code, shown] of refusals.seen) {
      for (const part of code.split(" ")) {
        const isNumber = /^-\d+$/.test(part);
        assert(isNumber ? isRpcNumberDocumented(part) : DOCUMENTED.includes(part), shown);
      }
    }
  });

  await t.step("every documented code was seen, or has a test elsewhere", () => {
    const came = new Set([...refusals.seen.keys()].flatMap((code) => code.split(" ")));
    assert(DOCUMENTED.length > 50, DOCUMENTED.join());
    const missing = DOCUMENTED.filter((code) => !came.has(code) && !(code in TESTED_ELSEWHERE));
    assert.deepEqual(missing, []);
    for (const [code, file] of Object.entries(TESTED_ELSEWHERE)) {
      assert(DOCUMENTED.includes(code) && !came.has(code), code);
      const source = Deno.readTextFileSync(new URL(`../${file}`, import.meta.url));
      assert(source.includes(code), `${file} does not contain ${code}`);
    }
  });
});
