import type { Logger } from "@logtape/logtape";
import type { Clock } from "../clock.ts";
import { RangemakerError } from "../errors.ts";
import { type Cached, createCachedCall } from "../timing/cached.ts";
import type { CoreClient } from "../net/core_client.ts";
import { nullIfUnsupported } from "../net/core_reader.ts";
import type { Hex } from "../protocol/scalars.ts";
import { redactUrls } from "../redact.ts";
import { ClockComparison } from "./clock_comparison.ts";
import type { Intent } from "./intent.ts";
import type { ServiceRecord } from "./service_records.ts";
import type { IntentStore } from "./store.ts";

/** How long a check is cached: a node needs longer to start with another chain. */
const CHECK_CACHED_MS = 100;

/**
 * How long the store's record of the chain is cached. Longer than the time between two calls of
 * {@link ChainGuard.refresh}, so that requests rarely wait for the store.
 */
const RECORD_CACHED_MS = 10_000;

/** A read node behind a proxy may be this many blocks behind the write node. */
const READ_NODE_LAG_BLOCKS = 50;

/** A read node may know a receipt this much later than the write node. */
const READ_NODE_LAG_MS = 2_000;

interface ChainGuardOptions {
  store: Pick<IntentStore, "requireWritable" | "find" | "records" | "findNewestCommitted">;
  node: Pick<
    CoreClient,
    "url" | "getChainId" | "getGenesisHash" | "getHead" | "getTransaction" | "allowsReverts"
  >;
  /** Whether the chain has the effect of a committed intent whose receipt the node lacks. */
  isOnChain(intent: Intent): Promise<boolean>;
  /** The chain id that this service signs for. */
  chainId: number;
  clock: Clock;
  log: Logger;
}

/** The node has another chain than the store, or an older state of it: nothing is submitted. */
export class WrongChainError extends RangemakerError {}

/**
 * Checks that the node has the configured chain id and the chain of the store, in a state that is
 * not older than before. The store binds itself to the first chain that it meets, by the hash of
 * the first block, and remembers the highest block: its used nonces and receipts are invalid on
 * another chain, and on an older state of the same one. On a chain that allows reverts, such as a
 * development chain in memory, the guard starts over at its present block; finished intents keep
 * their state.
 */
export class ChainGuard {
  /** The clock of this machine beside the node's. */
  readonly clocks: ClockComparison;
  readonly #options: ChainGuardOptions;
  readonly #check: Cached<number>;
  /** What the store knows of the chain; undefined at the start and after any doubt. */
  #record: ServiceRecord | undefined;
  #recordReadAtMs = 0;
  readonly #commits: CommitWitness;

  constructor(options: ChainGuardOptions) {
    this.#options = options;
    this.clocks = new ClockComparison(options.log);
    this.#commits = new CommitWitness(options);
    const check = () =>
      this.#checkChain().catch((thrown) => {
        this.#record = undefined;
        throw thrown;
      });
    this.#check = createCachedCall(check, CHECK_CACHED_MS, options.clock);
  }

  /**
   * Checks the chain, at most once in 100 ms.
   *
   * @throws {WrongChainError} If the node has another chain, or an older state of this one.
   * @throws {RangemakerError} If node or store does not answer.
   */
  async requireChain(): Promise<void> {
    await this.#check();
  }

  /** An intent was committed: the node must have its receipt. */
  onCommitted(intent: Intent): void {
    this.#commits.add(intent);
  }

  /**
   * Checks that the store accepts writes, and the chain with all that the store knows of it, which
   * another process may have recorded. Then records the node's newest block.
   */
  async refresh(): Promise<void> {
    const { store } = this.#options;
    await store.requireWritable();
    this.#record = undefined;
    this.#check.clear();
    await store.records.update({ highestBlock: await this.#check() });
  }

  /**
   * Checks the chain by its id, first block, height and commits.
   *
   * @returns Number of the node's newest block.
   */
  async #checkChain(): Promise<number> {
    const { store, node, chainId, clock } = this.#options;
    let record = await this.#readRecord();
    const askedAtMs = clock.now();
    const findingLost = this.#commits.findLost(askedAtMs - READ_NODE_LAG_MS);
    const answers = [
      node.getGenesisHash(),
      node.getHead(),
      requireChainId(node, chainId),
    ] as const;
    // Also after the first failure, so that no request outlives a stop.
    await Promise.allSettled([findingLost, ...answers]);
    const [genesis, head] = await Promise.all(answers);
    if (record.genesis === null) {
      record = this.#record = await store.records.update({ genesis });
    }
    requireSameGenesis(node.url, genesis, record.genesis);
    const { number } = head;
    const isBehind = number + READ_NODE_LAG_BLOCKS < record.highestBlock;
    const evidence = isBehind
      ? `is at block ${number}, but was at block ${record.highestBlock} before`
      : await findingLost;
    this.clocks.observe(head, askedAtMs);
    if (evidence !== undefined) await this.#acceptOrRefuseRevert(number, evidence);
    return number;
  }

  /** Reads the store's record of the chain, and the newest commit to look for, unless cached. */
  async #readRecord(): Promise<ServiceRecord> {
    const { store, clock } = this.#options;
    const nowMs = clock.now();
    const isCached = Math.abs(nowMs - this.#recordReadAtMs) < RECORD_CACHED_MS;
    if (this.#record !== undefined && isCached) return this.#record;
    const record = await store.records.read();
    const newest = await store.findNewestCommitted();
    if (newest !== undefined) this.#commits.add(newest);
    this.#recordReadAtMs = nowMs;
    return this.#record = record;
  }

  /** Finished intents keep their state: they were answered before the revert. */
  async #acceptOrRefuseRevert(resetBlock: number, evidence: string): Promise<void> {
    const { store, node, clock, log } = this.#options;
    if (!await nullIfUnsupported(node.allowsReverts())) throw chainRewound(node.url, evidence);
    this.#commits.clear(clock.now());
    this.#record = await store.records.update({ resetBlock });
    log.info("The development chain was reverted: the node {evidence}", {
      event: "chain_reverted",
      evidence,
    });
  }
}

/**
 * Remembers what the node has committed, and finds out whether it still has it: a node that was
 * restored from a backup of seconds ago shows in nothing else.
 */
class CommitWitness {
  readonly #options: ChainGuardOptions;
  /** Commits whose receipts are to be looked for: the last of each second, by that second. */
  readonly #unverified = new Map<number, Intent>();
  /** When the chain was last reverted on purpose: it need not have what was committed before. */
  #revertedAtMs = -Infinity;

  constructor(options: ChainGuardOptions) {
    this.#options = options;
  }

  /** An intent was committed: the node must have its receipt. */
  add(intent: Intent): void {
    if (intent.updatedAtMs <= this.#revertedAtMs) return;
    this.#unverified.set(Math.floor(intent.updatedAtMs / 1_000), intent);
  }

  /** Forgets all commits until now: the chain was reverted on purpose. */
  clear(nowMs: number): void {
    this.#revertedAtMs = nowMs;
    this.#unverified.clear();
  }

  /** Looks for the receipts of commits up to `dueMs`. @returns What the node lacks, if anything. */
  async findLost(dueMs: number): Promise<string | undefined> {
    const due = [...this.#unverified].filter(([, { updatedAtMs }]) => updatedAtMs <= dueMs);
    const found = await Promise.all(due.map(async ([second, intent]) => {
      if (!await this.#isStillCommitted(intent)) return intent;
      if (this.#unverified.get(second) === intent) this.#unverified.delete(second);
    }));
    const txHash = found.find((intent) => intent !== undefined)?.transaction?.txHash;
    return txHash && `does not have transaction ${txHash}, which it had committed before`;
  }

  async #isStillCommitted(intent: Intent): Promise<boolean> {
    if (await this.#isKnown(intent)) return true;
    // An operator may have reconciled store and chain since.
    const current = await this.#options.store.find(intent.key);
    return current?.state !== "committed" || await this.#isKnown(current);
  }

  async #isKnown(intent: Intent): Promise<boolean> {
    const { node, isOnChain } = this.#options;
    if (intent.transaction === null) return true;
    const receipt = await node.getTransaction(intent.transaction.txHash);
    return receipt?.status === "committed" || await isOnChain(intent);
  }
}

/** @throws {WrongChainError} `CHAIN_MISMATCH` if the node has another chain id. */
export async function requireChainId(
  node: Pick<CoreClient, "url" | "getChainId">,
  expected: number,
): Promise<void> {
  const actual = await node.getChainId();
  if (actual === expected) return;
  const url = redactUrls(node.url);
  throw new WrongChainError(
    "CHAIN_MISMATCH",
    `Core node at ${url} has chain id ${actual}: expected ${expected}, so nothing is submitted: ` +
      "correct --chain-id or --rpc-url",
    { details: { expected, actual } },
  );
}

/**
 * Checks that a node is on the chain of a store, possibly at an older block.
 *
 * @throws {WrongChainError} `CHAIN_MISMATCH` if it has another one.
 */
export async function requireSameChain(
  { store, node }: Pick<ChainGuardOptions, "store" | "node">,
): Promise<void> {
  const { genesis } = await store.records.read();
  requireSameGenesis(node.url, await node.getGenesisHash(), genesis);
}

function requireSameGenesis(url: string, actual: Hex, expected: Hex | null): void {
  if (expected === null || actual === expected) return;
  throw new WrongChainError(
    "CHAIN_MISMATCH",
    `Core node at ${redactUrls(url)} has the chain that begins with ${actual}, but the database ` +
      `belongs to the chain that begins with ${expected}, so nothing is submitted: ` +
      "if the node has lost its chain, restore it; " +
      "otherwise set --rpc-url to a node of that chain (docs/runbooks.md, Another chain)",
    { details: { expected, actual } },
  );
}

function chainRewound(url: string, evidence: string): WrongChainError {
  return new WrongChainError(
    "CHAIN_REWOUND",
    `Core node at ${redactUrls(url)} ${evidence}: it was restored from a backup, so nothing is ` +
      "submitted. Restore a newer one, or run bridge replay and solver reconcile " +
      "(docs/runbooks.md, A restored node)",
    { details: { evidence } },
  );
}
