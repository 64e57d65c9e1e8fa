import { asStoreError, describeCause, StoreConnectionLostError, StoreError } from "./intent.ts";
import { withinMs } from "../timers.ts";
import { PostgresConnection } from "./postgres_connection.ts";

/** After a failure, calls fail at once for this long, without retrying a server that is down. */
const RETRY_PAUSE_MS = 250;

/** How long running statements may take when the pool is closed. */
const CLOSE_TIMEOUT_MS = 1_000;

/** The servers of one database, of which one accepts writes. */
export class PostgresServers {
  /** The one that last accepted a connection comes first. */
  #servers: readonly URL[];
  #isPooled = false;
  #failure: { error: StoreError; atMs: number } | undefined;

  /** @param servers One URL each. */
  constructor(servers: readonly URL[]) {
    this.#servers = servers;
  }

  /**
   * Connects to the server that accepts writes.
   *
   * @throws {StoreError} If there is none now. Nothing was changed.
   */
  async open(onLost: (connection: PostgresConnection) => void): Promise<PostgresConnection> {
    const { error, atMs } = this.#failure ?? {};
    if (error !== undefined && performance.now() - (atMs ?? 0) < RETRY_PAUSE_MS) throw error;
    this.#failure = undefined;
    const reasons = new Set<string>();
    let last: StoreError | undefined;
    for (const server of this.#servers) {
      try {
        const connection = await this.#connect(server, onLost);
        this.#servers = [server, ...this.#servers.filter((other) => other !== server)];
        return connection;
      } catch (thrown) {
        last = asUnsent(thrown);
        reasons.add(last.message.replace(/^Database failed: /, ""));
      }
    }
    const message = `Database failed: ${[...reasons].join("; ")}`;
    const failure = new StoreError(message, last?.cause, last?.code);
    this.#failure = { error: failure, atMs: performance.now() };
    throw failure;
  }

  async #connect(
    server: URL,
    onLost: (connection: PostgresConnection) => void,
  ): Promise<PostgresConnection> {
    try {
      return await PostgresConnection.open(server, { isPooled: this.#isPooled, onLost });
    } catch (thrown) {
      if (this.#isPooled || !PostgresConnection.refusesParameters(thrown)) throw thrown;
      this.#isPooled = true;
      return await PostgresConnection.open(server, { isPooled: true, onLost });
    }
  }
}

/** Several connections to the server that accepts writes. */
export class PostgresPool {
  readonly #servers: PostgresServers;
  readonly #connectionsMax: number;
  readonly #open = new Set<PostgresConnection>();
  readonly #running = new Set<Promise<unknown>>();
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(servers: PostgresServers, connectionsMax: number) {
    this.#servers = servers;
    this.#connectionsMax = connectionsMax;
  }

  /** Runs work on the connection with the fewest statements in flight. */
  async use<T>(work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new StoreError("Database is closed");
    const running = this.#take().then(work);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Closes all connections after giving running statements a second. May be called again. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    await withinMs(Promise.allSettled(this.#running), CLOSE_TIMEOUT_MS, undefined);
    await this.#opening?.catch(() => {});
    await Promise.all([...this.#open].map((connection) => connection.close()));
  }

  async #take(): Promise<PostgresConnection> {
    for (;;) {
      const found = this.#leastBusy();
      if (found !== undefined && found.running === 0) return found;
      if (found !== undefined && this.#open.size >= this.#connectionsMax) return found;
      try {
        await (this.#opening ??= this.#grow().finally(() => this.#opening = undefined));
      } catch (thrown) {
        const other = this.#leastBusy();
        if (other === undefined) throw thrown;
        return other;
      }
    }
  }

  #leastBusy(): PostgresConnection | undefined {
    let found: PostgresConnection | undefined;
    for (const each of this.#open) {
      if (found === undefined || each.running < found.running) found = each;
    }
    return found;
  }

  async #grow(): Promise<void> {
    const added = await this.#servers.open((lost) => this.#open.delete(lost));
    // After a failover, statements that wait for the old primary would never get an answer.
    for (const each of this.#open) if (each.server !== added.server) each.destroy();
    this.#open.add(added);
  }
}

/** Nothing was sent yet, so nothing is unknown. */
function asUnsent(thrown: unknown): StoreError {
  if (!(thrown instanceof StoreConnectionLostError)) return asStoreError(thrown);
  return new StoreError(`Database failed: ${describeCause(thrown.cause)}`, thrown.cause);
}
