/**
 * A machine on which the commands of runbooks run, against services in separate processes. Systemd
 * and the clock are simulated.
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createKeystore, openLocalSigner } from "../../lib/cli/keystore.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { options as bridgeOptions } from "../../services/bridge/options.ts";
import { startFakeHistory } from "../backfill/fake_history.ts";
import { signedRequest } from "../bridge/support.ts";
import { startFakeOracle } from "../node/support/fake_oracle.ts";
import { type DocumentedCommand, patternOf } from "../ship/documents.ts";
import { type askQuote, signQuote, user } from "../solver/support.ts";
import { type Answer, post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import { POSTGRES_URL, runSql } from "../support/postgres.ts";
import { bundledProgram, type Launch, Program, TEST_KEYSTORE_COST } from "../support/process.ts";

const bundled = await bundledProgram();
const programFolder = (bundled.args.at(-1) ?? "").replace(/\/main\.js$/, "");
const documents = fileURLToPath(new URL("../../docs", import.meta.url));

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

const NAMES = ["node", "bridge", "solver"] as const;
type Name = typeof NAMES[number];

export const UNITS = NAMES.map((name) => `rangemaker-one@${name}`).join(" ");

/** The oracle is the test's own. The proxy keeps nothing, and no runbook asks it anything. */
const NOT_RUN = ["rangemaker-one@oracle", "rangemaker-one@proxy"];

/** Makes the copies, which the test runs in place of its timer. */
const BACKUP_UNIT = "backup-rangemaker";

/** Databases of bridge and solver in PostgreSQL, with a user each, by names of their own. */
export class PostgresDatabases {
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
export const OTHER_RELAYER = `0x${"a1".repeat(20)}`;
export const OTHER_ADMIN = `0x${"a2".repeat(20)}`;

/** A machine with three services, whose folders are in one temporary folder. */
export class Machine {
  readonly #folder: string;
  readonly #disk: Deno.ChildProcess;
  readonly #oracle = Object.assign(startFakeOracle(), { prices: { "ETH/USDT": 1_650_000_000n } });
  readonly history = startFakeHistory([]);
  readonly #ports = {
    8545: freePort(),
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
      this.#ports[({ node: 8545, bridge: 3001, solver: 3000 } as const)[name]]
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
      args: [
        ...["--preserve-credentials", "-U", "-m", "-t", `${this.#disk.pid}`, "--"],
        ...["env", "-C", this.#relocated(folder), ...args],
      ],
      env: {
        ...bundled.env,
        RANGEMAKER_CONFIG: `${this.#folder}/etc/settings.toml`,
        CLOCK_BEHIND_MS: `${this.#behindMs}`,
      },
    };
  }

  async shell(command: string): Promise<string> {
    const program = this.#program.map((word) => `'${word}'`).join(" ");
    const script = `rangemaker() { ${program} "$@"; }\n${this.databases?.administrator ?? ""}${
      this.#relocated(command)
    }`;
    const launch = this.#launch("/etc/rangemaker", ["bash", "-c"]);
    const { code, stdout, stderr } = await new Program([script], {}, launch).finished();
    assert.equal(code, 0, `${command}\nended with ${code}\n${stdout}${stderr}`);
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
        return expected.test(actual);
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
    return await this.shell(/^(curl|rangemaker|for)/.test(command) ? `${command}\ntrue` : command);
  }

  async #systemctl([verb, ...words]: string[]): Promise<string> {
    for (const unit of verb === "mask" ? [] : words) {
      if (["--now", ...NOT_RUN, `${BACKUP_UNIT}.timer`].includes(unit)) continue;
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
      return (isCommitted ? "committed" : state) === expected;
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
    return openLocalSigner(files, bridgeOptions);
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
