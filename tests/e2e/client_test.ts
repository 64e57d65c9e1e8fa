import assert from "node:assert/strict";
import WebSocket from "ws";
import config from "../../deno.json" with { type: "json" };
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type ClientUrls, RangemakerClient, ServiceError } from "../../lib/client/mod.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { systemClock } from "../../lib/clock.ts";
import {
  FREE_PORTS,
  type RunningStack,
  STACK_PRICING,
  startStack,
} from "../../services/stack/stack.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { recorded } from "../support/http_answers.ts";

const DEV_USER = DEV_ACCOUNTS.admin.address;

const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));

/** A running stack with prices, and a user of it. */
async function withUser(
  play: (client: RangemakerClient, stack: RunningStack, price: bigint) => Promise<void>,
): Promise<void> {
  await using stack = await startStack({ ports: FREE_PORTS, seed: 1 });
  const client = clientOf(stack.urls);
  await play(client, stack, (await waitForPrices(stack.urls, client, systemClock)).price);
}

function clientOf(urls: ClientUrls): RangemakerClient {
  return new RangemakerClient({
    urls,
    chainId: 1337,
    wallet: privateKeyToAccount(generatePrivateKey()),
  });
}

function betAround(price: bigint) {
  const now = systemClock.now();
  return {
    symbol: "ETH/USDT",
    lowerPrice: price * 99n / 100n,
    upperPrice: price * 101n / 100n,
    betAmount: 1_000_000n,
    startTime: now,
    endTime: now + 5_000,
  };
}

Deno.test("RangemakerClient: deposits, quotes, executes and follows a bet to its end", async () => {
  await withUser(async (client, _stack, price) => {
    const from = systemClock.now() - 60_000;
    await recorded(() => client.deposit(5_000_000n, 7n));
    await assert.rejects(client.deposit(5_000_000n, 7n), (thrown) => {
      return thrown instanceof ServiceError && thrown.status === 409 &&
        thrown.code === "NONCE_USED" && !thrown.retryable;
    });
    const bet = betAround(price);
    assert.match((await client.estimate(bet)).multiplier, /^1\.(0[5-9]|10)\d\d$/);
    const offer = await client.quote(bet);
    const signature = await client.sign(offer);
    const first = await client.execute(offer, signature);
    assert.deepEqual(await client.execute(offer, signature), first);
    const thesis = await client.settled(first.thesisId, 15_000);
    const user = await client.account();
    const gain = thesis.status === "won" ? thesis.payout - thesis.betAmount : -thesis.betAmount;
    assert.equal(user.balance, 5_000_000n + gain);
    const { prices } = await client.history("ETH/USDT", from, systemClock.now());
    assert(prices.some(({ time }) => time >= thesis.startTime && time < thesis.endTime));
  });
});

Deno.test("RangemakerClient: watches over a WebSocket from the option connect, as needed on Node 20", async () => {
  await withUser(async (_client, { urls }) => {
    const connect = (url: string) => new WebSocket(url);
    const client = new RangemakerClient({ urls, chainId: 1337, connect });
    const states: string[] = [];
    const watch = await client.watch({ onState: (state) => states.push(state) }, DEV_USER);
    assert.deepEqual([states, watch.theses], [["live"], []]);
    watch.close();
    await assert.rejects(client.deposit(1n), { code: "WALLET_REQUIRED" });
  });
});

const root = new URL("../../", import.meta.url).pathname;

/** How the example can be run, by README.md and docs/client.md: which flags, in what folder, and what it imports. */
const WAYS: Record<string, (folder: string) => { flags: string[]; cwd: string; client: string }> = {
  "in the checkout": () => ({ flags: [], cwd: root, client: "./lib/client/mod.ts" }),
  "in another directory": (folder) => ({
    flags: ["--config", `${root}deno.json`],
    cwd: folder,
    client: `${root}lib/client/mod.ts`,
  }),
  "in a project that links to it": (folder) => {
    const own = { links: [root], imports: { viem: config.imports.viem } };
    Deno.writeTextFileSync(`${folder}/deno.json`, JSON.stringify(own));
    return { flags: [], cwd: folder, client: `${config.name}/client` };
  },
};

/**
 * Runs a program like `deno run --allow-net first_bet.ts`, again if a busy node answered too late.
 *
 * @returns Its output.
 */
async function runExample(program: string, flags: string[], cwd: string): Promise<string> {
  // Not as a file: the checkout stays as it is.
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", ...flags, "--allow-net=127.0.0.1", "--ext=ts", "-"],
    cwd,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode(program));
  await input.close();
  const { code, stdout, stderr } = await child.output();
  const reason = new TextDecoder().decode(stderr);
  if (reason.includes("nothing was recorded, try again")) return runExample(program, flags, cwd);
  assert.equal(code, 0, reason);
  return new TextDecoder().decode(stdout);
}

Deno.test("README: the client example plays a bet on a running stack, run in every documented way", async () => {
  const [, example] = /```ts\n(import \{ RangemakerClient[\s\S]*?)```/.exec(readme) ?? [];
  assert(example !== undefined, "README has no example of the client");
  const stack = await startStack({ ports: FREE_PORTS, seed: 1, pricing: STACK_PRICING });
  const folders = Object.keys(WAYS).map(() => Deno.makeTempDirSync());
  try {
    const { urls } = stack;
    const runnable = example
      .replace("http://127.0.0.1:3000", urls.solver)
      .replace("http://127.0.0.1:3001", urls.bridge)
      .replace("ws://127.0.0.1:8546/ws", urls.proxyWs)
      .replace("http://127.0.0.1:8546", urls.proxy);
    await waitForPrices(urls, clientOf(urls), systemClock);
    await Promise.all(
      Object.entries(WAYS).map(async ([name, way], index) => {
        const { flags, cwd, client } = way(folders[index]!); // there is one for each
        const program = runnable.replace("./lib/client/mod.ts", client);
        assert.match(await runExample(program, flags, cwd), /^(won|lost) \d+n\n$/, name);
      }),
    );
  } finally {
    await stack.stop();
    for (const folder of folders) Deno.removeSync(folder, { recursive: true });
  }
});
