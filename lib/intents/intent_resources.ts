import type { Logger } from "@logtape/logtape";
import { type Clock, waitMs } from "../clock.ts";
import type { RandomSource } from "../random.ts";
import { isLocked } from "../database/sqlite.ts";
import { POSTGRES_URL } from "../database/database_url.ts";
import { messageOf } from "../errors.ts";
import { serviceLog } from "../log/logging.ts";
import { CoreClient } from "../net/core_client.ts";
import type { TransactionSigner } from "../protocol/transaction.ts";
import { driverCodeOf, sqlStateKindOf, StoreError } from "./errors.ts";
import { openIntentStore } from "./open_store.ts";
import type { IntentStore } from "./store.ts";
import { TransactionBuilder } from "./transactions.ts";

/** Timeout of calls to the node. A stop waits for them: see `STOP_DEADLINE_MS`. */
const SUBMISSION_TIMEOUT_MS = 4_000;

/**
 * Timeout of node calls that requests and health checks wait for. With a longer one, this service
 * would seem down to a health checker when only the node is.
 */
const SHORT_TIMEOUT_MS = 1_000;

/** How long a start waits for a database that is also starting, or locked by what is ending. */
const STARTING_MS = 30_000;

/** Time between two attempts. */
const ATTEMPT_INTERVAL_MS = 500;

export interface IntentResourcesOptions {
  /** The service: owner of the intents, and first part of its metrics. */
  name: string;
  database: string;
  rpcUrl: string;
  signer: TransactionSigner;
  chainId: number;
  /**
   * A solver's database belongs to its key, since its quotes name its account: `bind` refuses the
   * database of another key, and binds one that belongs to none; `compare` only refuses. `ignore` is
   * for a bridge, which keeps its database, with the used nonces, for a new key, and for a solver
   * that submits nothing.
   */
  storeKey: "bind" | "compare" | "ignore";
  clock: Clock;
}

/** What recording and sending intents needs: store, node, signer and clock of a service. */
export interface IntentResources {
  /** Close it when nothing uses it any more. */
  store: IntentStore;
  node: CoreClient;
  /** The node with a short timeout, for calls that a caller waits for. */
  shortTimeoutNode: CoreClient;
  transactions: TransactionBuilder;
  chainId: number;
  clock: Clock;
  random: RandomSource;
  log: Logger;
}

/**
 * Opens the store of a service, waiting for a database that is starting.
 *
 * @throws {StoreError} If the database cannot be used, or belongs to another key.
 */
export async function openIntentResources(
  options: IntentResourcesOptions,
): Promise<IntentResources> {
  const { name, rpcUrl: url, signer, chainId, clock } = options;
  const store = await openWhenReady(options);
  return {
    store,
    node: new CoreClient({ url, timeoutMs: SUBMISSION_TIMEOUT_MS }),
    shortTimeoutNode: new CoreClient({ url, timeoutMs: SHORT_TIMEOUT_MS }),
    transactions: new TransactionBuilder(signer, chainId, clock),
    chainId,
    clock,
    random: Math.random,
    log: serviceLog(name),
  };
}

/**
 * Opens a store. A database that cannot be reached is tried again for 30 s: after a power failure,
 * it may start later than its services. So is a file that is locked: a process that was killed may
 * still be ending, or one that stops writes its log into it.
 */
async function openWhenReady(options: IntentResourcesOptions): Promise<IntentStore> {
  const { database, name, clock } = options;
  const giveUpMs = clock.now() + STARTING_MS;
  for (let isFirst = true;; isFirst = false) {
    try {
      return await openOwnStore(options);
    } catch (thrown) {
      if (!mayBeStarting(database, thrown) || clock.now() >= giveUpMs) throw thrown;
      if (isFirst) {
        serviceLog(name).warn("{reason}; trying again for {seconds} s", {
          event: "store_starting",
          reason: messageOf(thrown),
          seconds: STARTING_MS / 1_000,
        });
      }
      await waitMs(clock, ATTEMPT_INTERVAL_MS);
    }
  }
}

/** @throws {StoreError} If the database cannot be used now, or belongs to another key. */
async function openOwnStore(
  { database, name, signer: { address }, storeKey }: IntentResourcesOptions,
): Promise<IntentStore> {
  const store = await openIntentStore(database, name);
  if (storeKey === "ignore") return store;
  try {
    const { records } = store;
    const { signer: owner } = storeKey === "bind"
      ? await records.update({ signer: address })
      : await records.read();
    if (owner === null || owner === address) return store;
    throw new StoreError(
      `Database belongs to the ${name} with the key of ${owner}, but this one signs as ` +
        `${address}: use that key, or give this one a database of its own with --database`,
    );
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
}

function mayBeStarting(database: string, thrown: unknown): boolean {
  if (!(thrown instanceof StoreError) || thrown.cause === undefined) return false;
  const { cause } = thrown;
  if (!POSTGRES_URL.test(database)) return isLocked(cause);
  return ["lost", "starting", "exhausted", "none"].includes(sqlStateKindOf(driverCodeOf(cause)));
}
