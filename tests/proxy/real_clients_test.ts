/**
 * Clients of other projects through the proxy to Anvil. It runs where Anvil's executable is named
 * by ANVIL or found on the path, as with
 *
 *     npx --yes -p @foundry-rs/anvil-linux-amd64@1.7.1 -- deno test -A
 * tests/proxy/real_clients_test.ts
 *
 * (the package for all platforms starts the node from a script, and a kill ends the script alone).
 * It is no dependency of the project: its binary would make up most of a fresh clone.
 */
import assert from "node:assert/strict";
import { WebSocketProvider } from "ethers";
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  defineChain,
  http,
  publicActions,
  webSocket,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { options as nodeOptions, type RunningNode, startNode } from "../../services/node/mod.ts";
import { eventually } from "../support/eventually.ts";
import { freePort, startAgain } from "../support/ports.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { startTestProxy } from "./support.ts";

const RESTARTS = 50;
const TOPIC = `0x${"00".repeat(31)}aa` as const;

/** Creation code that logs once, without data, under TOPIC: PUSH1 aa, PUSH1 0, PUSH1 0, LOG1, STOP. */
const LOGGING_CODE = "0x60aa60006000a100";

async function findAnvil(): Promise<string | undefined> {
  const named = Deno.env.get("ANVIL");
  if (named !== undefined) return named;
  const { success } = await new Deno.Command("sh", { args: ["-c", "command -v anvil"] }).output();
  return success ? "anvil" : undefined;
}

const anvil = await findAnvil();

async function listens(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch (thrown) {
    if (thrown instanceof Deno.errors.ConnectionRefused) return false;
    throw thrown;
  }
}

async function startAnvil(port: number, ...more: string[]): Promise<Deno.ChildProcess> {
  const args = ["--port", String(port), "--silent", "--chain-id", "1337", ...more];
  const child = new Deno.Command(anvil ?? "", { args, stdout: "null", stderr: "null" }).spawn();
  await eventually("Anvil listens", async () => await listens(port));
  return child;
}

async function killAnvil(child: Deno.ChildProcess, port: number): Promise<void> {
  child.kill("SIGKILL");
  await child.status;
  assert.equal(await listens(port), false, "What was killed was a script, not the node itself");
}

interface Scene {
  url: string;
  wsUrl: string;
  restart: () => Promise<void>;
}

async function withAnvil(play: (scene: Scene) => Promise<void>): Promise<void> {
  const port = freePort();
  let child = await startAnvil(port);
  const node = `http://127.0.0.1:${port}`;
  const proxy = await startTestProxy({ writeNodeUrl: node, readNodeUrl: node });
  const restart = async () => {
    await killAnvil(child, port);
    child = await startAnvil(port);
  };
  try {
    await play({ url: proxy.url, wsUrl: proxy.wsUrl, restart });
  } finally {
    await proxy.stop();
    await killAnvil(child, port);
  }
}

const chain = defineChain({
  id: 1337,
  name: "Anvil",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [] } },
});
const account = privateKeyToAccount(DEV_ACCOUNTS.admin.privateKey);

const test = { ignore: anvil === undefined, timeout: 180_000 };

Deno.test(
  "Proxy, Anvil: viem and ethers send transactions over HTTP and WebSocket, and receive filtered logs",
  test,
  () =>
    withAnvil(async ({ url, wsUrl }) => {
      const overHttp = createWalletClient({ account, chain, transport: http(url) })
        .extend(publicActions);
      const transport = webSocket(wsUrl, { keepAlive: false });
      const overSocket = createWalletClient({ account, chain, transport }).extend(publicActions);
      const provider = new WebSocketProvider(wsUrl, undefined, { cacheTimeout: -1 });

      const seen = { viem: 0, ethers: 0 };
      const { unsubscribe } = await overSocket.transport.subscribe({
        params: ["logs", { topics: [TOPIC] }],
        onData: () => seen.viem += 1,
      });
      await provider.on({ topics: [TOPIC] }, () => seen.ethers += 1);
      for (const wallet of [overHttp, overSocket]) {
        const hash = await wallet.sendTransaction({ to: null, data: LOGGING_CODE, chain });
        const receipt = await eventually("the receipt", async () => {
          return await overHttp.getTransactionReceipt({ hash }).catch(() => undefined);
        });
        assert.equal(receipt.status, "success");
        assert.equal(receipt.logs.length, 1);
      }
      await eventually("both logs at both clients", () => {
        return (seen.viem === 2 && seen.ethers === 2);
      });
      await unsubscribe();
      await provider.destroy();
      (await overSocket.transport.getRpcClient()).close();
    }),
);

Deno.test(
  `Proxy, Anvil: ${RESTARTS} kills of the node lose no subscription of viem, ethers or a bare socket`,
  test,
  () =>
    withAnvil(async ({ url, wsUrl, restart }) => {
      await using stack = new AsyncDisposableStack();
      const clients = (await followers(wsUrl)).map((client) => stack.use(client));
      const miner = createTestClient({ chain, mode: "anvil", transport: http(url) });
      for (let n = 1; n <= RESTARTS; n += 1) {
        await restart();
        const before = clients.map(({ numbers }) => numbers.length);
        await eventually(`every client hears of a head after kill ${n}`, async () => {
          await miner.mine({ blocks: 1 });
          return clients.every(({ numbers }, i) => numbers.length > before[i]!);
        });
      }
    }),
);

/** When the chain of {@link AnvilTwin} begins, Unix seconds. */
const GENESIS_S = 1_700_000_000;

/**
 * One of several Anvils with the same chain. Anvils share no network, but if they mine blocks with
 * the same times, the blocks have the same hashes.
 */
class AnvilTwin {
  readonly port = freePort();
  #child: Deno.ChildProcess | undefined;
  #head = 0;

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get lives(): boolean {
    return this.#child !== undefined;
  }

  /** Starts with an empty chain and mines up to a block. */
  async start(head: number): Promise<void> {
    this.#child = await startAnvil(this.port, "--no-mining", "--timestamp", String(GENESIS_S));
    this.#head = 0;
    await this.mineTo(head);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child !== undefined) await killAnvil(child, this.port);
  }

  async mineTo(head: number): Promise<void> {
    for (; this.#head < head; this.#head += 1) {
      await this.call("evm_mine", [{ timestamp: GENESIS_S + (this.#head + 1) * 10, blocks: 1 }]);
    }
  }

  async call(method: string, params: unknown[]): Promise<{ number: string; hash: string }> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = { "content-type": "application/json" };
    return (await (await fetch(this.url, { method: "POST", headers, body })).json()).result;
  }
}

/** Anvils with one chain, as a proxy reads from them. */
class AnvilGroup {
  readonly #nodes: readonly AnvilTwin[];
  readonly #proxyUrl: string;
  #head = 1;

  /** @param nodes They have one block. */
  constructor(nodes: readonly AnvilTwin[], proxyUrl: string) {
    this.#nodes = nodes;
    this.#proxyUrl = proxyUrl;
  }

  async mine(): Promise<void> {
    this.#head += 1;
    const alive = this.#nodes.filter(({ lives }) => lives);
    await Promise.all(alive.map((node) => node.mineTo(this.#head)));
  }

  /** The node that the proxy follows. */
  leader(): Promise<AnvilTwin> {
    return eventually("a node leads", async () => {
      for (const node of this.#nodes) if (node.lives && await this.#is("leads", node)) return node;
    });
  }

  async mineUntilHeardBy(clients: readonly HeadFollower[]): Promise<void> {
    const before = this.#head;
    await eventually("every client gets new heads", async () => {
      await this.mine();
      return clients.every(({ numbers }) => Number(numbers.at(-1)) > before);
    });
  }

  /** Starts dead nodes with the chain so far, and waits until the proxy uses them again. */
  async revive(): Promise<void> {
    for (const dead of this.#nodes.filter(({ lives }) => !lives)) {
      await dead.start(this.#head);
      const [own, leading] = await Promise.all(
        [dead, await this.leader()].map((each) =>
          each.call("eth_getBlockByNumber", ["latest", false])
        ),
      );
      assert.equal(own?.hash, leading?.hash, "The nodes have one chain");
      await eventually("it is in again", async () => await this.#is("up", dead));
    }
  }

  async #is(state: "leads" | "up", { port }: AnvilTwin): Promise<boolean> {
    const text = await (await fetch(`${this.#proxyUrl}/metrics`)).text();
    return text.includes(`proxy_read_node_${state}{node="127.0.0.1:${port}"} 1\n`);
  }
}

Deno.test(
  "Proxy, Anvil: killing each of three nodes in turn loses no read or subscription, and repeats no head",
  test,
  async () => {
    await using stack = new AsyncDisposableStack();
    const nodes = [1, 2, 3].map(() => new AnvilTwin());
    for (const node of nodes) {
      stack.defer(() => node.kill());
      await node.start(1);
    }
    const proxy = await startTestProxy({
      writeNodeUrl: nodes[0]!.url,
      readNodeUrl: nodes.map(({ url }) => url).join(","),
    });
    stack.defer(() => proxy.stop());
    const group = new AnvilGroup(nodes, proxy.url);
    const clients = (await followers(proxy.wsUrl)).map((client) => stack.use(client));
    const reader = createWalletClient({
      account,
      chain,
      transport: http(proxy.url, { retryCount: 0 }),
    }).extend(publicActions);
    const killed = new Set<AnvilTwin>();
    await group.mineUntilHeardBy(clients);
    for (let kills = 0; kills < nodes.length; kills += 1) {
      const node = await group.leader();
      assert(!killed.has(node));
      killed.add(node);
      await node.kill();
      for (let n = 0; n < 5; n += 1) {
        await group.mine();
        assert.equal(await reader.getChainId(), chain.id);
        assert.equal(await reader.getBalance({ address: account.address }) > 0n, true);
      }
      await group.mineUntilHeardBy(clients);
      if (kills > 0) await group.revive();
    }
    await group.mineUntilHeardBy(clients);
    for (const { name, numbers } of clients) {
      const inOrder = [...new Set(numbers)].sort((a, b) => a - b);
      assert.deepEqual(numbers, inOrder, `${name}: each head once, in order`);
    }
    assert.equal(killed.size, 3);
  },
);

// Clients of other projects, unmodified, through the proxy to the development node.

const CHAIN_ID = 1337;
/** Anvil is killed more often. */
const CORE_NODE_RESTARTS = 5;

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
  await using stack = new AsyncDisposableStack();
  stack.defer(() => node.stop());
  const proxy = stack.use(await startTestProxy({ writeNodeUrl, readNodeUrl }));
  const restart = async () => {
    await node.stop();
    const ports = [writeNodeUrl, readNodeUrl].map((url) => Number(new URL(url).port));
    node = await startAgain(() => start(...ports));
  };
  await play({ url: proxy.url, wsUrl: proxy.wsUrl, restart });
}

Deno.test(`Proxy: viem and ethers read a core node, and follow it through ${CORE_NODE_RESTARTS} restarts`, () =>
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
    for (let n = 0; n <= CORE_NODE_RESTARTS; n += 1) {
      // ethers does not report when its subscription is active, so each must receive a head first.
      if (n > 0) await restart();
      const before = clients.map(({ numbers }) => numbers.length);
      await eventually(`every client hears of a head after restart ${n}`, () => {
        return clients.every(({ numbers }, i) => numbers.length > before[i]!);
      });
    }
  }));

/** A client of another project, unmodified, that notes the heads it is notified of. */
interface HeadFollower extends AsyncDisposable {
  name: string;
  /** Numbers of the heads, in the order in which they came. */
  readonly numbers: readonly number[];
}

/** viem, ethers and a bare socket, each following `newHeads` on a connection of its own. */
async function followers(wsUrl: string): Promise<HeadFollower[]> {
  return await Promise.all([followWithViem(wsUrl), followWithEthers(wsUrl), followBare(wsUrl)]);
}

async function followWithViem(wsUrl: string): Promise<HeadFollower> {
  const transport = webSocket(wsUrl, { keepAlive: false, reconnect: false, retryCount: 0 });
  const client = createPublicClient({ transport });
  const numbers: number[] = [];
  const subscription = await client.transport.subscribe({
    params: ["newHeads"],
    onData: ({ result }) => numbers.push(Number(result.number)),
  });
  return {
    name: "viem",
    numbers,
    async [Symbol.asyncDispose]() {
      await subscription.unsubscribe();
      (await client.transport.getRpcClient()).close();
    },
  };
}

async function followWithEthers(wsUrl: string): Promise<HeadFollower> {
  const provider = new WebSocketProvider(wsUrl, undefined, { cacheTimeout: -1 });
  const numbers: number[] = [];
  await provider.on("block", (number: number) => numbers.push(number));
  return { name: "ethers", numbers, [Symbol.asyncDispose]: () => provider.destroy() };
}

async function followBare(wsUrl: string): Promise<HeadFollower> {
  const socket = await RpcSocket.open(wsUrl);
  const { result } = await socket.call("eth_subscribe", ["newHeads"]);
  const numberOf = (head: unknown) => Number((head as { number: string }).number); // of newHeads
  return {
    name: "bare socket",
    get numbers() {
      return socket.notifications(result).map(numberOf);
    },
    [Symbol.asyncDispose]: () => socket.close(),
  };
}
