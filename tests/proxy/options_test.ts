import assert from "node:assert/strict";
import { options, type ProxyOptions, startProxy } from "../../services/proxy/mod.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { eventually } from "../support/eventually.ts";
import {
  assertAllowsPage,
  assertAnswersAsName,
  everyOption,
  NAME,
  type Observe,
  PAGE,
} from "../support/every_option.ts";
import { freePort } from "../support/ports.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { ChainNode } from "./chain_nodes.ts";
import { echoAnswer, EchoNode } from "./echo_node.ts";
import { call, connectReads, post } from "./support.ts";

Deno.test(
  "Proxy: every option has its effect",
  everyOption(options, async (observe) => {
    const late = Promise.withResolvers<Response>();
    const read = new EchoNode({
      answer: (text) => text.includes("eth_slow") ? late.promise : echoAnswer(text),
    });
    const write = new EchoNode();
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
      maxBatch: 2,
      upstreamTimeoutMs: 200,
      maxWsClients: 2,
      maxSubscriptionsPerClient: 1,
      httpMethods: ["eth_gasPrice"],
      coalesceReads: false,
    } satisfies Partial<ProxyOptions>;
    const values = withDefaults(options, given);
    const proxy = await startProxy(values);
    const { url } = proxy;
    const errorOf = async (message: unknown) => {
      const { error } = await (await post(url, message)).json();
      return `${error?.code} ${error?.message}`;
    };
    try {
      await read.until(() => read.connections === 1);
      const client = await RpcSocket.open(proxy.wsUrl);
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
        maxBatch: async () =>
          assert.match(await errorOf([1, 2, 3].map((id) => call(id, "eth_x"))), /2/),
        httpMethods: async () => {
          await connectReads({ url, read });
          for (const method of ["eth_gasPrice", "eth_chainId"]) {
            await (await post(url, call(1, method))).body?.cancel();
          }
          assert.deepEqual(read.requests.map(({ over }) => over), ["http", "ws"]);
        },
        upstreamTimeoutMs: async () => assert.match(await errorOf(call(1, "eth_slow")), /200 ms/),
        coalesceReads: async () => {
          const same = () =>
            post(url, call(1, "core_getAccount", ["a"])).then(({ body }) => body?.cancel());
          await Promise.all([same(), same(), same()]);
          assert.equal(
            read.requests.filter(({ text }) => text.includes("core_getAccount")).length,
            3,
          );
        },
        maxSubscriptionsPerClient: async () => {
          await client.subscribe("newHeads");
          assert((await client.call("eth_subscribe", ["logs"])).error !== undefined);
        },
        maxWsClients: async () => {
          const second = await RpcSocket.open(proxy.wsUrl);
          await eventually("the second is served", async () => {
            const metrics = await (await fetch(`${url}/metrics`)).text();
            return /^proxy_ws_connections_active 2$/m.test(metrics) || undefined;
          });
          await assert.rejects(RpcSocket.open(proxy.wsUrl));
          await second.close();
        },
      });
      await client.close();
    } finally {
      late.resolve(new Response());
      await proxy.stop();
      await read.stop();
      await write.stop();
    }
    await observeOnOthers(observe);
  }, {
    broadcastCapacity: "tests/proxy/slow_client_test.ts",
    maxBufferedBytes: "tests/proxy/slow_client_test.ts",
    slowClients: "tests/proxy/slow_client_test.ts",
  }),
);

/** Options that need another read node, or limits that would keep others from their effect. */
async function observeOnOthers(observe: Observe<typeof options>): Promise<void> {
  const nodes = [new ChainNode(100), new ChainNode(100), new ChainNode(98)];
  const readNodeUrl = nodes.map(({ node }) => node.url).join(",");
  const lagging = { readNodeUrl, readNodeMaxLag: 1 };
  await withStarted(lagging, async ({ url }) => {
    await observe(lagging, {
      readNodeMaxLag: () =>
        eventually("the last is removed", async () => {
          const health = await (await fetch(`${url}/health`)).text();
          return health.includes(`:${nodes[2]?.node.port} does not serve`) || undefined;
        }, 15_000).then(() => {}),
    });
  });
  await Promise.all(nodes.map(({ node }) => node.stop()));
  const away = {
    readNodeUrl: "http://127.0.0.1:2",
    subscribeTimeoutMs: 100,
    reconnectInitialMs: 20,
    reconnectMaxMs: 40,
  };
  await withStarted(away, async ({ url, wsUrl }) => {
    const client = await RpcSocket.open(wsUrl);
    const isTried = () =>
      eventually("a dozen attempts, four at the default", async () => {
        const metrics = await (await fetch(`${url}/metrics`)).text();
        const [, attempts] = /^proxy_broadcast_reconnect_attempts (\d+)$/m.exec(metrics) ?? [];
        return Number(attempts) >= 12 || undefined;
      }, 3_000).then(() => {});
    await observe(away, {
      subscribeTimeoutMs: async () => {
        const startedAtMs = performance.now();
        assert((await client.call("eth_subscribe", ["newHeads"])).error !== undefined);
        assert(performance.now() - startedAtMs < 5_000, "10 s at the default");
      },
      reconnectInitialMs: isTried,
      reconnectMaxMs: isTried,
    });
    await client.close();
  });
  const node = new EchoNode();
  const silent = {
    readNodeUrl: node.url,
    headSilenceMs: 100,
    maxConnectionsPerAddress: 1,
    maxUpstreamSubscriptions: 8,
  };
  await withStarted(silent, async ({ wsUrl }) => {
    await node.until(() => node.connections === 1);
    const client = await RpcSocket.open(wsUrl);
    await client.subscribe("logs", { address: "0x1" });
    await observe(silent, {
      headSilenceMs: async () => {
        await client.subscribe("newHeads");
        await eventually("the head is read", () => node.requests.length > 0 || undefined, 5_000);
      },
      maxUpstreamSubscriptions: async () => {
        const { error } = await client.call("eth_subscribe", ["logs", { address: "0x2" }]);
        assert(error !== undefined, "an eighth of eight for one address");
      },
      maxConnectionsPerAddress: () => assert.rejects(RpcSocket.open(wsUrl)),
    });
    await client.close();
  });
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
  await node.stop();
}

async function withStarted(
  given: Partial<ProxyOptions>,
  look: (proxy: { url: string; wsUrl: string }) => Promise<void>,
): Promise<void> {
  await using proxy = await startProxy(withDefaults(options, { port: 0, ...given }));
  await look(proxy);
}
