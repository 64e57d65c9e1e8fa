/**
 * The runbooks of docs/operating.md and docs/runbooks.md: a shell runs their commands against
 * services in separate processes. The test simulates systemd and the clock of the machine.
 */
import assert from "node:assert/strict";
import { createKeystore, openLocalSigner } from "../../lib/cli/keystore.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { startFakeHistory } from "../backfill/fake_history.ts";
import { relayer, signedRequest } from "../bridge/support.ts";
import { deposit, hashOf } from "../node/support/actors.ts";
import { startFakeOracle } from "../node/support/fake_oracle.ts";
import { type DocumentedCommand, passagesOf, patternOf } from "../ship/documents.ts";
import { askQuote, signQuote, user } from "../solver/support.ts";
import { type Answer, post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import { addMigration, NEEDS_POSTGRES, POSTGRES_URL, runSql } from "../support/postgres.ts";
import {
  bundledProgram,
  hasProgram,
  type Launch,
  Program,
  TEST_KEYSTORE_COST,
} from "../support/process.ts";
import { withFolder } from "../support/files.ts";

const bundled = await bundledProgram();
const programFolder = (bundled.args.at(-1) ?? "").replace(/\/main\.js$/, "");
const documents = new URL("../../docs", import.meta.url).pathname;
await Deno.symlink(documents, `${programFolder}/docs`);

function blocksOf(heading: string, count: number): DocumentedCommand[][] {
  const found = ["docs/operating.md", "docs/runbooks.md"].flatMap(passagesOf)
    .filter(({ chapter }) => new RegExp(`^##+ ${heading}\n`).test(chapter))
    .map(({ commands }) => commands);
  assert.equal(found.length, count, heading);
  return found;
}

/** Loaded before the program: its clock is an hour behind from SIGUSR1 to SIGUSR2. */
const CLOCK = `
const { now } = Date;
let byMs = Number(Deno.env.get("CLOCK_BEHIND_MS") ?? 0);
Date.now = () => now() - byMs;
for (const [signal, newMs] of [["SIGUSR1", 3_600_000], ["SIGUSR2", 0]]) {
  Deno.addSignalListener(signal, () => {
    byMs = newMs;
    console.error("Received " + signal);
  });
}
`;

/** A new version that migrates its database and then does not start. */
const BROKEN_VERSION = `
import { DatabaseSync } from "node:sqlite";
const [name] = Deno.args;
if (name !== "node") new DatabaseSync(\`data/\${name}.sqlite\`).exec("PRAGMA user_version = 99");
console.error("The upgrade failed");
Deno.exit(1);
`;

const NAMES = ["node", "proxy", "bridge", "solver"] as const;
type Name = typeof NAMES[number];
const UNITS = NAMES.map((name) => `rangemaker-one@${name}`).join(" ");

/** The oracle of a machine is the test's own. */
const ORACLE_UNIT = "rangemaker-one@oracle";

/** Makes the copies, which the test runs in place of its timer. */
const BACKUP_UNIT = "backup-rangemaker";

/** Databases of bridge and solver in PostgreSQL, with a user each, by names of their own. */
class PostgresDatabases {
  readonly #prefix = `test_${crypto.randomUUID().slice(0, 8)}_`;
  readonly #server = new URL(POSTGRES_URL ?? "postgres://");

  async create(): Promise<void> {
    for (const name of DATABASES) {
      await this.#admin(`CREATE ROLE ${this.#prefix}${name} LOGIN`);
      await this.#admin(`CREATE DATABASE ${this.#prefix}${name} OWNER ${this.#prefix}${name}`);
    }
  }

  /** As on another machine. */
  async empty(): Promise<void> {
    for (const name of DATABASES) await runSql(this.url(name), "DROP OWNED BY CURRENT_USER");
  }

  async drop(): Promise<void> {
    const own = "SELECT datname FROM pg_database WHERE datname LIKE '" + this.#prefix + "%'";
    for (const { datname } of await this.#admin(own)) {
      await this.#admin(`DROP DATABASE "${datname}" WITH (FORCE)`);
    }
    for (const name of DATABASES) await this.#admin(`DROP ROLE ${this.#prefix}${name}`);
  }

  url(name: string): string {
    const url = new URL(this.#server);
    url.username = url.pathname = `${this.#prefix}${name}`;
    return url.href;
  }

  /** Has the administrator of the databases run commands here. */
  get administrator(): string {
    const { hostname, port, username } = this.#server;
    return `runuser() { shift 3; PGHOST=${hostname} PGPORT=${port} PGUSER=${username} PGDATABASE=postgres "$@"; }
`;
  }

  #admin(statement: string) {
    return runSql(this.#server.href, statement);
  }
}

const DATABASES = ["bridge", "solver"];

/** How commands end that are for one kind of database only. */
const SQLITE = "# SQLite";
const POSTGRES = "# PostgreSQL";

/** Room for the stores, a copy of them, and the node's log of up to 16 MB. */
const DISK = "size=96m";

/** Accounts of other bridges and people, which stay. */
const OTHER_RELAYER = `0x${"a1".repeat(20)}`;
const OTHER_ADMIN = `0x${"a2".repeat(20)}`;

const isZero = (code: number): boolean => code === 0;

/** A machine with four services, whose folders are in one temporary folder. */
class Machine {
  readonly #folder: string;
  /** Runs the rest with `/var` on a small disk. */
  readonly #onDisk: string[];
  readonly #disk: Deno.ChildProcess;
  readonly #oracle = Object.assign(startFakeOracle(), { prices: { "ETH/USDT": 1_650_000_000n } });
  readonly history = startFakeHistory([]);
  readonly #ports = {
    8545: freePort(),
    8546: freePort(),
    8547: freePort(),
    3001: freePort(),
    3000: freePort(),
  };
  readonly #programs = new Map<Name, Program>();
  /** Undefined for SQLite files. */
  readonly databases: PostgresDatabases | undefined;
  #behindMs = 0;
  #nonce = 0n;

  private constructor(folder: string, disk: Deno.ChildProcess, databases?: PostgresDatabases) {
    this.#folder = folder;
    this.databases = databases;
    this.#disk = disk;
    this.#onDisk = ["--preserve-credentials", "-U", "-m", "-t", `${disk.pid}`, "--"];
  }

  static async open(folder: string, databases?: PostgresDatabases): Promise<Machine> {
    for (const name of ["etc/systemd/system", "opt/rangemaker-2", "var", "usr/local/bin"]) {
      await Deno.mkdir(`${folder}/${name}`, { recursive: true });
    }
    // It is gone with the last process that sees it.
    const mount = `mount -t tmpfs -o ${DISK} tmpfs '${folder}/var' && echo mounted && exec cat`;
    const disk = new Deno.Command("unshare", {
      args: ["--map-root-user", "--mount", "bash", "-c", mount],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const machine = new Machine(folder, disk, databases);
    const reader = disk.stdout.getReader();
    const { value } = await reader.read();
    reader.releaseLock();
    assert.match(new TextDecoder().decode(value), /mounted/);
    await machine.#install();
    return machine;
  }

  async #install(): Promise<void> {
    const etc = `${this.#folder}/etc`;
    const { relayer, solver, admin } = DEV_ACCOUNTS;
    for (const [name, { privateKey }] of Object.entries({ bridge: relayer, solver, admin })) {
      await Deno.writeTextFile(`${etc}/${name}.password`, "correct horse\n");
      await createKeystore(`${etc}/${name}.json`, privateKey, "correct horse", TEST_KEYSTORE_COST);
    }
    const databaseOf = (name: string) =>
      this.databases?.url(name) ??
        this.#relocated(`/var/lib/rangemaker/${name}/data/${name}.sqlite`);
    for (const name of ["bridge", "solver"]) {
      await Deno.writeTextFile(`${etc}/${name}.database`, `${databaseOf(name)}\n`);
    }
    const key = (name: string) =>
      `keystore = "${etc}/${name}.json"\nkeystore_password_file = "${etc}/${name}.password"`;
    const signer = (name: string) => `database = "${databaseOf(name)}"\n${key(name)}`;
    const rpcUrl = `rpc_url = "${this.urlOf("node")}"`;
    await Deno.writeTextFile(
      `${etc}/settings.toml`,
      `[node]
port = ${this.#ports[8545]}
read_port = ${this.#ports[8547]}
oracle_url = "${this.#oracle.url}"
oracle_timeout_ms = 90
relayers = ["${OTHER_RELAYER}", "${relayer.address}"]
admins = ["${OTHER_ADMIN}", "${admin.address}"]
balances = { "${solver.address}" = 1_000_000_000 }
[proxy]
port = ${this.#ports[8546]}
write_${rpcUrl.replace("rpc", "node")}
read_${rpcUrl.replace("rpc", "node")}
[bridge]
port = ${this.#ports[3001]}
${rpcUrl}
${signer("bridge")}
[solver]
port = ${this.#ports[3000]}
${rpcUrl}
ws_url = "${this.urlOf("node").replace("http", "ws")}"
hedge_delay_ms = 0
${signer("solver")}
[backfill]
${rpcUrl}
history_url = "${this.history.url}"
${key("admin")}
`,
    );
    await Deno.writeTextFile(`${this.#folder}/clock.js`, CLOCK);
    await Deno.symlink(programFolder, `${this.#folder}/opt/rangemaker-1`);
    await Deno.symlink("rangemaker-1", `${this.#folder}/opt/rangemaker`);
    await this.shell("mkdir /var/backups");
  }

  urlOf(name: Name): string {
    return `http://127.0.0.1:${
      this.#ports[({ node: 8545, proxy: 8546, bridge: 3001, solver: 3000 } as const)[name]]
    }`;
  }

  /** A text of the document with the folders and ports that are meant. */
  #relocated(text: string): string {
    return text
      .replaceAll(
        /\/(?:etc\/rangemaker|etc\/systemd\/|usr\/local\/|opt\/|var\/)/g,
        (path) => `${this.#folder}${path.replace("/rangemaker", "")}`,
      )
      .replaceAll(
        /(?<=localhost:)\d+/g,
        (port) => `${Object.entries(this.#ports).find(([from]) => from === port)?.[1]}`,
      );
  }

  /** The program of this machine, from Deno on. */
  get #program(): string[] {
    const [run = "", ...flags] = bundled.args.slice(0, -1);
    const preload = `--preload=${this.#folder}/clock.js`;
    return [Deno.execPath(), run, ...flags, preload, `${this.#folder}/opt/rangemaker/main.js`];
  }

  /** What is started in a folder that may be on the disk of this machine. */
  #launch(folder: string, args: readonly string[]): Launch {
    return {
      command: "nsenter",
      args: [...this.#onDisk, "env", "-C", this.#relocated(folder), ...args],
      env: {
        ...bundled.env,
        PATH: Deno.env.get("PATH") ?? "",
        RANGEMAKER_CONFIG: `${this.#folder}/etc/settings.toml`,
        CLOCK_BEHIND_MS: `${this.#behindMs}`,
      },
    };
  }

  /** Runs a command to its end. @returns What it printed. */
  async shell(command: string, isExpected: (code: number) => boolean = isZero): Promise<string> {
    const program = this.#program.map((word) => `'${word}'`).join(" ");
    const script = `rangemaker() { ${program} "$@"; }\n${this.databases?.administrator ?? ""}${
      this.#relocated(command)
    }`;
    const launch = this.#launch("/etc/rangemaker", ["bash", "-c"]);
    const { code, stdout, stderr } = await new Program([script], {}, launch).finished();
    assert.ok(isExpected(code), `${command}\nended with ${code}\n${stdout}${stderr}`);
    return stdout.trim();
  }

  /**
   * Runs commands of the document in order, each until its output is that of the document, or one
   * command of an operator.
   *
   * @returns What the last one printed.
   */
  async play(commands: readonly DocumentedCommand[] | string = []): Promise<string> {
    if (typeof commands === "string") return await this.play([{ text: commands }]);
    const foreign = this.databases === undefined ? POSTGRES : SQLITE;
    let actual = "";
    for (const { text, answer } of commands) {
      if (text.endsWith(foreign)) continue;
      const expected = answer === undefined ? /^/ : patternOf(answer, (each) => each);
      await eventually(text, async () => {
        actual = await this.#run(text);
        return expected.test(actual) || undefined;
      }).catch((thrown) => assert.fail(`${thrown}\n${text}\nanswers\n${actual}`));
    }
    return actual;
  }

  async #run(text: string): Promise<string> {
    const command = text.replace(/ # \w+$/, "");
    const [program, ...words] = command.split(" ");
    if (program === "systemctl" && command.includes(" && ")) {
      let printed = "";
      for (const each of command.split(" && ")) printed += await this.#run(each);
      return printed;
    }
    if (program === "systemctl") return await this.#systemctl(words);
    if (program === "sh") return await this.#script(words.join(" "));
    if (program === "journalctl") return this.#journalctl(command);
    if (program === "chronyc") return await this.setClock("SIGUSR2");
    // A command that asks may fail until the answer is there.
    return await this.shell(
      command,
      (code) => isZero(code) || /^(curl|rangemaker|for)/.test(command),
    );
  }

  async #systemctl([verb, ...words]: string[]): Promise<string> {
    for (const unit of verb === "mask" ? [] : words) {
      if (["--now", ORACLE_UNIT, `${BACKUP_UNIT}.timer`].includes(unit)) continue;
      if (unit === BACKUP_UNIT) {
        await this.#script("/opt/rangemaker/docs/deployment/backup $SERVICES");
        continue;
      }
      const name = NAMES.find((each) => unit === `rangemaker-one@${each}`) ?? assert.fail(unit);
      if (["stop", "restart", "disable"].includes(verb ?? "")) await this.#stop(name);
      if (["start", "restart", "enable"].includes(verb ?? "") && !this.#programs.has(name)) {
        await this.#start(name);
      }
    }
    return "";
  }

  /** Runs a script of this folder on this machine. */
  async #script(words: string): Promise<string> {
    const [path = "", ...args] = words.replace("/opt/rangemaker/docs", documents).split(" ");
    const environment = "SERVICES=; if [ -e backup.env ]; then . ./backup.env; fi"; // of the unit
    const script = await Deno.readTextFile(path);
    return await this.shell(`${environment}\nset -- ${args.join(" ")}\n${script}`);
  }

  async #start(name: Name): Promise<void> {
    const folder = `/var/lib/rangemaker/${name}`;
    await this.shell(`mkdir -p ${folder}`); // StateDirectory of the unit
    const launch = this.#launch(folder, this.#program);
    const program = new Program([name], {}, launch);
    this.#programs.set(name, program);
    await program.until(({ stderr }) => stderr.includes("Listening on")).catch(() => {});
  }

  async #stop(name: Name): Promise<void> {
    const program = this.#programs.get(name);
    this.#programs.delete(name);
    try {
      program?.kill("SIGTERM");
    } catch (thrown) {
      if (!(thrown instanceof TypeError)) throw thrown; // it has ended
    }
    await program?.finished();
  }

  /** The newest line of a unit, or of those that contain a text. */
  #journalctl(command: string): string {
    const [, unit, text = ""] = /-u rangemaker-one@(\w+) -n 1(?: -g '(.*)')?$/.exec(command) ??
      assert.fail(command);
    const { stderr = "" } = this.#programs.get(unit as Name) ?? {}; // as written in the document
    return stderr.trim().split("\n").findLast((line) => line.includes(text)) ?? "";
  }

  /**
   * Sets clocks an hour back with SIGUSR1, right with SIGUSR2. The shell is on the bridge's
   * machine.
   */
  async setClock(
    signal: "SIGUSR1" | "SIGUSR2",
    names: readonly Name[] = NAMES,
  ): Promise<string> {
    for (const name of names) {
      const program = this.#programs.get(name) ?? assert.fail(`${name} is stopped`);
      const countOf = ({ stderr }: Program) => stderr.split(`Received ${signal}`).length;
      const before = countOf(program);
      program.kill(signal);
      await program.until((each) => countOf(each) > before);
    }
    if (names.includes("bridge")) this.#behindMs = signal === "SIGUSR1" ? 3_600_000 : 0;
    return "200 OK";
  }

  /** Replaces the new version. */
  async release(code: string | undefined): Promise<void> {
    const path = `${this.#folder}/opt/rangemaker-2`;
    await Deno.remove(path, { recursive: true });
    if (code === undefined) return await Deno.symlink("rangemaker-1", path);
    await Deno.mkdir(path);
    await Deno.writeTextFile(`${path}/main.js`, code);
    await Deno.symlink(documents, `${path}/docs`);
  }

  /** Whether the wrapper and the units of the program that is linked are installed. */
  async isInstalled(): Promise<boolean> {
    const files = ["usr/local/bin/rangemaker", "etc/systemd/system/rangemaker-one@.service"];
    const found = await Promise.allSettled(
      files.map((file) => Deno.stat(`${this.#folder}/${file}`)),
    );
    return found.every(({ status }) => status === "fulfilled");
  }

  /** Sends a new deposit of 500 USDC, valid for two hours, until the answer is the expected one. */
  async deposit(expected = "committed"): Promise<void> {
    this.#nonce += 1n;
    const request = this.#signedDeposit(7_200_000);
    let last: unknown;
    await eventually(`a deposit that is ${expected}`, async () => {
      const { status, body } = await post(`${this.urlOf("bridge")}/deposit`, request);
      const isCommitted = status === 200 ||
        /deposit of [\d.]+ USDC is committed/.test(String(body.error));
      last = body;
      const { state = body.code } = Object(body.details);
      return (isCommitted ? "committed" : state) === expected || undefined;
    }).catch((thrown) => assert.fail(`${thrown}: ${JSON.stringify(last)}`));
  }

  /** Sends the last deposit again with a new deadline, as a client does: its nonce is used. */
  async depositAgain(): Promise<void> {
    const { body } = await post(`${this.urlOf("bridge")}/deposit`, this.#signedDeposit(7_300_000));
    assert.equal(body.code, "NONCE_USED");
  }

  #signedDeposit(lifeMs: number) {
    const given = { user: user.address, amount: 500_000_000n, nonce: this.#nonce };
    return signedRequest({ ...given, deadline: Date.now() + lifeMs }, { signer: user });
  }

  get client(): CoreClient {
    return new CoreClient({ url: this.urlOf("node") });
  }

  /** What the user has on the chain. */
  async money(): Promise<{ balance: bigint; locked: bigint }> {
    const { balance, locked } = await this.client.getAccount(user.address);
    return { balance, locked };
  }

  /** The deposits of the user that the bridge knows. */
  async deposits(): Promise<unknown> {
    return await (await fetch(`${this.urlOf("bridge")}/deposits/${user.address}`)).json();
  }

  async execute(quote: Awaited<ReturnType<typeof askQuote>>): Promise<Answer> {
    return await post(`${this.urlOf("solver")}/execute`, {
      quote,
      userSignature: signQuote(quote),
    });
  }

  async settings(name: string): Promise<string[]> {
    const line = await this.shell(`grep '^${name} = ' settings.toml`);
    return Array.from(line.matchAll(/"(\w+)"/g), ([, account = ""]) => account);
  }

  key(name: string) {
    const path = `${this.#folder}/etc/${name}`;
    const files = { keystore: `${path}.json`, keystorePasswordFile: `${path}.password` };
    return openLocalSigner(files, name);
  }

  /** The accounts of keystores that were replaced, oldest first. */
  async oldAccounts(name: string): Promise<string[]> {
    const show = `rangemaker key show --keystore $old --keystore-password-file ${name}.password`;
    const shown = await this.shell(`for old in ${name}-old*.json; do ${show}; done`);
    return shown.split("\n");
  }

  async close(): Promise<void> {
    for (const name of NAMES.toReversed()) await this.#stop(name);
    await this.#disk.stdin.close();
    await this.#disk.stdout.cancel();
    await this.#disk.status;
    await this.#oracle.stop();
    await this.history.stop();
  }
}

/** A quote that does not expire while this runs. */
function longQuote(machine: Machine) {
  const now = Date.now();
  const window = { endTime: now + 7_200_000, deadline: now + 7_000_000 };
  return askQuote(machine.urlOf("solver"), window);
}

/** What became of a bet: its status on the chain, or the code of the error. */
function outcomeOf({ body }: Answer): unknown {
  const { status, error } = Object(body.result);
  return body.code ?? Object(error).code ?? status;
}

/** The bridge credits deposits, and the solver's bets are committed. */
async function takesDepositsAndBets(machine: Machine): Promise<void> {
  await machine.deposit();
  await eventually("a committed bet", async () => {
    // A node that has just started has no prices yet.
    const outcome = outcomeOf(await machine.execute(await longQuote(machine)));
    return outcome === "committed" || undefined;
  });
}

async function loseMachine(machine: Machine): Promise<void> {
  const [copy] = blocksOf("Backups", 1);
  const [start] = blocksOf("Lost machine", 1);
  const restores = blocksOf("Restore", 3);
  await machine.play(copy);
  await takesDepositsAndBets(machine);
  await machine.play(copy); // as on the next night
  const copies = await machine.shell("readlink /var/backups/rangemaker/latest");
  await machine.shell("mv solver.database elsewhere");
  await assert.rejects(machine.play(copy)); // the copies before stay
  assert.equal(await machine.shell("readlink /var/backups/rangemaker/latest"), copies);
  const latest = "/var/backups/rangemaker/latest/";
  await machine.shell("mv elsewhere solver.database");
  const modes = await machine.shell(`stat -c %a /var/backups/rangemaker ${latest} ${latest}*`);
  assert.equal(modes, "700\n700\n600\n600\n600");
  const money = await machine.money();
  await machine.deposit(); // after the copy of the bridge: nobody has it then
  const [undo] = blocksOf("Undo a restore", 1);
  for (const alone of restores.slice(1)) {
    const before = await machine.deposits();
    await machine.play(alone);
    if (alone === restores[1]) {
      assert.notDeepEqual(await machine.deposits(), before);
      await machine.play(undo);
      assert.deepEqual(await machine.deposits(), before);
    }
    await takesDepositsAndBets(machine);
  }
  await refuseWhileRunning(machine);
  await restoreWithoutCopy(machine, restores);
  await machine.play(`systemctl stop ${UNITS}`);
  await machine.shell("rm -rf /var/lib/rangemaker /var/backups/rangemaker/replaced-*");
  await machine.databases?.empty();
  for (const each of restores) await machine.play(each);
  // The users of the units have to reach their folders.
  assert.match(await machine.shell("stat -c %a /var/lib/rangemaker"), /5$/);
  await machine.play(start);
  assert.deepEqual(await machine.money(), money);
  await takesDepositsAndBets(machine);
}

/** Nothing is replaced under a service that runs. */
async function refuseWhileRunning(machine: Machine): Promise<void> {
  const before = await machine.deposits();
  for (const name of ["node", "bridge", "solver"]) {
    const command = `sh /opt/rangemaker/docs/deployment/restore ${name}`;
    const refusal = new RegExp(`The data of the ${name} are in use by .*: stop rangemaker-one`);
    await assert.rejects(machine.play(command), refusal);
  }
  assert.deepEqual(await machine.deposits(), before);
}

/** Nothing is changed or started unless the copies are there and complete. */
async function restoreWithoutCopy(
  machine: Machine,
  restores: readonly DocumentedCommand[][],
): Promise<void> {
  const copies = "/var/backups/rangemaker";
  const damages = [
    ["mv latest away", "mv away latest"],
    [
      "mkdir whole && cp latest/* whole/ && truncate -s -5000 latest/*",
      "cp whole/* latest/ && rm -r whole",
    ],
  ];
  const money = await machine.money();
  for (const [damage, repair] of damages) {
    await machine.shell(`cd ${copies} && ${damage}`);
    for (const each of restores) await assert.rejects(machine.play(each), /ended with/);
    await machine.shell(`cd ${copies} && ${repair}`);
  }
  await machine.play(`systemctl start ${UNITS}`);
  assert.deepEqual(await machine.money(), money);
  await takesDepositsAndBets(machine);
}

/** The bridge goes to a machine that has its settings and key, and no data. */
async function moveBridge(machine: Machine): Promise<void> {
  const [, old, [mkdir, ...rest] = []] = blocksOf("Another machine", 3);
  const before = await machine.deposits();
  await machine.play(old);
  await machine.shell("mv /var/lib/rangemaker/bridge /var/lib/old-bridge");
  const copy = mkdir?.text.replace("scp -rp old:", "cp -r ") ?? assert.fail("No copy");
  await machine.play([{ text: copy }, ...rest]);
  assert.deepEqual(await machine.deposits(), before);
  await machine.deposit();
  await machine.play("systemctl start backup-rangemaker");
  const copies = await machine.shell("ls /var/backups/rangemaker/latest/");
  assert.equal(copies, "bridge.sqlite");
  await machine.shell(
    "rm backup.env && echo /var/lib/old-bridge/data/bridge.sqlite > bridge.database-old",
  );
  const replayed = await machine.play("sh /opt/rangemaker/docs/deployment/replay");
  assert.match(
    replayed,
    /Database of bridge\.database-old\n0 sent again, [1-9]\d* already present/,
  );
  assert.match(replayed, /\nThe node has the deposits of all databases above \(2\)$/);
}

async function rotateRelayer(machine: Machine): Promise<void> {
  const [prepare, change, remove] = blocksOf("New key of the relayer", 3);
  await machine.play(prepare);
  await machine.deposit(); // with the old key
  await machine.play(change);
  await machine.depositAgain();
  await machine.deposit(); // with the new key
  await machine.play(remove);
  await machine.deposit(); // without the old key
  const { address } = await machine.key("bridge");
  assert.deepEqual(await machine.settings("relayers"), [address, OTHER_RELAYER]);
  const tx = { timestamp: Date.now(), user: user.address, amount: 1n, externalTxHash: hashOf(1) };
  const { error } = await machine.client.sendTransaction(deposit({ ...tx, by: relayer }));
  assert.equal(error?.code, "PERMISSION_DENIED");
}

async function rotateSolver(machine: Machine): Promise<void> {
  const [commands] = blocksOf("New key of the solver", 1);
  const old = await longQuote(machine);
  await machine.play(commands);
  assert.equal((await machine.execute(old)).status, 401);
  const { address } = await machine.key("solver");
  assert.equal((await longQuote(machine)).solver, address);
  await takesDepositsAndBets(machine);
}

async function upgrade(machine: Machine): Promise<void> {
  const [forward = [], back, start, replay] = blocksOf("Upgrade", 4);
  const goBack = async (attempts = 1) => {
    const [node, bridge, solver] = blocksOf("Restore", 3);
    const bridges = Array.from({ length: attempts }, () => bridge);
    for (const block of [back, node, ...bridges, solver, start]) await machine.play(block);
  };
  const stored = async () => ({
    ...await machine.money(),
    deposits: await machine.deposits(),
  });
  await takesDepositsAndBets(machine);
  const before = await stored();
  const firstQuestion = forward.findIndex(({ text }) => text.startsWith("curl"));
  await machine.release(BROKEN_VERSION);
  // Twice with PostgreSQL: a table that the new version has added must not be left.
  for (let left = machine.databases === undefined ? 1 : 2; left > 0; left -= 1) {
    await machine.play(forward.slice(0, firstQuestion));
    await machine.play("systemctl start rangemaker-one@bridge");
    for (const name of ["bridge", "solver"]) {
      if (machine.databases !== undefined) await addMigration(machine.databases.url(name));
    }
    // The old version alone is not enough.
    await machine.shell("ln -sfn rangemaker-1 /opt/rangemaker");
    await machine.play([
      { text: "systemctl restart rangemaker-one@bridge" },
      {
        text: "journalctl -u rangemaker-one@bridge -n 1",
        answer: "…Database has version …, made by a newer program…",
      },
    ]);
    await goBack(2); // as an operator whose first attempt has failed later on
    assert.deepEqual(await stored(), before);
  }
  // This version cannot read what the new one has left, and says so.
  await assert.rejects(machine.play(replay), /made by a newer program[^]*Failed:.*replaced-/);
  await machine.shell(
    "rm -r $(ls -d /var/lib/rangemaker/bridge/data/replaced-* " +
      "/var/backups/rangemaker/replaced-*-bridge.dump)",
    () => true,
  );
  await takesDepositsAndBets(machine);
  await machine.release(undefined);
  for (const again of [false, true]) {
    const later = await stored();
    await machine.play(forward);
    assert(await machine.isInstalled());
    if (again) await machine.deposit();
    else await takesDepositsAndBets(machine);
    await goBack(); // to the copies of this upgrade
    assert.deepEqual(await stored(), later);
    const printed = await machine.play(replay); // the deposit that the new version has accepted
    // And the bet: its hedge is open.
    assert.match(printed, /replaced-.*: hedges of bets [^]*\nGone: thesis .*: undo its hedge\n/);
    assert.equal((await machine.money()).balance, later.balance + 500_000_000n);
  }
  await takesDepositsAndBets(machine);
}

async function fillDisk(machine: Machine): Promise<void> {
  const [full, free] = blocksOf("Full disk", 2);
  // So that its log has no room of its own left.
  await machine.play("systemctl restart rangemaker-one@node");
  const fill = "mkdir -p /var/backups/rangemaker/new && " +
    "dd if=/dev/zero of=/var/backups/rangemaker/new/solver.dump bs=4k";
  await machine.shell(fill, (code) => code === 1);
  await machine.play(full);
  await machine.deposit("STORE_UNAVAILABLE");
  await machine.play(free);
  await takesDepositsAndBets(machine);
}

async function setClockBack(machine: Machine): Promise<void> {
  const [ofNode, ofBridge, right] = blocksOf("Wrong clock", 3);
  const quote = await longQuote(machine);
  await machine.setClock("SIGUSR1");
  await machine.play(ofNode);
  assert.equal(outcomeOf(await machine.execute(quote)), "ORACLE_STALE");
  await machine.setClock("SIGUSR2", ["node", "solver"]);
  const { balance } = await machine.money();
  await machine.deposit("submitted");
  await machine.play(ofBridge);
  await machine.play(right);
  assert.equal((await machine.money()).balance, balance + 500_000_000n);
  await takesDepositsAndBets(machine);
}

/** Whether a file system can be mounted in a namespace of its own. */
const { success: hasDisk } = await new Deno.Command("unshare", {
  args: ["--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/tmp"],
  stdout: "null",
  stderr: "null",
}).output().catch(() => ({ success: false }));

const LEFT_OUT = hasDisk ? "" : " (left out: no file system can be mounted here)";

/** Runs a test with a machine of its own, whose services run. */
function testMachine(
  name: string,
  test: (machine: Machine, t: Deno.TestContext) => Promise<unknown>,
  databases?: PostgresDatabases,
): void {
  Deno.test(
    `Runbooks: ${name}${LEFT_OUT}${databases === undefined ? "" : NEEDS_POSTGRES}`,
    { ignore: !hasDisk || databases && POSTGRES_URL === undefined, timeout: 300_000 },
    (t) =>
      withFolder(async (folder) => {
        await databases?.create();
        const machine = await Machine.open(folder, databases);
        try {
          await machine.play(`systemctl start ${UNITS}`);
          await test(machine, t);
        } finally {
          await machine.close();
          await databases?.drop();
        }
      }),
  );
}

testMachine(
  "undoing a failed upgrade, a full disk, a wrong clock",
  async (machine, t) => {
    if (hasProgram("sqlite3")) {
      await t.step("a failed upgrade, then a successful one", () => upgrade(machine));
    }
    await t.step("full disk", () => fillDisk(machine));
    await t.step("clock set back", () => setClockBack(machine));
  },
);

/** Changes a key twice: nothing opens an account whose keystore was overwritten. */
async function rotateTwice(machine: Machine, name: "bridge" | "solver" | "admin"): Promise<void> {
  const rotate = { bridge: rotateRelayer, solver: rotateSolver, admin: rotateAdmin }[name];
  const replaced: string[] = [];
  for (let count = 0; count < 2; count += 1) {
    replaced.push((await machine.key(name)).address);
    await rotate(machine);
  }
  assert.deepEqual(await machine.oldAccounts(name), replaced);
}

async function rotateAdmin(machine: Machine): Promise<void> {
  const [commands] = blocksOf("New key of the admin", 1);
  await machine.play(commands);
  const { address } = await machine.key("admin");
  assert.deepEqual(await machine.settings("admins"), [OTHER_ADMIN, address]);
}

testMachine(
  "with PostgreSQL: undoing a failed upgrade, restoring a lost machine, a new key",
  async (machine, t) => {
    await t.step("a failed upgrade, then a successful one", () => upgrade(machine));
    await t.step("a lost machine", () => loseMachine(machine));
    // The only key that has a database of its own.
    await t.step("solver", () => rotateTwice(machine, "solver"));
  },
  new PostgresDatabases(),
);

/** The gap of a restart is filled, by the command of the document. */
async function backfillGap(machine: Machine): Promise<void> {
  const [commands] = blocksOf("After a restart of the node", 1);
  const now = Date.now();
  machine.history.trades = Array.from({ length: 1_000 }, (_, index) => ({
    time: now - (1_000 - index) * 1_000,
    price: 1_650_000_000n,
  }));
  await machine.play(commands);
}

testMachine("new keys are accepted, old ones refused", async (machine, t) => {
  if (hasProgram("sqlite3")) {
    await t.step("a lost machine", () => loseMachine(machine));
    await t.step("a bridge moves to another machine", () => moveBridge(machine));
  }
  for (const name of ["bridge", "solver", "admin"] as const) {
    await t.step(name, () => rotateTwice(machine, name));
  }
  await t.step("backfill of the gap", () => backfillGap(machine));
});
