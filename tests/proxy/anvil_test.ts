/**
 * Clients of other projects through the proxy to Anvil. It runs where Anvil's executable is named by
 * ANVIL or found on the path, as with
 *
 *     npx --yes -p @foundry-rs/anvil-linux-amd64@1.7.1 -- deno test -A tests/proxy/anvil_test.ts
 *
 * (the package for all platforms starts the node from a script, and a kill ends the script alone). It
 * is no dependency of the project: its binary would make up most of a fresh clone.
 */
import assert from "node:assert/strict";
import { WebSocketProvider } from "ethers";
import {
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
import { options, startProxy } from "../../services/proxy/mod.ts";
import { eventually } from "../support/eventually.ts";
import { followers } from "./real_clients.ts";

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

/** A port that was free a moment ago. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Whether somebody listens. */
async function listens(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch (thrown) {
    if (thrown instanceof Deno.errors.ConnectionRefused) return false;
    throw thrown;
  }
}

async function startAnvil(port: number): Promise<Deno.ChildProcess> {
  const args = ["--port", String(port), "--silent", "--chain-id", "1337"];
  const child = new Deno.Command(anvil ?? "", { args, stdout: "null", stderr: "null" }).spawn();
  await eventually("Anvil listens", async () => await listens(port) || undefined);
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
  const proxy = await startProxy(withDefaults(options, {
    port: 0,
    writeNodeUrl: node,
    readNodeUrl: node,
    reconnectInitialMs: 5,
    reconnectMaxMs: 20,
  }));
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

const test = { ignore: anvil === undefined };

Deno.test(
  "Proxy, Anvil: transactions sent over HTTP and WebSocket, logs of a filter to viem and ethers",
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
        return (seen.viem === 2 && seen.ethers === 2) || undefined;
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
        const before = clients.map(({ heads }) => heads);
        await eventually(`every client hears of a head after kill ${n}`, async () => {
          await miner.mine({ blocks: 1 });
          return clients.every(({ heads }, index) => heads > before[index]!) || undefined;
        });
      }
    }),
);
