/** Restore drills: each service starts from an older backup, alone and together with others. */
import assert from "node:assert/strict";
import { systemClock } from "../../lib/clock.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import type { RunningService } from "../../lib/http/service.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { options as replayOptions, replayDeposits } from "../../services/bridge/replay.ts";
import { options as nodeOptions, startNode } from "../../services/node/mod.ts";
import {
  options as reconcileOptions,
  reconcileBets,
} from "../../services/solver/execution/reconcile.ts";
import { relayer, signedRequest, startTestBridge, user } from "../bridge/support.ts";
import { execution, solver, withSolver } from "../solver/support.ts";
import { post } from "../support/envelope.ts";
import { eventually } from "../support/eventually.ts";
import type { FakeNode } from "../support/fake_node.ts";
import { freePort, startAgain } from "../support/ports.ts";
import { withFolder } from "../support/with_folder.ts";

/** Until a missing receipt is believed, and a health check notices a repair. */
const NOTICED_MS = 15_000;

/** A node and a bridge, stopped for each backup and restore, as docs/operating.md says. */
class Deployment {
  readonly #folder: string;
  readonly #port = freePort();
  readonly #running: RunningService[] = [];
  url = "";
  bridgeUrl = "";

  constructor(folder: string) {
    this.#folder = folder;
  }

  get database(): string {
    return `${this.#folder}/data/bridge.sqlite`;
  }

  async start(): Promise<void> {
    const options = withDefaults(nodeOptions, {
      ...{ port: this.#port, readPort: 0, dataDir: `${this.#folder}/data/node` },
      ...{ relayers: [DEV_ACCOUNTS.relayer.address], oracleUrl: "http://127.0.0.1:9" },
    });
    const node = await startAgain(() => startNode(options));
    this.#running.push(node);
    const bridge = await startTestBridge(node.url, { database: this.database });
    this.#running.push(bridge);
    [this.url, this.bridgeUrl] = [node.url, bridge.url];
  }

  async stop(): Promise<void> {
    for (const service of this.#running.splice(0).reverse()) await service.stop();
  }

  /** `cp -r data backup`, while everything is stopped. */
  async backUp(): Promise<void> {
    await this.stop();
    await copy(`${this.#folder}/data`, `${this.#folder}/backup`);
    await this.start();
  }

  async restore(...names: string[]): Promise<void> {
    await this.stop();
    for (const name of names) {
      await Deno.remove(`${this.#folder}/data/${name}`, { recursive: true });
      await copy(`${this.#folder}/backup/${name}`, `${this.#folder}/data/${name}`);
    }
    await this.start();
  }

  deposit(nonce: bigint) {
    return post(`${this.bridgeUrl}/deposit`, requestOf(nonce));
  }

  async balance(): Promise<bigint> {
    return (await new CoreClient({ url: this.url }).getAccount(user.address)).balance;
  }

  /** Resolves once the bridge's health has a code, or none. */
  async untilHealth(expected: string | undefined): Promise<void> {
    await eventually(`health ${expected}`, async () => {
      const { code } = await (await fetch(`${this.bridgeUrl}/health`)).json();
      return code === expected || undefined;
    }, NOTICED_MS);
  }

  replay() {
    const options = { rpcUrl: this.url, privateKey: relayer, database: this.database };
    return replayDeposits(withDefaults(replayOptions, options), () => {}, systemClock);
  }
}

/** Each deposit is 25 USDC, so a balance tells which were credited how often. */
const AMOUNT = 25_000_000n;
const requests = new Map<bigint, ReturnType<typeof signedRequest>>();

/** The same signed request each time. */
function requestOf(nonce: bigint) {
  const request = requests.get(nonce) ?? signedRequest({ nonce, deadline: Date.now() + 600_000 });
  requests.set(nonce, request);
  return request;
}

async function copy(from: string, to: string): Promise<void> {
  if ((await Deno.stat(from)).isFile) return await Deno.copyFile(from, to);
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) await copy(`${from}/${name}`, `${to}/${name}`);
}

/** Three deposits, a backup, and three more. */
async function withDeposits(test: (deployment: Deployment) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const deployment = new Deployment(folder);
    try {
      await deployment.start();
      for (const nonce of [1n, 2n, 3n]) assert.equal((await deployment.deposit(nonce)).status, 200);
      await deployment.backUp();
      for (const nonce of [4n, 5n, 6n]) assert.equal((await deployment.deposit(nonce)).status, 200);
      assert.equal(await deployment.balance(), 6n * AMOUNT);
      await test(deployment);
    } finally {
      await deployment.stop();
    }
  });
}

Deno.test("Restore: an old node is CHAIN_REWOUND until bridge replay, which sends what it lacks once", () =>
  withDeposits(async (deployment) => {
    await deployment.restore("node");
    await deployment.untilHealth("CHAIN_REWOUND");
    assert.equal(await deployment.balance(), 3n * AMOUNT);
    const { status, body } = await deployment.deposit(7n);
    assert.deepEqual([status, body.code], [503, "CHAIN_REWOUND"]);
    assert.deepEqual(await deployment.replay(), { present: 3, repaired: 3, failed: 0 });
    assert.equal(await deployment.balance(), 6n * AMOUNT);
    await deployment.untilHealth(undefined);
    assert.deepEqual(await deployment.replay(), { present: 6, repaired: 0, failed: 0 });
    assert.equal((await deployment.deposit(7n)).status, 200);
    assert.equal(await deployment.balance(), 7n * AMOUNT);
  }));

Deno.test("Restore: an old bridge finds what it lost credited, and credits nothing twice", () =>
  withDeposits(async (deployment) => {
    await deployment.restore("bridge.sqlite");
    for (const nonce of [1n, 2n, 3n]) assert.equal((await deployment.deposit(nonce)).status, 409);
    for (const nonce of [4n, 5n, 6n]) assert.equal((await deployment.deposit(nonce)).status, 200);
    const path = `${deployment.bridgeUrl}/deposits/${user.address}/4`;
    const { deposit } = await (await fetch(path)).json();
    assert.deepEqual([deposit.state, deposit.reason.code], [
      "committed",
      "DEPOSIT_ALREADY_PROCESSED",
    ]);
    assert.equal(await deployment.balance(), 6n * AMOUNT);
    await deployment.untilHealth(undefined);
  }));

Deno.test("Restore: with an old node and an old bridge, users who send again get each deposit once", () =>
  withDeposits(async (deployment) => {
    await deployment.restore("node", "bridge.sqlite");
    assert.deepEqual(await deployment.replay(), { present: 3, repaired: 0, failed: 0 });
    for (const nonce of [4n, 5n, 6n]) assert.equal((await deployment.deposit(nonce)).status, 200);
    assert.equal(await deployment.balance(), 6n * AMOUNT);
  }));

Deno.test("Restore: a bet that an old node lacks stops the solver until solver reconcile ends it", () =>
  withFolder((folder) => {
    const database = `${folder}/solver.sqlite`;
    return withSolver(async ({ url }, node: FakeNode) => {
      const bet = await execution(url);
      assert.equal((await post(`${url}/execute`, bet)).status, 200);
      const balances = new Map(node.credited);
      node.rewind();
      for (const [address, balance] of balances) node.credited.set(address, balance);
      node.methods.set("core_getThesis", () => null);
      await eventually("the solver notices", async () => {
        const { code } = await (await fetch(`${url}/health`)).json();
        return code === "CHAIN_REWOUND" || undefined;
      }, NOTICED_MS);
      const refused = await post(`${url}/execute`, await execution(url));
      assert.deepEqual([refused.status, refused.body.code], [503, "CHAIN_REWOUND"]);
      const options = withDefaults(reconcileOptions, {
        ...{ rpcUrl: node.url, privateKey: solver, database },
      });
      const lines: string[] = [];
      const print = (line: string) => void lines.push(line);
      assert.deepEqual(await reconcileBets(options, print), { present: 0, repaired: 1, failed: 0 });
      assert.match(lines.join(), /^Gone: thesis 1 of 0x.*, 10 USDC .*: undo its hedge$/);
      await eventually("the solver goes on", async () => {
        const { status } = await post(`${url}/execute`, await execution(url));
        return status === 200 || undefined;
      }, NOTICED_MS);
      const again = await post(`${url}/execute`, bet);
      assert.equal(again.body.code, "CHAIN_REWOUND");
    }, { database });
  }));
