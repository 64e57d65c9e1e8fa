import { Socket } from "node:net";
// @ts-types="@types/pg"
import pg from "pg";
import { withinMs } from "../clock.ts";
import { NOT_SENT, REFUSED_PARAMETER } from "../library_messages.ts";
import {
  asStoreError,
  describeCause,
  driverCodeOf,
  sqlStateKindOf,
  StoreConnectionLostError,
  StoreError,
} from "./errors.ts";
import type { SqlValue } from "./database.ts";

/** How long a server may take. */
export interface PostgresTimeouts {
  /** To connect, and to tell its role. */
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
const CLOSE_MS = 1_000;

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

/**
 * The servers of one database, of which one accepts writes, and the connections to it. `pg` knows
 * one server only. `postgres` knows several, but sends calls that it could not send at once later,
 * when their callers have given up, and never fails a call to a server that does not answer.
 */
export class PostgresServers {
  /** The server that last accepted a connection comes first. */
  #servers: readonly URL[];
  readonly #timeouts: PostgresTimeouts;
  #isBehindPooler = false;
  /** False with `?prepare=false`, for a pooler that silently ignores session parameters. */
  readonly #mayPrepare: boolean;
  readonly #connections = new Set<PostgresConnection>();
  #idle: PostgresConnection[] = [];
  /** Connections from before a loss are not used again: another server may be the primary now. */
  #losses = 0;
  #failed: { error: StoreError; atMs: number } | undefined;
  #isClosed = false;

  /** @param servers One URL each. */
  constructor(servers: readonly URL[], timeouts = TIMEOUTS) {
    this.#servers = servers;
    this.#timeouts = timeouts;
    this.#mayPrepare = servers.every((url) => url.searchParams.get("prepare") !== "false");
  }

  /**
   * Runs work on a connection of its own to the server that accepts writes. If the work fails, the
   * connection is closed, which rolls back.
   *
   * @throws {StoreError} If there is no such server now. Nothing was sent.
   */
  async use<T>(work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const idle = this.#idle.pop();
    if (idle?.isLost) this.#cutIdle();
    const connection = idle === undefined || idle.isLost ? await this.#connect() : idle;
    const lossesBefore = this.#losses;
    let isReusable = false;
    try {
      const result = await work(connection);
      isReusable = !this.#isClosed && !connection.isLost && lossesBefore === this.#losses;
      return result;
    } finally {
      if (connection.isLost && lossesBefore === this.#losses) this.#cutIdle();
      if (isReusable) this.#idle.push(connection);
      else connection.cut();
    }
  }

  /** Closes all connections after giving running statements a second. May be called again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cutIdle();
    const ended = Promise.all([...this.#connections].map((connection) => connection.ended));
    await withinMs(ended, CLOSE_MS, undefined);
    for (const connection of this.#connections) connection.cut();
  }

  #cutIdle(): void {
    this.#losses += 1;
    for (const connection of this.#idle) connection.cut();
    this.#idle = [];
  }

  async #connect(): Promise<PostgresConnection> {
    const failed = this.#failed;
    if (failed && performance.now() - failed.atMs < RETRY_PAUSE_MS) throw failed.error;
    const reasons = new Set<string>();
    // That of the first server that has one: a standby has none, and says nothing of the others.
    let cause: unknown;
    for (const server of this.#servers) {
      if (this.#isClosed) throw new StoreError("Database is closed");
      try {
        const connection = await this.#connectTo(server);
        this.#servers = [server, ...this.#servers.filter((other) => other !== server)];
        this.#failed = undefined;
        return connection;
      } catch (thrown) {
        const error = asStoreError(thrown);
        cause ??= error.cause;
        reasons.add(error.message.replace(/^Database failed: /, ""));
      }
    }
    const error = new StoreError(`Database failed: ${[...reasons].join("; ")}`, cause);
    this.#failed = { error, atMs: performance.now() };
    throw error;
  }

  async #connectTo(server: URL): Promise<PostgresConnection> {
    const isBehindPooler = this.#isBehindPooler;
    const session = sessionOf(server, isBehindPooler);
    const mayPrepare = this.#mayPrepare && !isBehindPooler;
    const connection = new PostgresConnection(session, mayPrepare, this.#timeouts);
    this.#connections.add(connection);
    void connection.ended.then(() => this.#connections.delete(connection));
    try {
      await connection.open(server.host);
      return connection;
    } catch (thrown) {
      connection.cut();
      if (isBehindPooler || !REFUSED_PARAMETER.test(describeCause(thrown))) throw thrown;
      this.#isBehindPooler = true;
      return await this.#connectTo(server);
    }
  }
}

/** One connection, which one caller has to itself. */
export class PostgresConnection {
  /** Resolves when it is closed. */
  readonly ended: Promise<void>;
  /** It broke, or its server is no longer the primary. */
  isLost = false;
  readonly #socket = new Socket();
  readonly #client: pg.Client;
  readonly #mayPrepare: boolean;
  readonly #connectMs: number;
  /** The standby may lack a change that the server acknowledged. */
  #isUnreplicated = false;

  /** @param mayPrepare Not behind a pooler, which hands each transaction to another session. */
  constructor(
    session: pg.ClientConfig,
    mayPrepare: boolean,
    { connectMs, answerMs }: PostgresTimeouts,
  ) {
    this.#mayPrepare = mayPrepare;
    this.#connectMs = connectMs;
    const options = {
      ...session,
      connectionTimeoutMillis: connectMs,
      query_timeout: answerMs,
      pipeline: true, // missing in its types
      keepAlive: true,
      stream: () => this.#socket,
    };
    this.#client = new pg.Client(options);
    this.#client.on("error", () => this.isLost = true);
    this.ended = new Promise((resolve) => this.#client.once("end", resolve));
  }

  /** @throws If the server is away, is read-only, or answers before a change is on its disk. */
  async open(host: string): Promise<void> {
    await this.#client.connect();
    // Not before: a database whose collation has changed warns at every connection. The severity is
    // in the server's language.
    this.#client.on(
      "notice",
      ({ code }) => this.#isUnreplicated ||= NOT_REPLICATED.has(code ?? ""),
    );
    await requireRole(this.#client, host, this.#connectMs);
  }

  /**
   * Runs a statement. Those sent together run one after the other.
   *
   * @param name Names the statement on every connection.
   * @throws {StoreConnectionLostError} If it is unknown whether it took effect.
   */
  async run(
    { text, name }: { text: string; name: string },
    values: SqlValue[],
  ): Promise<{ rows: unknown[] }> {
    const isNamed = this.#mayPrepare && values.length > 0;
    try {
      const answer = await this.#client.query({ text, values, ...(isNamed && { name }) });
      if (!this.#isUnreplicated) return answer;
      throw new StoreConnectionLostError(new Error("The standby may not have the change"));
    } catch (thrown) {
      const error = storeErrorOf(thrown);
      this.isLost ||= error instanceof StoreConnectionLostError ||
        ["starting", "not_primary"].includes(sqlStateKindOf(serverCodeOf(thrown)));
      throw error;
    }
  }

  /** Closes it, without asking a server that may be lost; the server rolls back a transaction. */
  cut(): void {
    this.#socket.destroy();
  }
}

/** The parameters of each session. A pooler refuses any beyond the library's own. */
function sessionOf(server: URL, isBehindPooler: boolean): pg.ClientConfig {
  const url = new URL(server);
  // Gives `sslmode` the meaning that it has in PostgreSQL's own programs.
  if (url.searchParams.has("sslmode")) url.searchParams.set("uselibpqcompat", "true");
  // Without a password, the library would look for a password file.
  if (url.password === "") url.password = "none";
  if (isBehindPooler) return { connectionString: url.href };
  const parameters = [...url.searchParams].filter(([name]) => !CLIENT_PARAMETERS.test(name));
  // The server warns if it stops waiting for its standby.
  parameters.push(["synchronous_commit", "on"], ["client_min_messages", "warning"]);
  const options = parameters.map(([name, value]) =>
    `-c ${name}=${value.replaceAll(/[\\ ]/g, "\\$&")}`
  );
  const optionsOfUrl = url.searchParams.get("options") ?? "";
  url.searchParams.set("options", `${optionsOfUrl} ${options.join(" ")}`.trim());
  return {
    statement_timeout: STATEMENT_TIMEOUT_MS,
    // A process that dies within a transaction must not keep its locks.
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    connectionString: url.href,
  };
}

/** The encodings that can record every text, such as the reason of a hedge's refusal. */
const ENCODINGS = ["UTF8", "SQL_ASCII"];

/** @throws {StoreError} If it is read-only, cannot record every text, or answers too early. */
async function requireRole(client: pg.ClientBase, host: string, timeoutMs: number): Promise<void> {
  const text = "SELECT current_setting('transaction_read_only') AS read_only, " +
    "current_setting('synchronous_commit', true) AS synchronous_commit, " +
    "current_setting('server_encoding') AS encoding";
  const query = { text, query_timeout: timeoutMs };
  const { rows: [row] } = await client.query<Record<string, string>>(query);
  if (row?.read_only === "on") {
    throw new StoreError(
      `Database failed: ${host} is a standby, or its user may run read-only transactions only`,
    );
  }
  if (row?.encoding !== undefined && !ENCODINGS.includes(row.encoding)) {
    throw new StoreError(
      `Database failed: its encoding on ${host} is ${row.encoding}, so some texts could not be ` +
        "recorded: expected UTF8",
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
function serverCodeOf(thrown: unknown): string {
  return thrown instanceof pg.DatabaseError ? driverCodeOf(thrown) : "";
}

function storeErrorOf(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const code = serverCodeOf(thrown);
  const isUnsent = code === "" && thrown instanceof Error && NOT_SENT.test(thrown.message);
  if (isUnsent) return new StoreError("Database connection was lost: nothing was sent", thrown);
  // Other errors of the connection may hide a successful answer.
  return code === "" || sqlStateKindOf(code) === "lost"
    ? new StoreConnectionLostError(thrown)
    : asStoreError(thrown);
}
