/** Runs several instances of everything that docs/scaling.md allows. */
import assert from "node:assert/strict";
import { systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { listen } from "../../lib/http/listener.ts";
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

/** One address in front of several services, in turn; services that are down are skipped. */
function inTurn(services: Pick<RunningService, "url">[]): RunningService {
  let turn = 0;
  return listen("127.0.0.1", 0, async (request) => {
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
}

function proxyBefore(write: string, read: string, readWs?: string) {
  return startProxy(withDefaults(proxyOptions, {
    port: 0,
    writeNodeUrl: write,
    readNodeUrl: read,
    readNodeWsUrl: readWs,
  }));
}

/** Two bridges and two solvers in place of one of each, each pair on one PostgreSQL, asked in turn. */
async function inPairs(
  urls: StackUrls,
  running: AsyncDisposableStack,
  [bridges, solvers]: [string, string],
) {
  const bridge = async () =>
    running.use(
      await startBridge(withDefaults(bridgeOptions, {
        port: 0,
        rpcUrl: urls.node,
        privateKey: new LocalSigner(DEV_ACCOUNTS.relayer.privateKey),
        database: bridges,
      })),
    );
  const solver = async () =>
    running.use(
      await startSolver(withDefaults(solverOptions, {
        port: 0,
        rpcUrl: urls.node,
        wsUrl: urls.proxyWs,
        privateKey: new LocalSigner(DEV_ACCOUNTS.solver.privateKey),
        database: solvers,
      })),
    );
  return {
    bridge: running.use(inTurn([await bridge(), await bridge()])).url,
    solver: running.use(inTurn([await solver(), await solver()])).url,
  };
}

/** Plays a bet through several proxies, and with PostgreSQL pairs of bridges and solvers. */
async function playScaledBet(databases?: [string, string]): Promise<void> {
  await using running = new AsyncDisposableStack();
  const { urls } = running.use(await startStack({ ports: FREE_PORTS, seed: 1 }));
  const second = running.use(await proxyBefore(urls.node, urls.nodeRead));
  const edge = running.use(await proxyBefore(second.url, second.url, second.wsUrl));
  const pairs = databases && await inPairs(urls, running, databases);
  const proxies = running.use(inTurn([{ url: urls.proxy }, second, edge]));
  // Calls go to all proxies in turn, the subscription through two in a row.
  const scaled = { ...urls, proxy: proxies.url, proxyWs: edge.wsUrl, ...pairs };
  const bet = await playBet(scaled, systemClock, () => {});
  assert.match(bet.thesis.status, /^(won|lost)$/);
  const through = new CoreClient({ url: edge.url });
  assert.deepEqual(await through.getAccount(bet.user.address), bet.user);
}

const PAIRS = POSTGRES_URL === undefined ? "" : ", two bridges and two solvers on PostgreSQL";

Deno.test(`Scaling: several proxies in parallel and in a chain${PAIRS} serve one bet`, async () => {
  if (POSTGRES_URL === undefined) return await playScaledBet();
  await withSchema((bridges) => withSchema((solvers) => playScaledBet([bridges, solvers])));
});

Deno.test("Scaling: with two oracles behind one address, prices stay fresh when one ends", async () => {
  await using exchanges = await startExchanges(withDefaults(exchangesOptions, { port: 0 }));
  const oracle = () =>
    startOracle(withDefaults(oracleOptions, {
      port: 0,
      minSources: 2,
      providerUrls: exchanges.providerUrls,
    }));
  const first = await oracle();
  await using second = await oracle();
  await using address = inTurn([first, second]);
  const maxStaleMs = 1_000;
  await using node = await startNode(withDefaults(nodeOptions, {
    port: 0,
    readPort: 0,
    oracleUrl: address.url,
    maxStaleMs,
    dataDir: ":memory:",
  }));
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
