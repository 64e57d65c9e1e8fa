import { once } from "node:events";
import { connect, type Socket } from "node:net";
import postgres from "postgres";
import {
  asStoreError,
  codeOf,
  describeCause,
  StoreConnectionLostError,
  StoreError,
} from "./intent.ts";
import { withinMs } from "../timers.ts";
import type { SqlValue } from "./sql.ts";

/** Timeout of connecting, including the check of the server's role. */
const CONNECT_DEADLINE_MS = 2_000;

/** How long the server may work on one statement. */
export const STATEMENT_TIMEOUT_MS = 3_000;

/**
 * How long an answer may take. Longer than {@link STATEMENT_TIMEOUT_MS}: that one does not end a
 * commit that waits for a standby, and a machine that is gone never reports it.
 */
const ANSWER_DEADLINE_MS = 4_000;

/** How long the library waits for running statements on close; they have finished by then. */
const END_TIMEOUT_SECONDS = 0;

/** Timeout of a clean close. The library would wait forever for a server that is gone. */
const GOODBYE_MS = 10;

/** Parameters of every session, unless a pooler refuses them. */
const SESSION = {
  statement_timeout: STATEMENT_TIMEOUT_MS,
  // A process that dies within a transaction must not keep its locks.
  idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
  synchronous_commit: "on",
};

/** The refusal of a pooler, such as pgbouncer, which cannot keep the parameters of a session. */
const REFUSED_PARAMETER = /unsupported startup parameter/;

/**
 * Warnings of a server that stopped waiting for its standby (cancelled, or shut down meanwhile): the
 * statement succeeds, but the standby may not have it.
 */
const NOT_REPLICATED = new Set(["01000", "57P01"]);

/** Errors after which a connection is not reused: shutdown, crash, and a read-only server. */
const FATAL_CODE = /^(57P0|25006|25P03|08)/;

/** Codes of the library, the system, the server and poolers for a connection that broke while in use. */
const LOST_CODES = new Set([
  "57P01",
  "57P02",
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "ECONNABORTED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "ETIMEDOUT",
]);

/** Error class 08: poolers use it to report a lost server. */
const LOST_CLASS = /^08/;

/** What a statement returned, and in `count` how many rows it returned or changed. */
export type Rows = postgres.RowList<postgres.Row[]>;

/** Changes to how a connection is used. */
export interface ConnectionOptions {
  /** A pooler hands each transaction to another session: no session parameters, no named statements. */
  isPooled: boolean;
  /** Called once, when the connection becomes unusable. */
  onLost(connection: PostgresConnection): void;
}

/**
 * One connection to one server that accepts writes. The library speaks the protocol: TLS, login, named
 * statements, pipelining. It is kept from the rest that it could do (3.4.9):
 *
 * - Its choice among several hosts (`target_session_attrs`) asks standbys again and again without a
 *   pause or an error while there is no primary, and cannot ask for `synchronous_commit`.
 * - Its pool reconnects by itself, so a session would be used unchecked.
 * - It has no deadline for an answer, and does not say whether a lost statement was sent.
 */
export class PostgresConnection {
  readonly server: URL;
  readonly #sql: postgres.Sql;
  readonly #socket: Promise<Socket>;
  readonly #onLost: ConnectionOptions["onLost"];
  /** Fails the statements without an answer. */
  readonly #waiting = new Set<(cause: unknown) => void>();
  #isLost = false;
  #isDoubtful = false;

  private constructor(server: URL, { isPooled, onLost }: ConnectionOptions) {
    this.server = server;
    this.#onLost = onLost;
    let connections = 0;
    const opened = Promise.withResolvers<Socket>();
    opened.promise.catch(() => {});
    this.#socket = opened.promise;
    const options = {
      max: 1,
      connect_timeout: 0,
      idle_timeout: 0,
      max_lifetime: null,
      fetch_types: false,
      ...(isPooled && { prepare: false }),
      connection: isPooled ? {} : SESSION,
      onnotice: ({ severity, code }: postgres.Notice) => {
        if (severity === "WARNING" && NOT_REPLICATED.has(code ?? "")) this.#isDoubtful = true;
      },
      onclose: () => this.#lose(new Error("Connection ended")),
      // Supported by the library, and missing from its types. It is called again to reconnect.
      socket: async ({ host, port, path }: Address) => {
        connections += 1;
        if (connections > 1) throw new Error("Connection ended before it was ready");
        const socket = openSocket(host[0] ?? "localhost", port[0] ?? 5432, path);
        opened.resolve(socket);
        await once(socket, "connect");
        socket.once("error", (cause) => this.#lose(cause));
        socket.once("close", () => this.#lose(new Error("Connection ended")));
        return socket;
      },
    };
    this.#sql = postgres(server.href, options);
  }

  /**
   * Connects to a server and checks that it accepts writes.
   *
   * @throws {StoreError} If it cannot be reached in time, or is read-only.
   */
  static async open(server: URL, options: ConnectionOptions): Promise<PostgresConnection> {
    const connection = new PostgresConnection(server, options);
    try {
      await connection.#checkRole();
      return connection;
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
  }

  /** Whether an error on opening means that there is a pooler in front of the server. */
  static refusesParameters(thrown: unknown): boolean {
    return thrown instanceof StoreError && REFUSED_PARAMETER.test(describeCause(thrown.cause));
  }

  /** Statements without an answer. */
  get running(): number {
    return this.#waiting.size;
  }

  /**
   * Runs a statement. Statements that run at the same time are sent in order and answered in order.
   *
   * @param deadlineMs How long its answer may take.
   * @throws {StoreConnectionLostError} If it may have taken effect and this is not known.
   */
  async run(
    sql: string,
    values: SqlValue[] = [],
    deadlineMs: number = ANSWER_DEADLINE_MS,
  ): Promise<Rows> {
    if (this.#isLost) throw new StoreError("Database connection was lost: nothing was sent");
    try {
      const rows = await withinMs(this.#answer(sql, values), deadlineMs, undefined);
      if (rows === undefined) throw new StoreConnectionLostError(new Error("No answer in time"));
      // A transaction that failed ends with a commit that "succeeds".
      if (sql === "COMMIT" && rows.command !== "COMMIT") {
        throw new StoreError(`Database failed: COMMIT ended in ${rows.command}`);
      }
      if (this.#isDoubtful) {
        throw new StoreConnectionLostError(new Error("The standby may not have the change"));
      }
      return rows;
    } catch (thrown) {
      const error = storeErrorOf(thrown);
      if (error instanceof StoreConnectionLostError || FATAL_CODE.test(codeOf(thrown))) {
        this.destroy();
      }
      throw error;
    }
  }

  /** The library never settles statements that a lost connection had not sent yet (over 100 at once). */
  async #answer(sql: string, values: SqlValue[]): Promise<Rows> {
    let fail: ((cause: unknown) => void) | undefined;
    try {
      return await new Promise((resolve, reject) => {
        fail = reject;
        this.#waiting.add(reject);
        this.#sql.unsafe(sql, values, { prepare: true }).then(resolve, reject);
      });
    } finally {
      if (fail !== undefined) this.#waiting.delete(fail);
    }
  }

  /** Ends the connection now: statements without an answer have an unknown outcome. */
  destroy(): void {
    this.#lose(new Error("Connection was ended"));
    this.#socket.then((socket) => socket.destroy(), () => {});
  }

  /** Closes the connection cleanly. No statement may be running. */
  async close(): Promise<void> {
    this.#lose(new Error("Connection was ended"));
    await withinMs(this.#sql.end({ timeout: END_TIMEOUT_SECONDS }), GOODBYE_MS, undefined);
    this.destroy();
    await this.#socket.then(closed, () => {});
  }

  async #checkRole(): Promise<void> {
    const query = "SELECT current_setting('transaction_read_only') AS read_only, " +
      "current_setting('synchronous_commit', true) AS synchronous_commit";
    const [row] = await this.run(query, [], CONNECT_DEADLINE_MS);
    const { read_only, synchronous_commit } = Object(row);
    if (read_only === "on") {
      throw new StoreError(
        `Database failed: ${this.server.host} is a standby, or its user may run read-only ` +
          "transactions only",
      );
    }
    if (synchronous_commit === "off") {
      throw new StoreError(
        `Database failed: synchronous_commit is off on ${this.server.host}, so a crash would lose ` +
          "what was answered: set it to on for the database's user",
      );
    }
  }

  #lose(reason: Error): void {
    if (this.#isLost) return;
    this.#isLost = true;
    for (const fail of this.#waiting) fail(new StoreConnectionLostError(reason));
    this.#onLost(this);
  }
}

/** The library's description of the server to connect to. */
interface Address {
  host: readonly string[];
  port: readonly number[];
  path: string | false;
}

function storeErrorOf(cause: unknown): StoreError {
  const code = codeOf(cause);
  const isLost = LOST_CODES.has(code) || LOST_CLASS.test(code);
  return isLost && !(cause instanceof StoreError)
    ? new StoreConnectionLostError(cause)
    : asStoreError(cause);
}

function openSocket(host: string, port: number, path: string | false): Socket {
  const socket = path === false ? connect({ host, port }) : connect({ path });
  // The library uses it as the server name in TLS.
  return Object.assign(socket, { host });
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await once(socket, "close");
}
