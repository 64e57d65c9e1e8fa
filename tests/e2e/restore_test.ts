/**
 * Restore drills: node, bridge and solver start from an older backup, each alone and in every
 * combination. The commands are those of docs/runbooks.md, "Backup and restore in a checkout".
 */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { withDefaults } from "../../lib/cli/options.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import type { RunningService } from "../../lib/http/service.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { Hex } from "../../lib/protocol/scalars.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { options as nodeOptions, type RunningNode, startNode } from "../../services/node/mod.ts";
import { signedRequest, startTestBridge } from "../bridge/support.ts";
import { hasPrices } from "../node/support/running_node.ts";
import { startFakeOracle } from "../node/support/fake_oracle.ts";
import { passagesOf } from "../ship/documents.ts";
import { filePath, run } from "../ship/support.ts";
import { askQuote, signQuote, solver, startTestSolver, user } from "../solver/support.ts";
import { post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { freePort, startAgain } from "../support/ports.ts";
import { withFolder } from "../support/files.ts";

/** Until a missing receipt is believed, and a health check notices a repair. */
const NOTICED_MS = 20_000;

/** USDC, 6 decimals: of each deposit, of each bet, and of the solver at the start of the chain. */
const DEPOSIT = 25_000_000n;
const BET = 10_000_000n;
const SOLVER_BALANCE = 1_000_000_000n;

/** Deposits and bets before the backup, and as many after it. */
const DEPOSITS = 3;
const BETS = 2;

type Name = "node" | "bridge" | "solver";

/**
 * The commands of the chapter: they make a backup, restore one service, accept the older state, and
 * replay a database that the bridge had before.
 */
const [backups = [], restores = [], repairs = [], [replayEarlier = ""] = []] = passagesOf(
  "docs/runbooks.md",
)
  .filter(({ chapter }) => chapter.startsWith("### Backup and restore in a checkout"))
  .map(({ commands }) => commands.map(({ text }) => text));

const oracle = () => Object.assign(startFakeOracle(), { prices: { "ETH/USDT": 1_650_000_000n } });

interface Signed {
  deposits: ReturnType<typeof signedRequest>[];
  bets: { quote: Awaited<ReturnType<typeof askQuote>>; userSignature: string }[];
}

class Deployment {
  readonly #folder: string;
  readonly #port = freePort();
  readonly #oracle = oracle();
  readonly #running = new Map<Name, RunningService>();
  #wsUrl = "";
  relayerKey: Hex = DEV_ACCOUNTS.relayer.privateKey;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async start(...names: Name[]): Promise<void> {
    for (const name of names) this.#running.set(name, await this.#start(name));
  }

  async #start(name: Name): Promise<RunningService> {
    const database = `${this.#folder}/data/${name}.sqlite`;
    const rpcUrl = `http://127.0.0.1:${this.#port}`;
    const privateKey = new LocalSigner(this.relayerKey);
    if (name === "bridge") return await startTestBridge(rpcUrl, { database, privateKey });
    if (name === "solver") {
      return await startTestSolver({ url: rpcUrl, wsUrl: this.#wsUrl }, { database });
    }
    const options = withDefaults(nodeOptions, {
      port: this.#port,
      readPort: 0,
      dataDir: `${this.#folder}/data/node`,
      oracleUrl: this.#oracle.url,
      oracleTimeoutMs: 90,
      relayers: [privateKey.address],
      balances: new Map([[solver.address, SOLVER_BALANCE]]),
    });
    const node: RunningNode = await startAgain(() => startNode(options));
    this.#wsUrl = node.wsUrl;
    await hasPrices(node);
    return node;
  }

  async stop(...names: Name[]): Promise<void> {
    for (const name of names.toReversed()) {
      await this.#running.get(name)?.stop();
      this.#running.delete(name);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("node", "bridge", "solver");
    await this.#oracle.stop();
  }

  async shell(command: string): Promise<string> {
    const task = `${Deno.execPath()} task -q --config '${filePath("deno.json")}'`;
    // The folder of a task that has started these tests is not meant.
    const line = `unset INIT_CWD\n${command.replace("deno task", task)}`;
    const { code, text } = await run("bash", ["-c", line], {
      cwd: this.#folder,
      env: {
        KAIZEN_RPC_URL: `http://127.0.0.1:${this.#port}`,
        NO_COLOR: "1",
        BRIDGE_PRIVATE_KEY: this.relayerKey,
        SOLVER_PRIVATE_KEY: DEV_ACCOUNTS.solver.privateKey,
      },
    });
    assert.equal(code, 0, `${command}\n${text}`);
    return text;
  }

  post(name: Name, path: string, body: unknown) {
    return post(`${this.#urlOf(name)}${path}`, body);
  }

  async signBet(): Promise<Signed["bets"][number]> {
    const now = Date.now();
    const window = { endTime: now + 3_600_000, deadline: now + 600_000 };
    const quote = await askQuote(this.#urlOf("solver"), window);
    return { quote, userSignature: signQuote(quote) };
  }

  /** Resolves when the health of a service has this code, or none. */
  async untilHealth(name: Name, expected: string | undefined): Promise<void> {
    await eventually(`health ${expected} of ${name}`, async () => {
      const { code } = await (await fetch(`${this.#urlOf(name)}/health`)).json();
      return code === expected;
    }, NOTICED_MS);
  }

  /** Whether the metric of a service names a problem, which fires the alert HealthFailed. */
  async showsProblem(name: Name, code: string): Promise<boolean> {
    const metrics = await (await fetch(`${this.#urlOf(name)}/metrics`)).text();
    return metrics.includes(`\n${name}_problem{code="${code}"} 1\n`);
  }

  /** The user's balance, and how many bets are open, each with a quote of its own. */
  async chain(): Promise<{ balance: bigint; bets: number }> {
    const client = new CoreClient({ url: this.#urlOf("node") });
    const { balance } = await client.getAccount(user.address);
    const { theses } = await client.getTheses({ user: user.address, limit: 100 });
    assert.equal(new Set(theses.map(({ quoteHash }) => quoteHash)).size, theses.length);
    return { balance, bets: theses.length };
  }

  #urlOf(name: Name): string {
    return this.#running.get(name)?.url ?? assert.fail(`${name} is stopped`);
  }
}

/** The chain if each deposit was credited once. */
function everyDepositOnce(bets: number) {
  return { balance: 2n * BigInt(DEPOSITS) * DEPOSIT - BigInt(bets) * BET, bets };
}

Deno.test("Backup in a checkout: copies of killed services have the rows that were only in the log", () =>
  withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/data/node`, { recursive: true });
    await Deno.writeTextFile(`${folder}/data/node/chain.sqlite`, "");
    const names = ["bridge", "solver"].map((name) => `${name}.sqlite`);
    // Open databases whose rows are not in their files yet, as a kill leaves them.
    const killed = names.map((name) => new DatabaseSync(`${folder}/data/${name}`));
    for (const database of killed) {
      database.exec("PRAGMA journal_mode = wal; CREATE TABLE rows (id INTEGER)");
      database.exec("INSERT INTO rows VALUES (7)");
    }
    const shell = async (command: string) => {
      const { code, text } = await run("bash", ["-c", command], { cwd: folder });
      assert.equal(code, 0, text);
    };
    for (const command of backups) await shell(command);
    for (const database of killed) database.close();
    for (const command of restores) await shell(command);
    for (const name of names) {
      const restored = new DatabaseSync(`${folder}/data/${name}`);
      assert.equal(Object(restored.prepare("SELECT id FROM rows").get()).id, 7, name);
      restored.close();
    }
  }));

async function depositAll(deployment: Deployment, signed: Signed): Promise<void> {
  for (let index = 0; index < DEPOSITS; index += 1) {
    const nonce = BigInt(signed.deposits.length);
    const request = signedRequest({ nonce, amount: DEPOSIT, deadline: Date.now() + 600_000 });
    signed.deposits.push(request);
    assert.equal((await deployment.post("bridge", "/deposit", request)).status, 200);
  }
}

async function work(deployment: Deployment, signed: Signed): Promise<void> {
  await depositAll(deployment, signed);
  for (let index = 0; index < BETS; index += 1) {
    const bet = await deployment.signBet();
    signed.bets.push(bet);
    const { status, body } = await deployment.post("solver", "/execute", bet);
    assert.deepEqual([status, Object(body.result).status], [200, "committed"]);
  }
}

/** Files of all services after some work, a backup, and more work. @returns What was signed. */
async function prepare(folder: string): Promise<Signed> {
  await using deployment = new Deployment(folder);
  const signed: Signed = { deposits: [], bets: [] };
  // An earlier backup must neither be lost nor be taken for this one.
  for (const count of [1, 2]) {
    await deployment.start("node", "bridge", "solver");
    if (count === 2) await work(deployment, signed);
    await deployment.stop("node", "bridge", "solver");
    for (const command of backups) await deployment.shell(command);
  }
  await deployment.start("node", "bridge", "solver");
  await work(deployment, signed);
  assert.deepEqual(await deployment.chain(), everyDepositOnce(2 * BETS));
  return signed;
}

interface Drill {
  restored: Name[];
  /** Services that must notice by themselves that the node is older than their stores. */
  notices: Name[];
  /** The last lines of `bridge replay` and `solver reconcile`, if the node was restored. */
  repairs: string[];
  /** Bets on the chain after the commands, and after users sent everything again. */
  bets: [number, number];
}

const DRILLS: Drill[] = [
  {
    restored: ["node"],
    notices: ["bridge", "solver"],
    repairs: ["3 sent again, 3 already present, 0 failed", "2 gone, 2 already present, 0 failed"],
    bets: [2, 2],
  },
  { restored: ["bridge"], notices: [], repairs: [], bets: [4, 4] },
  { restored: ["solver"], notices: [], repairs: [], bets: [4, 4] },
  { restored: ["bridge", "solver"], notices: [], repairs: [], bets: [4, 4] },
  {
    restored: ["node", "bridge"],
    notices: ["solver"],
    repairs: ["0 sent again, 3 already present, 0 failed", "2 gone, 2 already present, 0 failed"],
    bets: [2, 2],
  },
  {
    restored: ["node", "solver"],
    notices: ["bridge"],
    repairs: ["3 sent again, 3 already present, 0 failed", "0 gone, 2 already present, 0 failed"],
    bets: [2, 4],
  },
  {
    restored: ["node", "bridge", "solver"],
    notices: [],
    repairs: ["0 sent again, 3 already present, 0 failed", "0 gone, 2 already present, 0 failed"],
    bets: [2, 4],
  },
];

async function restore(deployment: Deployment, { restored, notices, repairs: said }: Drill) {
  await deployment.start("node", "bridge", "solver");
  await deployment.stop(...restored);
  for (const name of restored) {
    const command = restores.find((text) => text.includes(`data/${name}`)) ?? assert.fail(name);
    await deployment.shell(command);
  }
  await deployment.start(...restored);
  for (const name of notices) {
    await deployment.untilHealth(name, "CHAIN_REWOUND");
    assert.ok(await deployment.showsProblem(name, "CHAIN_REWOUND"));
  }
  if (notices.includes("bridge")) {
    const another = signedRequest({ nonce: 99n });
    const { status, body } = await deployment.post("bridge", "/deposit", another);
    assert.deepEqual([status, body.code], [503, "CHAIN_REWOUND"]);
  }
  if (notices.includes("solver")) {
    const { status, body } = await deployment.post(
      "solver",
      "/execute",
      await deployment.signBet(),
    );
    assert.deepEqual([status, body.code], [503, "CHAIN_REWOUND"]);
  }
  for (const [index, line] of said.entries()) {
    const command = repairs[index] ?? assert.fail(line);
    const text = await deployment.shell(command);
    assert.equal(text.trim().split("\n").at(-1), line, text);
    // Nothing is left for a second run.
    if (notices.length === 2) {
      assert.match(await deployment.shell(command), /^0 [a-z ]+, \d already present, 0 failed$/m);
    }
  }
}

/** Users resend all that they signed: each deposit is credited once. */
async function sendAllAgain(deployment: Deployment, { deposits, bets }: Signed): Promise<void> {
  for (const request of deposits) {
    const { status, body } = await deployment.post("bridge", "/deposit", request);
    assert.ok(
      status === 200 || /deposit of [\d.]+ USDC is committed/.test(String(body.error)),
      `${body.error}`,
    );
  }
  for (const bet of bets) {
    const { status, body } = await deployment.post("solver", "/execute", bet);
    const { status: result, error } = Object(body.result);
    const code = body.code ?? Object(error).code;
    const isNamed = ["CHAIN_REWOUND", "QUOTE_ALREADY_USED"].includes(String(code));
    assert.ok(status === 200 && result === "committed" || isNamed, JSON.stringify(body));
  }
}

Deno.test({
  name:
    "Restore: whichever part is restored from an older backup, no signed deposit is lost or credited twice",
  timeout: 240_000,
  fn: (t) =>
    withFolder(async (folder) => {
      const signed = await prepare(folder);
      for (const drill of DRILLS) {
        const name = `old ${drill.restored.join(" and ")}`;
        await t.step(name, () =>
          withFolder(async (copy) => {
            await using deployment = new Deployment(copy);
            await deployment.shell(`cp -r ${folder}/. .`);
            await restore(deployment, drill);
            for (const service of ["bridge", "solver"] as const) {
              await deployment.untilHealth(service, undefined);
              assert.ok(!await deployment.showsProblem(service, "CHAIN_REWOUND"));
            }
            assert.equal((await deployment.chain()).bets, drill.bets[0]);
            await sendAllAgain(deployment, signed);
            assert.deepEqual(await deployment.chain(), everyDepositOnce(drill.bets[1]));
          }));
      }
    }),
});

Deno.test({
  name:
    "Restore: a node restored from before a change of the relayer key gets each deposit of both keys once",
  timeout: 120_000,
  fn: () =>
    withFolder(async (folder) => {
      await using deployment = new Deployment(folder);
      const signed: Signed = { deposits: [], bets: [] };
      const command = (list: readonly string[], text: string) =>
        deployment.shell(list.find((each) => each.includes(text)) ?? assert.fail(text));
      await deployment.start("node", "bridge");
      await depositAll(deployment, signed);
      await deployment.stop("node");
      await deployment.shell("mkdir backup");
      await command(backups, "data/node");
      await deployment.start("node");
      await depositAll(deployment, signed);
      await deployment.stop("node", "bridge");
      await deployment.shell("cp data/bridge.sqlite data/bridge-old.sqlite");
      deployment.relayerKey = `0x${"77".repeat(32)}`;
      await deployment.start("node", "bridge");
      await depositAll(deployment, signed);

      await deployment.stop("node");
      await command(restores, "data/node");
      await deployment.start("node");
      await deployment.untilHealth("bridge", "CHAIN_REWOUND");
      const [replay = ""] = repairs;
      for (
        const [command, last] of [
          [replayEarlier, "3 sent again, 3 already present"],
          [replay, "3 sent again, 6 already present"],
          [replay, "0 sent again, 9 already present"],
        ] as const
      ) {
        assert.match(await deployment.shell(command), new RegExp(`(^|\n)${last}, 0 failed\n$`));
      }
      await deployment.untilHealth("bridge", undefined);
      const credited = { balance: BigInt(signed.deposits.length) * DEPOSIT, bets: 0 };
      assert.deepEqual(await deployment.chain(), credited);
      await sendAllAgain(deployment, signed);
      assert.deepEqual(await deployment.chain(), credited);
    }),
});
