/** Runs several instances of everything that docs/scaling.md allows. */
import assert from "node:assert/strict";
import { systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import type { RunningService } from "../../lib/http/service.ts";
import { options as bridgeOptions, startBridge } from "../../services/bridge/mod.ts";
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { options as nodeOptions, startNode } from "../../services/node/mod.ts";
import { options as oracleOptions, startOracle } from "../../services/oracle/mod.ts";
import { options as proxyOptions, startProxy } from "../../services/proxy/mod.ts";
import { options as solverOptions, startSolver } from "../../services/solver/mod.ts";
import { playBet } from "../../services/stack/bet.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { type StackUrls, startStack } from "../../services/stack/stack.ts";
import { eventually } from "../support/eventually.ts";
import { POSTGRES_URL, withSchema } from "../support/postgres.ts";

/** Takes note of a service that has to be ended. */
type Keep = <S extends { stop(): Promise<void> }>(service: S) => S;

/** Starts services for a test and ends them afterwards, in reverse order. */
async function withServices(test: (keep: Keep) => Promise<void>): Promise<void> {
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

/** One address in front of several services, in turn; services that are down are skipped. */
function inTurn(services: Pick<RunningService, "url">[]): RunningService {
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
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A proxy in front of nodes, or of services with the same interface. */
function proxyBefore(write: string, read: string, readWs?: string) {
  return startProxy(withDefaults(proxyOptions, {
    port: 0,
    writeNodeUrl: write,
    readNodeUrl: read,
    readNodeWsUrl: readWs,
  }));
}

/** Two bridges and two solvers in place of one of each, each pair on one PostgreSQL, asked in turn. */
async function inPairs(urls: StackUrls, keep: Keep, databases: [string, string]) {
  const [bridges, solvers] = databases;
  const bridge = async () =>
    keep(
      await startBridge(withDefaults(bridgeOptions, {
        port: 0,
        rpcUrl: urls.node,
        privateKey: new LocalSigner(DEV_ACCOUNTS.relayer.privateKey),
        database: bridges,
      })),
    );
  const solver = async () =>
    keep(
      await startSolver(withDefaults(solverOptions, {
        port: 0,
        rpcUrl: urls.node,
        wsUrl: urls.proxyWs,
        privateKey: new LocalSigner(DEV_ACCOUNTS.solver.privateKey),
        database: solvers,
      })),
    );
  return {
    bridge: keep(inTurn([await bridge(), await bridge()])).url,
    solver: keep(inTurn([await solver(), await solver()])).url,
  };
}

/** Plays a bet through several proxies, and with PostgreSQL pairs of bridges and solvers. */
async function playScaledBet(databases?: [string, string]): Promise<void> {
  await withServices(async (keep) => {
    const { urls } = keep(await startStack({ ports: FREE_PORTS, seed: 1 }));
    const second = keep(await proxyBefore(urls.node, urls.nodeRead));
    const edge = keep(await proxyBefore(second.url, second.url, second.wsUrl));
    const pairs = databases && await inPairs(urls, keep, databases);
    const proxies = keep(inTurn([{ url: urls.proxy }, second, edge]));
    // Calls go to all proxies in turn, the subscription through two in a row.
    const scaled = { ...urls, proxy: proxies.url, proxyWs: edge.wsUrl, ...pairs };
    const bet = await playBet(scaled, systemClock, () => {});
    assert.match(bet.thesis.status, /^(won|lost)$/);
    const through = new CoreClient({ url: edge.url });
    assert.deepEqual(await through.getAccount(bet.user.address), bet.user);
  });
}

const PAIRS = POSTGRES_URL === undefined ? "" : ", two bridges and two solvers on PostgreSQL";

Deno.test(`Scaling: several proxies in parallel and in a chain${PAIRS} serve one bet`, async () => {
  if (POSTGRES_URL === undefined) return await playScaledBet();
  await withSchema((bridges) => withSchema((solvers) => playScaledBet([bridges, solvers])));
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
      await startNode(withDefaults(nodeOptions, {
        port: 0,
        readPort: 0,
        oracleUrl: address.url,
        maxStaleMs,
        dataDir: ":memory:",
      })),
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
