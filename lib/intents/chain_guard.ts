import type { Logger } from "@logtape/logtape";
import type { Clock } from "../clock.ts";
import { RangemakerError } from "../errors.ts";
import type { CoreClient } from "../net/core_client.ts";
import { isNodeAway, NodeTimeoutError, nullIfUnsupported } from "../net/core_reader.ts";
import { type Cached, createCachedCall } from "../net/cached.ts";
import { RpcError } from "../protocol/jsonrpc.ts";
import type { Hex } from "../protocol/scalars.ts";
import { redactUrls } from "../redact.ts";
import { ClockComparison } from "./clock_comparison.ts";
import type { Intent } from "./intent.ts";
import { RewindDetector, type RewindDetectorOptions } from "./rewind_detector.ts";
import type { ServiceRecord } from "./service_store.ts";
import type { IntentStore } from "./store.ts";

/** How long the node's first block is cached: a node needs longer to start with another chain. */
const GENESIS_CACHED_MS = 100;

/**
 * How long a successful completeness check is cached. Longer than the time between two calls of
 * {@link ChainGuard.refresh}, so that requests rarely wait for this check.
 */
const COMPLETENESS_CACHED_MS = 10_000;

interface ChainGuardOptions extends Pick<RewindDetectorOptions, "isOnChain"> {
  store: Pick<IntentStore, "checkWritable" | "find" | "updateRecord" | "newestCommitted">;
  node: Pick<
    CoreClient,
    "url" | "chainId" | "genesisHash" | "getHead" | "getTransaction" | "allowsReverts"
  >;
  /** The chain id that this service signs for. */
  chainId: number;
  clock: Clock;
  log: Logger;
}

/** The node has another chain than the store, so nothing is submitted. */
export class WrongChainError extends RangemakerError {
  constructor(
    code: "CHAIN_MISMATCH" | "CHAIN_REWOUND",
    message: string,
    details: Record<string, unknown>,
  ) {
    super(code, message, { details });
  }
}

/**
 * Checks that the node has the configured chain id and the chain of the store. The store binds
 * itself to the first chain that it meets, by the hash of the first block, and remembers the
 * highest block. Its used nonces and receipts are invalid on another chain, and on an older state
 * of the same one. On a chain that allows reverts, such as a development chain in memory, the guard
 * starts over at its present block; finished intents keep their state.
 */
export class ChainGuard {
  /** The clock of this machine beside the node's. */
  readonly clocks: ClockComparison;
  readonly #options: ChainGuardOptions;
  readonly #rewinds: RewindDetector;
  readonly #cachedCheck: Cached<number>;
  #record: ServiceRecord | undefined;
  /** When the chain was last found to be complete; undefined after any doubt. */
  #verifiedAtMs: number | undefined;

  constructor(options: ChainGuardOptions) {
    this.#options = options;
    this.clocks = new ClockComparison(options.log);
    this.#rewinds = new RewindDetector(options);
    const check = () => this.#check({ verifiesCompleteness: !this.#wasVerifiedRecently() });
    this.#cachedCheck = createCachedCall(check, GENESIS_CACHED_MS, options.clock);
  }

  /**
   * Checks the chain, at most once in 100 ms, unless a {@link refresh} has failed since.
   *
   * @throws {WrongChainError} If the node has another chain, or an older state of this one.
   * @throws {RangemakerError} If node or store does not answer.
   */
  async requireChain(): Promise<void> {
    await this.#cachedCheck();
  }

  /** An intent was committed: the node must have its receipt. */
  onCommitted(intent: Intent): void {
    this.#rewinds.onCommitted(intent);
  }

  /**
   * Checks that the store accepts writes, and that the node has the recorded chain. Then records
   * the node's newest block.
   */
  async refresh(): Promise<void> {
    const { store } = this.#options;
    await store.checkWritable();
    this.#record = await this.#readRecord();
    let highestBlock: number;
    try {
      highestBlock = await this.#check({ verifiesCompleteness: true });
    } catch (thrown) {
      // A cached success from before this failure must not admit requests.
      this.#cachedCheck.clear();
      throw thrown;
    }
    this.#record = await store.updateRecord({ highestBlock });
  }

  /** Reads the record again, which another process may have updated. */
  async #readRecord(): Promise<ServiceRecord> {
    const { store } = this.#options;
    const record = await store.updateRecord();
    this.#rewinds.onNewestRead(await store.newestCommitted());
    return record;
  }

  #wasVerifiedRecently(): boolean {
    const atMs = this.#verifiedAtMs;
    return atMs !== undefined &&
      Math.abs(this.#options.clock.now() - atMs) < COMPLETENESS_CACHED_MS;
  }

  /** @returns Number of the node's newest block; 0 if it was not asked, or does not report it. */
  async #check({ verifiesCompleteness }: { verifiesCompleteness: boolean }): Promise<number> {
    const { store, node, chainId, clock } = this.#options;
    try {
      this.#record ??= await this.#readRecord();
      const askedMs = clock.now();
      const { highestBlock } = this.#record;
      const [genesis, found] = await Promise.all([
        node.genesisHash(),
        verifiesCompleteness ? this.#rewinds.check(highestBlock, askedMs) : undefined,
        verifiesCompleteness ? requireChainId(node, chainId) : undefined,
      ]);
      if (this.#record.genesis === null && genesis !== null) {
        this.#record = await store.updateRecord({ genesis });
      }
      requireSameGenesis(node.url, genesis, this.#record.genesis);
      if (found === undefined) return 0;
      const { head, evidence } = found;
      const number = head?.number ?? 0;
      this.clocks.observe(head, askedMs);
      if (evidence !== undefined) await this.#acceptOrRefuseRevert(number, evidence);
      this.#verifiedAtMs = askedMs;
      return number;
    } catch (thrown) {
      // A timeout means busy, not restarted.
      if (!(thrown instanceof NodeTimeoutError)) this.#verifiedAtMs = undefined;
      throw thrown;
    }
  }

  /** Finished intents keep their state: they were answered before the revert. */
  async #acceptOrRefuseRevert(resetBlock: number, evidence: string): Promise<void> {
    const { store, node, log } = this.#options;
    if (!await allowsReverts(node)) throw chainRewound(node.url, evidence);
    this.#record = await store.updateRecord({ resetBlock });
    this.#rewinds.forget();
    log.info("The development chain was reverted: the node {evidence}", {
      event: "chain_reverted",
      evidence,
    });
  }
}

/** @throws {WrongChainError} `CHAIN_MISMATCH` if the node has another chain id. */
export async function requireChainId(
  node: Pick<CoreClient, "url" | "chainId">,
  expected: number,
): Promise<void> {
  const actual = await node.chainId();
  if (actual === expected) return;
  const url = redactUrls(node.url);
  throw new WrongChainError(
    "CHAIN_MISMATCH",
    `Core node at ${url} has chain id ${actual}: expected ${expected}, so nothing is submitted: ` +
      "correct --chain-id or --rpc-url",
    { expected, actual },
  );
}

/**
 * Checks that a node is on the chain of a store, possibly at an older block.
 *
 * @returns Number of its newest block; 0 if it does not report it.
 * @throws {WrongChainError} `CHAIN_MISMATCH` if it has another one.
 */
export async function requireGenesis(
  { store, node }: Pick<ChainGuardOptions, "store" | "node">,
): Promise<number> {
  const { genesis } = await store.updateRecord();
  requireSameGenesis(node.url, await node.genesisHash(), genesis);
  return (await nullIfUnsupported(node.getHead()))?.number ?? 0;
}

function requireSameGenesis(url: string, actual: Hex | null, expected: Hex | null): void {
  if (expected === null || actual === expected) return;
  const has = actual === null
    ? "does not report its first block"
    : `has the chain that begins with ${actual}`;
  throw new WrongChainError(
    "CHAIN_MISMATCH",
    `Core node at ${redactUrls(url)} ${has}, but the database belongs to the chain that begins ` +
      `with ${expected}, so nothing is submitted: if the node has lost its chain, restore it; ` +
      "otherwise set --rpc-url to a node of that chain (docs/runbooks.md, Another chain)",
    { expected, actual },
  );
}

function chainRewound(url: string, evidence: string): WrongChainError {
  return new WrongChainError(
    "CHAIN_REWOUND",
    `Core node at ${redactUrls(url)} ${evidence}: it was restored from a backup, so nothing is ` +
      "submitted. Restore a newer one, or run bridge replay and solver reconcile " +
      "(docs/runbooks.md, A restored node)",
    { evidence },
  );
}

/** Whether the chain allows reverts; false if the node does not answer. */
async function allowsReverts(node: Pick<CoreClient, "allowsReverts">): Promise<boolean> {
  try {
    return await node.allowsReverts();
  } catch (thrown) {
    if (isNodeAway(thrown) || thrown instanceof RpcError) return false;
    throw thrown;
  }
}
