import assert from "node:assert/strict";
import WebSocket from "ws";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import config from "../../deno.json" with { type: "json" };
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { STACK_PRICING, startStack } from "../../services/stack/stack.ts";
import { hasVolatility } from "../ship/support.ts";

const DEV_USER = DEV_ACCOUNTS.admin.address;

const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));

Deno.test("RangemakerClient: watches over a WebSocket from the option connect, as needed on Node 20", async () => {
  await using stack = await startStack({ ports: FREE_PORTS, seed: 1 });
  const connect = (url: string) => new WebSocket(url);
  const client = new RangemakerClient({ urls: stack.urls, chainId: 1337, connect });
  const states: string[] = [];
  const watch = await client.watch({ onState: (state) => states.push(state) }, DEV_USER);
  assert.deepEqual([states, watch.theses], [["live"], []]);
  watch.close();
  await assert.rejects(client.deposit(1n), { code: "WALLET_REQUIRED" });
});

const root = new URL("../../", import.meta.url).pathname;

/**
 * How the example can be run, by README.md and docs/client.md: which flags, in what folder, and
 * what it imports.
 */
const WAYS: Record<string, (folder: string) => { flags: string[]; cwd: string; client: string }> = {
  "in a directory of the checkout": () => ({
    flags: [],
    cwd: `${root}docs`,
    client: "../lib/client/mod.ts",
  }),
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
  const [, example] =
    /```ts\n(import \{ hasPriceMoved, RangemakerClient[\s\S]*?)```/.exec(readme) ?? [];
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
    await hasVolatility(urls);
    await Promise.all(
      Object.entries(WAYS).map(async ([name, way], index) => {
        const { flags, cwd, client } = way(folders[index]!); // there is one for each
        const program = runnable.replace("../lib/client/mod.ts", client);
        assert.match(await runExample(program, flags, cwd), /^(won|lost) \d+n\n$/, name);
      }),
    );
  } finally {
    await stack.stop();
    for (const folder of folders) Deno.removeSync(folder, { recursive: true });
  }
});
