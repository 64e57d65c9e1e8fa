import assert from "node:assert/strict";
import { withDefaults } from "../../lib/cli/options.ts";
import { options, type ProxyOptions, startProxy } from "../../services/proxy/mod.ts";
import {
  assertAllowsPage,
  assertAnswersAsName,
  everyOption,
  NAME,
  type Observe,
  PAGE,
} from "../support/every_option.ts";
import { freePort } from "../support/ports.ts";
import { EchoNode } from "./echo_node.ts";
import { call, connectReads, post, startTestProxy } from "./support.ts";

Deno.test(
  "Proxy: every option has its effect",
  everyOption(options, async (observe) => {
    await using read = new EchoNode();
    await using write = new EchoNode();
    const given = {
      port: freePort(),
      host: "127.0.0.2",
      wsPort: freePort(),
      reusePort: true,
      metricsPort: freePort(),
      writeNodeUrl: write.url,
      readNodeUrl: read.url,
      readNodeWsUrl: `${read.url.replace("http", "ws")}/of-its-own`,
      corsOrigins: [PAGE],
      allowedHosts: [NAME],
      trustProxy: false,
      writeMethods: ["eth_mine"],
      maxBodyBytes: 2_000,
      httpMethods: ["eth_gasPrice"],
    } satisfies Partial<ProxyOptions>;
    const values = withDefaults(options, given);
    await using proxy = await startProxy(values);
    const { url } = proxy;
    await read.until(() => read.connections === 1);
    await observe(given, {
      port: () => assert.equal(new URL(url).port, String(given.port)),
      host: () => assert.equal(new URL(url).hostname, given.host),
      wsPort: () => assert.equal(new URL(proxy.wsPortUrl ?? "").port, String(given.wsPort)),
      reusePort: async () => await (await startProxy({ ...values, metricsPort: 0 })).stop(),
      metricsPort: async () => {
        assert.equal(new URL(proxy.metricsUrl ?? "").port, String(given.metricsPort));
        assert.match(await (await fetch(`${proxy.metricsUrl}/metrics`)).text(), /^proxy_/m);
      },
      corsOrigins: () => assertAllowsPage(`${url}/health`),
      allowedHosts: () => assertAnswersAsName(url),
      writeNodeUrl: async () => {
        await (await post(url, call(1, "core_sendTransaction"))).body?.cancel();
        assert.equal(write.requests.length, 1);
      },
      readNodeUrl: async () => {
        await (await post(url, [call(1, "eth_a"), call(2, "eth_b")])).body?.cancel();
        assert(read.requests.some(({ text }) => text.includes("eth_a")));
      },
      readNodeWsUrl: () => assert.deepEqual(new Set(read.paths), new Set(["/of-its-own"])),
      trustProxy: async () => {
        const forwarded = { "x-forwarded-for": "9.9.9.9" };
        await (await post(url, [call(1, "eth_f"), call(2, "eth_g")], forwarded)).body?.cancel();
        const { forwardedFor } = read.requests.find(({ text }) => text.includes("eth_f")) ?? {};
        assert(!forwardedFor?.includes("9.9.9.9"), `${forwardedFor}`);
      },
      writeMethods: async () => {
        await (await post(url, call(1, "eth_mine"))).body?.cancel();
        assert(write.requests.some(({ text }) => text.includes("eth_mine")));
      },
      maxBodyBytes: async () => {
        const { status, body } = await post(url, call(1, "eth_call", ["x".repeat(2_000)]));
        await body?.cancel();
        assert.equal(status, 413);
      },
      httpMethods: async () => {
        await connectReads({ url, read });
        for (const method of ["eth_gasPrice", "eth_chainId"]) {
          await (await post(url, call(1, method))).body?.cancel();
        }
        assert.deepEqual(read.requests.map(({ over }) => over), ["http", "ws"]);
      },
    });
    await observeOnOthers(observe);
  }, {
    broadcastCapacity: "tests/proxy/slow_client_test.ts",
    maxBufferedBytes: "tests/proxy/slow_client_test.ts",
    slowClients: "tests/proxy/slow_client_test.ts",
    maxBatch: "tests/proxy/malformed_test.ts",
    maxWsClients: "tests/proxy/http_and_ws_test.ts",
    upstreamTimeoutMs: "tests/proxy/http_and_ws_test.ts",
    readNodeMaxLag: "tests/proxy/several_nodes_test.ts",
    headSilenceMs: "tests/proxy/proxy_core_test.ts",
    reconnectInitialMs: "tests/proxy/proxy_core_test.ts",
    reconnectMaxMs: "tests/proxy/proxy_core_test.ts",
    maxSubscriptionsPerClient: "tests/refusals/proxy_refusals.ts",
    maxConnectionsPerAddress: "tests/hostile/connections_test.ts",
    maxUpstreamSubscriptions: "tests/hostile/subscriptions_test.ts",
  }),
);

/** Options that would keep others from their effect. */
async function observeOnOthers(observe: Observe<typeof options>): Promise<void> {
  await using node = new EchoNode();
  const overHttp = { readNodeUrl: node.url, reads: "http" as const };
  await withStarted(overHttp, async ({ url }) => {
    await node.until(() => node.connections === 1);
    await observe(overHttp, {
      reads: async () => {
        node.requests.length = 0;
        for (let id = 0; id < 20; id += 1) {
          await (await post(url, call(id, "eth_chainId"))).body?.cancel();
        }
        assert(node.requests.every(({ over }) => over === "http"));
        assert.equal(node.connections, 1, "no socket for reads");
      },
    });
  });
  const rates = [
    { given: { readNodeUrl: node.url, rateLimit: 2 }, accepted: 10 }, // each caller has its own
    { given: { readNodeUrl: node.url, rateLimit: 2, trustProxy: false }, accepted: 6 },
    { given: { readNodeUrl: node.url, rateLimitTotal: 1 }, accepted: 3 },
  ];
  for (const { given, accepted } of rates) {
    await withStarted(given, async ({ url }) => {
      const statuses = await Promise.all(Array.from({ length: 10 }, async (_, n) => {
        const forwarded = { "x-forwarded-for": `10.0.0.${n}` };
        const { status, body } = await post(url, call(n, "eth_chainId"), forwarded);
        await body?.cancel();
        return status;
      }));
      const isLimited = () =>
        assert.equal(statuses.filter((status) => status === 200).length, accepted);
      await observe(given, { rateLimit: isLimited, rateLimitTotal: isLimited });
    });
  }
}

async function withStarted(
  given: Partial<ProxyOptions>,
  look: (proxy: { url: string }) => Promise<void>,
): Promise<void> {
  await using proxy = await startTestProxy(given);
  await look(proxy);
}
