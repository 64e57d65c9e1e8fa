/** Clients of other projects, unmodified, through the proxy to the development node. */
import assert from "node:assert/strict";
import { WebSocketProvider } from "ethers";
import { createPublicClient, http, webSocket } from "viem";
import { CoreClient } from "../../lib/net/core_client.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { Signer } from "../../lib/protocol/signature.ts";
import { signTransaction } from "../../lib/protocol/transaction.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { options as nodeOptions, type RunningNode, startNode } from "../../services/node/mod.ts";
import { options as proxyOptions, startProxy } from "../../services/proxy/mod.ts";
import { eventually } from "../support/eventually.ts";
import { followers } from "./real_clients.ts";
import { freePort, startAgain } from "../support/ports.ts";

const CHAIN_ID = 1337;
const RESTARTS = 50;

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

Deno.test("Proxy: viem and ethers read a core node and follow it through the proxy", () =>
  withNodeAndProxy(async ({ url, wsUrl }) => {
    const overHttp = createPublicClient({ transport: http(url, { batch: true }) });
    const [chainId, number] = await Promise.all([
      overHttp.getChainId(),
      overHttp.getBlockNumber({ cacheTime: 0 }),
    ]);
    assert.equal(chainId, CHAIN_ID);
    const overSocket = createPublicClient({ transport: webSocket(wsUrl, { keepAlive: false }) });
    assert((await overSocket.getBlock()).number >= number);
    (await overSocket.transport.getRpcClient()).close();
    const provider = new WebSocketProvider(wsUrl, undefined, { cacheTimeout: -1 });
    assert.equal((await provider.getNetwork()).chainId, BigInt(CHAIN_ID));
    assert((await provider.getBlock("latest"))!.number >= Number(number));
    await provider.destroy();
  }));

Deno.test("Proxy: rpc.discover answers with the document of the node behind it", () =>
  withNodeAndProxy(async ({ url }) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "rpc.discover" });
    const { result } = await (await fetch(url, { method: "POST", body })).json();
    assert.equal(result.info.title, "rangemaker core node");
  }));

Deno.test("Proxy: a transaction sent through it is carried out once, and read back", () =>
  withNodeAndProxy(async ({ url }) => {
    const client = new CoreClient({ url });
    const { address: user } = DEV_ACCOUNTS.admin;
    const before = (await client.getAccount(user)).balance;
    const relayer = new Signer(DEV_ACCOUNTS.relayer.privateKey);
    const { tx } = signTransaction(
      {
        type: "Deposit",
        timestamp: Date.now(),
        from: relayer.address,
        user,
        amount: 5_000_000n,
        externalTxHash: `0x${"17".repeat(32)}`,
      },
      relayer,
      CHAIN_ID,
    );
    const receipt = await client.sendTransaction(tx);
    assert.equal(receipt.status, "committed");
    assert.deepEqual(await client.sendTransaction(tx), receipt);
    assert.deepEqual(await client.getTransaction(receipt.txHash), receipt);
    assert.equal((await client.getAccount(user)).balance, before + 5_000_000n);
  }));

Deno.test(`Proxy: ${RESTARTS} restarts of the node lose no subscription of viem, ethers or a bare socket`, () =>
  withNodeAndProxy(async ({ wsUrl, restart }) => {
    await using stack = new AsyncDisposableStack();
    const clients = (await followers(wsUrl)).map((client) => stack.use(client));
    // ethers does not report when its subscription stands, so each has to have heard of a head first.
    await eventually("every client hears of a head", () => {
      return clients.every(({ heads }) => heads > 0) || undefined;
    });
    for (let n = 1; n <= RESTARTS; n += 1) {
      await restart();
      const before = clients.map(({ heads }) => heads);
      await eventually(`every client hears of a head after restart ${n}`, () => {
        return clients.every(({ heads }, index) => heads > before[index]!) || undefined;
      });
    }
  }));
