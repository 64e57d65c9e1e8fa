/** Clients of other projects, unmodified, through the proxy to the development node. */
import assert from "node:assert/strict";
import { WebSocketProvider } from "ethers";
import { createPublicClient, http } from "viem";
import { withDefaults } from "../../lib/cli/options.ts";
import { options as nodeOptions, type RunningNode, startNode } from "../../services/node/mod.ts";
import { options as proxyOptions, startProxy } from "../../services/proxy/mod.ts";
import { eventually } from "../support/eventually.ts";
import { followers } from "./real_clients.ts";
import { freePort, startAgain } from "../support/ports.ts";

const CHAIN_ID = 1337;
/** Anvil is killed more often. */
const RESTARTS = 5;

/** A node without an oracle: its prices are stale, which is of no matter here. */
function start(port = freePort(), readPort = freePort()): Promise<RunningNode> {
  return startNode(withDefaults(nodeOptions, {
    port,
    readPort,
    oracleUrl: "http://127.0.0.1:1",
    dataDir: ":memory:",
  }));
}

async function withNodeAndProxy(
  play: (scene: { url: string; wsUrl: string; restart: () => Promise<void> }) => Promise<void>,
): Promise<void> {
  let node = await start();
  const [writeNodeUrl, readNodeUrl] = [node.url, node.readUrl];
  assert(readNodeUrl);
  const proxy = await startProxy(withDefaults(proxyOptions, {
    port: 0,
    writeNodeUrl,
    readNodeUrl,
    reconnectInitialMs: 5,
    reconnectMaxMs: 20,
  }));
  const restart = async () => {
    await node.stop();
    const ports = [writeNodeUrl, readNodeUrl].map((url) => Number(new URL(url).port));
    node = await startAgain(() => start(...ports));
  };
  try {
    await play({ url: proxy.url, wsUrl: proxy.wsUrl, restart });
  } finally {
    await proxy.stop();
    await node.stop();
  }
}

Deno.test(`Proxy: viem and ethers read a core node, and follow it through ${RESTARTS} restarts`, () =>
  withNodeAndProxy(async ({ url, wsUrl, restart }) => {
    const overHttp = createPublicClient({ transport: http(url, { batch: true }) });
    const [chainId, number] = await Promise.all([
      overHttp.getChainId(),
      overHttp.getBlockNumber({ cacheTime: 0 }),
    ]);
    assert.equal(chainId, CHAIN_ID);
    const provider = new WebSocketProvider(wsUrl, undefined, { cacheTimeout: -1 });
    assert.equal((await provider.getNetwork()).chainId, BigInt(CHAIN_ID));
    assert((await provider.getBlock("latest"))!.number >= Number(number));
    await provider.destroy();
    await using stack = new AsyncDisposableStack();
    const clients = (await followers(wsUrl)).map((client) => stack.use(client));
    for (let n = 0; n <= RESTARTS; n += 1) {
      // ethers does not report when its subscription is active, so each must receive a head first.
      if (n > 0) await restart();
      const before = clients.map(({ heads }) => heads);
      await eventually(`every client hears of a head after restart ${n}`, () => {
        return clients.every(({ heads }, index) => heads > before[index]!) || undefined;
      });
    }
  }));
