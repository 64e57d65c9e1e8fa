import { Socket } from "node:net";
// @ts-types="@types/pg"
import pg from "pg";
import { withinMs } from "../clock.ts";
import { POOL_EXHAUSTED, REFUSED_PARAMETER } from "../library_messages.ts";
import { asStoreError, codeOf, describeCause, StoreError } from "./intent.ts";

const POOL_CONNECTIONS_MAX = 10;

/** How long a server may take. */
export interface PostgresTimeouts {
  /** To connect, to tell its role, and until a connection is free. */
  connectMs: number;
  /**
   * To answer. Longer than {@link STATEMENT_TIMEOUT_MS}, which does not end a commit that waits for
   * a standby, and which a dead machine never reports.
   */
  answerMs: number;
}

const TIMEOUTS: PostgresTimeouts = { connectMs: 2_000, answerMs: 4_000 };

/** How long the server may work on one statement. */
const STATEMENT_TIMEOUT_MS = 3_000;

/** How long running statements may take when the connections are closed. */
const POOL_CLOSE_MS = 1_000;

/** After a failure, calls fail at once for this long, without retrying servers that are down. */
const RETRY_PAUSE_MS = 250;

/**
 * Warnings of a server that stopped waiting for its standby (cancelled, or shut down meanwhile):
 * the statement succeeds, but the standby may not have it.
 */
const NOT_REPLICATED = new Set(["01000", "57P01"]);

/** Parameters of a URL that are not parameters of the session. */
const CLIENT_PARAMETERS =
  /^(ssl|uselibpqcompat|prepare|options|application_name|connect_timeout|statement_timeout|lock_timeout)/;

/** A connection that one caller has to itself. */
export interface Lease {
  client: pg.PoolClient;
  /** Statements may have a name: a pooler hands each transaction to another session. */
  supportsPreparedStatements: boolean;
  /** Whether the standby may lack a change that the server acknowledged. */
  isUnreplicated(): boolean;
  /** Returns the connection to the pool, or closes it. */
  release(isBroken: boolean): void;
  /** Reports that the server is gone or no longer the primary: the next caller connects again. */
  abandonServer(): void;
}

/** The server that accepts writes, with its connections. */
interface Primary {
  pool: pg.Pool;
  unreplicated: WeakSet<object>;
  /** Closes all connections, and cuts those still in use after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

/**
 * The servers of one database, of which one accepts writes. The library (`pg` 8.23) pools
 * connections, bounds the time of each answer and sends the statements of a transaction together;
 * it supports only one server, and does not set `synchronous_commit`.
 */
export class PostgresServers {
  /** The server that last accepted a connection comes first. */
  #servers: readonly URL[];
  readonly #timeouts: PostgresTimeouts;
  #isBehindPooler = false;
  /** False with `?prepare=false`, for a pooler that silently ignores session parameters. */
  readonly #mayPrepare: boolean;
  #primary: Promise<Primary> | undefined;
  /** Servers that were abandoned and still have connections, each with the end of its closing. */
  readonly #abandoned = new Map<Primary, Promise<void>>();
  #failedAtMs: number | undefined;
  #isClosed = false;

  /** @param servers One URL each. */
  constructor(servers: readonly URL[], timeouts = TIMEOUTS) {
    this.#servers = servers;
    this.#timeouts = timeouts;
    this.#mayPrepare = servers.every((url) => url.searchParams.get("prepare") !== "false");
  }

  /**
   * A connection to the server that accepts writes.
   *
   * @throws {StoreError} If there is none now. Nothing was sent.
   */
  async lease(): Promise<Lease> {
    // The first attempt may find that the server which worked last is gone.
    for (let isLast = false;; isLast = true) {
      const opening = this.#open();
      const { pool, unreplicated } = await opening;
      try {
        const client = await pool.connect();
        return {
          client,
          supportsPreparedStatements: !this.#isBehindPooler && this.#mayPrepare,
          isUnreplicated: () => unreplicated.has(client),
          release: (isBroken) => client.release(isBroken || unreplicated.has(client)),
          abandonServer: () => this.#abandon(opening),
        };
      } catch (thrown) {
        if (POOL_EXHAUSTED.test(describeCause(thrown))) {
          throw new StoreError("Database is busy: no connection is free", thrown);
        }
        this.#abandon(opening);
        if (isLast || this.#isClosed) throw asStoreError(thrown);
      }
    }
  }

  /** Closes all connections after giving running statements a second. May be called again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const primary = await this.#primary?.catch(() => undefined);
    const ended = [...this.#abandoned].map(async ([abandoned, closing]) => {
      await withinMs(closing, POOL_CLOSE_MS, undefined);
      await abandoned.close(0);
      await closing;
    });
    await Promise.all([primary?.close(POOL_CLOSE_MS), ...ended]);
  }

  #open(): Promise<Primary> {
    if (this.#isClosed) return Promise.reject(new StoreError("Database is closed"));
    const failedAtMs = this.#failedAtMs;
    if (failedAtMs !== undefined && performance.now() - failedAtMs >= RETRY_PAUSE_MS) {
      this.#primary = this.#failedAtMs = undefined;
    }
    return this.#primary ??= this.#find();
  }

  #abandon(opening: Promise<Primary>): void {
    if (this.#primary !== opening) return;
    this.#primary = undefined;
    void opening.then((primary) => {
      // Statements that wait for an old primary might never get an answer.
      const closing = primary.close(this.#timeouts.answerMs);
      this.#abandoned.set(primary, closing.finally(() => this.#abandoned.delete(primary)));
    });
  }

  async #find(): Promise<Primary> {
    const reasons = new Set<string>();
    let last: unknown;
    for (const server of this.#servers) {
      try {
        const primary = await this.#connect(server);
        this.#servers = [server, ...this.#servers.filter((other) => other !== server)];
        return primary;
      } catch (thrown) {
        last = thrown;
        reasons.add(asStoreError(thrown).message.replace(/^Database failed: /, ""));
      }
    }
    this.#failedAtMs = performance.now();
    const cause = last instanceof StoreError ? last.cause : last;
    throw new StoreError(`Database failed: ${[...reasons].join("; ")}`, cause);
  }

  async #connect(server: URL): Promise<Primary> {
    try {
      return await openPool(server, this.#isBehindPooler, this.#timeouts);
    } catch (thrown) {
      if (this.#isBehindPooler || !REFUSED_PARAMETER.test(describeCause(thrown))) throw thrown;
      this.#isBehindPooler = true;
      return await openPool(server, true, this.#timeouts);
    }
  }
}

async function openPool(
  server: URL,
  isBehindPooler: boolean,
  { connectMs, answerMs }: PostgresTimeouts,
): Promise<Primary> {
  const sockets = new Set<Socket>();
  const options = {
    ...sessionOf(server, isBehindPooler),
    max: POOL_CONNECTIONS_MAX,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    pipeline: true, // missing in its types
    keepAlive: true,
    onConnect: (client: pg.ClientBase) => requireRole(client, server.host, connectMs),
    stream() {
      const socket = new Socket();
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      return socket;
    },
  };
  const pool = new pg.Pool(options);
  const unreplicated = new WeakSet<object>();
  pool.on("error", () => {}); // an idle connection was lost
  pool.on("connect", (client) => {
    client.on("error", () => {}); // its statements fail
    client.on("notice", ({ severity, code }) => {
      if (severity === "WARNING" && NOT_REPLICATED.has(code ?? "")) unreplicated.add(client);
    });
  });
  const close = async (timeoutMs: number) => {
    await withinMs(pool.ending ? Promise.resolve() : pool.end(), timeoutMs, undefined);
    for (const socket of sockets) socket.destroy();
  };
  try {
    (await pool.connect()).release();
    return { pool, unreplicated, close };
  } catch (thrown) {
    await close(0);
    throw thrown;
  }
}

/** The parameters of each session. A pooler refuses any beyond the library's own. */
function sessionOf(server: URL, isBehindPooler: boolean): pg.PoolConfig {
  const url = new URL(server);
  // Gives `sslmode` the meaning that it has in PostgreSQL's own programs.
  if (url.searchParams.has("sslmode")) url.searchParams.set("uselibpqcompat", "true");
  // Without a password, the library would look for a password file.
  if (url.password === "") url.password = "none";
  if (isBehindPooler) return { connectionString: url.href };
  const own = [...url.searchParams].filter(([name]) => !CLIENT_PARAMETERS.test(name));
  const options = [...own, ["synchronous_commit", "on"]].map(([name, value = ""]) =>
    `-c ${name}=${value.replaceAll(/[\\ ]/g, "\\$&")}`
  );
  const given = url.searchParams.get("options") ?? "";
  url.searchParams.set("options", `${given} ${options.join(" ")}`.trim());
  return {
    statement_timeout: STATEMENT_TIMEOUT_MS,
    // A process that dies within a transaction must not keep its locks.
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    connectionString: url.href,
  };
}

/** @throws {StoreError} If it is read-only, or answers before a change is on its disk. */
async function requireRole(client: pg.ClientBase, host: string, timeoutMs: number): Promise<void> {
  const text = "SELECT current_setting('transaction_read_only') AS read_only, " +
    "current_setting('synchronous_commit', true) AS synchronous_commit";
  const query = { text, query_timeout: timeoutMs };
  const { rows: [row] } = await client.query<Record<string, string>>(query);
  if (row?.read_only === "on") {
    throw new StoreError(
      `Database failed: ${host} is a standby, or its user may run read-only transactions only`,
    );
  }
  if (row?.synchronous_commit === "off") {
    throw new StoreError(
      `Database failed: synchronous_commit is off on ${host}, so a crash would lose ` +
        "acknowledged requests: set it to on for the database's user",
    );
  }
}

/** The code of a server's error; empty for one of the connection. */
export function serverCodeOf(thrown: unknown): string {
  return thrown instanceof pg.DatabaseError ? codeOf(thrown) : "";
}
