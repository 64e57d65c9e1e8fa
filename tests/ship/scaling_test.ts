/** What docs/scaling.md says can be several, played as several. */
import assert from "node:assert/strict";
import { systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/core_client.ts";
import { DEV_ACCOUNTS } from "../../lib/dev_accounts.ts";
import { Signer } from "../../lib/protocol/signature.ts";
import { withDefaults } from "../../lib/service/options.ts";
import type { RunningService } from "../../lib/service/service.ts";
import { options as bridgeOptions, startBridge } from "../../services/bridge/mod.ts";
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { options as nodeOptions, startNode } from "../../services/node/mod.ts";
import { options as oracleOptions, startOracle } from "../../services/oracle/mod.ts";
import { options as proxyOptions, startProxy } from "../../services/proxy/mod.ts";
import { options as solverOptions, startSolver } from "../../services/solver/mod.ts";
import { playBet } from "../../services/stack/bet.ts";
import { FREE_PORTS, type StackUrls, startStack } from "../../services/stack/stack.ts";
import { eventually } from "../support/eventually.ts";
import { NEEDS_POSTGRES, POSTGRES_URL, withSchema } from "../support/postgres.ts";

/** Starts what a test asks for and ends it afterwards, the last first. */
async function withServices(
  test: (keep: <S extends { stop(): Promise<void> }>(service: S) => S) => Promise<void>,
): Promise<void> {
  const started: { stop(): Promise<void> }[] = [];
  try {
    await test((service) => {
      started.push(service);
      return service;
    });
  } finally {
    for (const service of started.reverse()) await service.stop();
  }
}

/** One address in front of several services, each asked in turn; one that is down is passed over. */
function inTurn(services: RunningService[]): RunningService {
  let turn = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const body = method === "GET" ? null : await request.text();
    for (let attempt = 0; attempt < services.length; attempt += 1) {
      const service = services[turn++ % services.length] ?? assert.fail();
      try {
        return await fetch(service.url + pathname + search, { method, headers, body });
      } catch (thrown) {
        if (!(thrown instanceof TypeError)) throw thrown; // of fetch, where nobody listens
      }
    }
    return new Response(null, { status: 502 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    stop: () => server.shutdown(),
  };
}

/** A proxy in front of nodes, or of what looks like them. */
function proxyBefore(write: string, read: string, readWs?: string) {
  return startProxy(withDefaults(proxyOptions, {
    port: 0,
    writeNodeUrl: write,
    readNodeUrl: read,
    readNodeWsUrl: readWs,
  }));
}

Deno.test("Scaling: several proxies on the same nodes, and a proxy behind a proxy, serve one bet", async () => {
  await withServices(async (keep) => {
    const { urls } = keep(await startStack({ ports: FREE_PORTS, seed: 1 }));
    const second = keep(await proxyBefore(urls.node, urls.nodeRead));
    const edge = keep(await proxyBefore(second.url, second.url, second.wsUrl));
    // Calls go through the stack's own proxy, the subscription through two others in a row.
    const bet = await playBet({ ...urls, proxyWs: edge.wsUrl }, systemClock, () => {});
    assert.match(bet.thesis.status, /^(won|lost)$/);
    const through = new CoreClient({ url: edge.url });
    assert.deepEqual(await through.getAccount(bet.user.address), bet.user);
  });
});

Deno.test({
  name:
    `Scaling: two bridges and two solvers, each pair on one PostgreSQL, serve one bet in turn${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  async fn() {
    await withSchema((bridges) =>
      withSchema((solvers) =>
        withServices(async (keep) => {
          const { urls } = keep(await startStack({ ports: FREE_PORTS, seed: 1 }));
          const bridge = async () =>
            keep(
              await startBridge(withDefaults(bridgeOptions, {
                port: 0,
                rpcUrl: urls.node,
                privateKey: new Signer(DEV_ACCOUNTS.relayer.privateKey),
                database: bridges,
              })),
            );
          const solver = async () =>
            keep(
              await startSolver(withDefaults(solverOptions, {
                port: 0,
                rpcUrl: urls.node,
                wsUrl: urls.proxyWs,
                privateKey: new Signer(DEV_ACCOUNTS.solver.privateKey),
                database: solvers,
              })),
            );
          const several: StackUrls = {
            ...urls,
            bridge: keep(inTurn([await bridge(), await bridge()])).url,
            solver: keep(inTurn([await solver(), await solver()])).url,
          };
          const bet = await playBet(several, systemClock, () => {});
          assert.match(bet.thesis.status, /^(won|lost)$/);
        })
      )
    );
  },
});

Deno.test("Scaling: with two oracles behind one address, prices stay fresh when one ends", async () => {
  await withServices(async (keep) => {
    const exchanges = keep(await startExchanges(withDefaults(exchangesOptions, { port: 0 })));
    const oracle = () =>
      startOracle(withDefaults(oracleOptions, {
        port: 0,
        minSources: 2,
        providerUrls: exchanges.providerUrls,
      }));
    const [first, second] = [await oracle(), keep(await oracle())];
    const address = keep(inTurn([first, second]));
    const maxStaleMs = 1_000;
    const node = keep(
      await startNode(withDefaults(nodeOptions, { port: 0, oracleUrl: address.url, maxStaleMs })),
    );
    const client = new CoreClient({ url: node.url });
    const priceAfter = (timeMs: number) =>
      eventually(`a price after ${timeMs}`, async () => {
        const price = (await client.getPrices())["ETH/USDT"];
        return price !== undefined && price.lastUpdate > timeMs ? price : undefined;
      });
    await priceAfter(0);
    await first.stop();
    const price = await priceAfter(Date.now() + maxStaleMs);
    assert.equal(price.state, "fresh");
  });
});
