/** PostgreSQL servers of a test's own: a primary with a synchronous standby, and pgbouncer. */
import assert from "node:assert/strict";
import { eventually } from "./eventually.ts";
import { runSql } from "./postgres.ts";
import { hasProgram } from "./process.ts";
import { freePort } from "./ports.ts";

const USER = "rangemaker";
const PGBOUNCER = "/usr/sbin/pgbouncer";

/** Folder of Debian's server programs, if they are there and a test may start them. */
const BIN = findBin();

/** Suffix of test names if the server's programs are missing. */
export const NEEDS_POSTGRES_PROGRAMS = BIN === undefined
  ? " (left out: PostgreSQL's programs are not there, or the tests do not run as root)"
  : "";

/** Suffix of test names if pgbouncer is missing as well. */
export const NEEDS_PGBOUNCER = BIN !== undefined && hasProgram(PGBOUNCER)
  ? ""
  : " (left out: pgbouncer or PostgreSQL's programs are not there, or the tests do not run as root)";

function findBin(): string | undefined {
  // PostgreSQL refuses to run as root, so root starts it as its own user.
  if (Deno.uid() !== 0) return undefined;
  const root = "/usr/lib/postgresql";
  try {
    const versions = [...Deno.readDirSync(root)].map(({ name }) => name).sort();
    return versions.map((version) => `${root}/${version}/bin`)
      .findLast((bin) => hasProgram(`${bin}/initdb`));
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return undefined;
    throw thrown;
  }
}

/** A program that runs as the user `postgres`. */
function asPostgres(program: string, args: readonly string[]): Deno.Command {
  return new Deno.Command("setpriv", {
    args: ["--reuid=postgres", "--regid=postgres", "--init-groups", program, ...args],
    cwd: "/",
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  });
}

async function runAsPostgres(program: string, args: readonly string[]): Promise<void> {
  const { success, stderr } = await asPostgres(program, args).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

class ServerProcess {
  readonly port: number;
  readonly #child: Deno.ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(program: string, args: readonly string[], port: number) {
    this.port = port;
    this.#child = asPostgres(program, args).spawn();
    this.#ended = Promise.all([this.#child.status, new Response(this.#child.stderr).text()]);
  }

  /** URL of a database, or the part of it that names several servers. */
  url(database: string, ...others: ServerProcess[]): string {
    const hosts = [this, ...others].map(({ port }) => `127.0.0.1:${port}`);
    return `postgres://${USER}@${hosts.join(",")}/${database}`;
  }

  async sql(...statements: string[]): Promise<void> {
    await runSql(this.url("postgres"), ...statements);
  }

  /** Ends it with a signal. May be called again. */
  async end(signal: Deno.Signal): Promise<void> {
    try {
      this.#child.kill(signal);
    } catch (thrown) {
      // It has ended by itself.
      if (!(thrown instanceof TypeError)) throw thrown;
    }
    await this.#ended;
  }
}

async function startServer(
  bin: string,
  folder: string,
  started: ServerProcess[],
): Promise<ServerProcess> {
  const port = freePort();
  const settings = [
    `port=${port}`,
    "listen_addresses=127.0.0.1",
    `unix_socket_directories=${folder}`,
    // Processes die here, never the machine.
    "fsync=off",
  ];
  const args = ["-D", folder, ...settings.flatMap((setting) => ["-c", setting])];
  const server = new ServerProcess(`${bin}/postgres`, args, port);
  started.push(server);
  await accepts(server);
  return server;
}

async function accepts(server: ServerProcess): Promise<void> {
  await eventually(
    `port ${server.port} accepts connections`,
    () => server.sql("SELECT 1").then(() => true, () => undefined),
  );
}

export interface Pair {
  primary: ServerProcess;
  standby: ServerProcess;
  /** URL with both servers, the standby first. */
  url(database: string): string;
  promote(): Promise<void>;
}

/** Runs a test with a primary that commits nothing before its standby has it. */
export function withPair(databases: readonly string[], test: (pair: Pair) => Promise<void>) {
  return withServer(async (primary, { bin, folder, started }) => {
    await primary.sql(...databases.map((name) => `CREATE DATABASE ${name}`));
    await runAsPostgres(`${bin}/pg_basebackup`, [
      `--pgdata=${folder}/two`,
      `--dbname=${primary.url("postgres")}`,
      "--write-recovery-conf",
      "--no-sync",
      "--checkpoint=fast",
    ]);
    const standby = await startServer(bin, `${folder}/two`, started);
    await primary.sql(
      "ALTER SYSTEM SET synchronous_standby_names = '*'",
      "SELECT pg_reload_conf()",
      // Waits for the standby from here on.
      "CREATE TABLE replicated ()",
    );
    await test({
      primary,
      standby,
      url: (database) => standby.url(database, primary),
      promote: () => standby.sql("SELECT pg_promote()"),
    });
  });
}

/**
 * Runs a test with one server behind pgbouncer in transaction mode.
 *
 * @param test Gets the pooler's URL.
 * @param more Further lines of pgbouncer's settings.
 */
export function withPgbouncer(
  test: (url: string, server: ServerProcess) => Promise<void>,
  more = "",
) {
  return withServer(async (server, { folder, started }) => {
    const port = freePort();
    const settings = `[databases]
postgres = host=127.0.0.1 port=${server.port} user=${USER}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
${more}`;
    await Deno.writeTextFile(`${folder}/pgbouncer.ini`, settings);
    const pooler = new ServerProcess(PGBOUNCER, [`${folder}/pgbouncer.ini`], port);
    started.push(pooler);
    await accepts(pooler);
    await test(pooler.url("postgres"), server);
  });
}

/** Runs a test with a server of its own; all servers that were started end with it. */
async function withServer(
  test: (
    server: ServerProcess,
    place: { bin: string; folder: string; started: ServerProcess[] },
  ) => Promise<void>,
): Promise<void> {
  const bin = BIN ?? assert.fail("PostgreSQL's programs are not there");
  const folder = await Deno.makeTempDir();
  const started: ServerProcess[] = [];
  try {
    await new Deno.Command("chown", { args: ["postgres", folder] }).output();
    await runAsPostgres(`${bin}/initdb`, ["-D", `${folder}/one`, "-U", USER, "-A", "trust", "-N"]);
    await test(await startServer(bin, `${folder}/one`, started), { bin, folder, started });
  } finally {
    await Promise.all(started.map((server) => server.end("SIGQUIT")));
    await Deno.remove(folder, { recursive: true });
  }
}
