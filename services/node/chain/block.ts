import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { keccak256 } from "../../../lib/protocol/keccak.ts";
import { type Hex, toQuantity } from "../../../lib/protocol/scalars.ts";
import type { ResumePoint } from "../store/chain_records.ts";
import type { HeadRow } from "../store/schema.ts";

/** A sealed checkpoint; `timestampMs` is when it was due. */
export interface Block extends HeadRow {
  /** Hashes of its transactions, in the order they were applied. */
  transactions: readonly Hex[];
}

const ZERO_HASH: Hex = `0x${"0".repeat(64)}`;
const EMPTY_LIST_HASH: Hex = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";
const EMPTY_TRIE_ROOT: Hex = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";
const ZERO_ADDRESS: Hex = `0x${"0".repeat(40)}`;
const EMPTY_BLOOM: Hex = `0x${"0".repeat(512)}`;

/** Seals a block; its hash covers number, parent, time and transactions. */
export function sealBlock(
  number: number,
  parentHash: Hex,
  timestampMs: number,
  transactions: readonly Hex[],
): Block {
  const hash = hashOf([
    parentHash,
    uint64(number),
    uint64(timestampMs),
    ...transactions,
  ]);
  return { number, hash, parentHash, timestampMs, transactions };
}

function hashOf(fields: readonly Hex[]): Hex {
  const bytes = Uint8Array.fromHex(fields.map((field) => field.slice(2)).join(""));
  return `0x${keccak256(bytes).toHex()}`;
}

/** Eight bytes. */
function uint64(value: number): Hex {
  return `0x${value.toString(16).padStart(16, "0")}`;
}

/**
 * The block before the first checkpoint; its time is the start of the current slot. Its hash covers
 * the millisecond, so that two chains created in one slot differ.
 */
export function genesisBlock(nowMs: number): Block {
  const block = sealBlock(0, ZERO_HASH, nowMs - nowMs % SLOT_MS, []);
  return { ...block, hash: hashOf([block.hash, uint64(nowMs)]) };
}

/**
 * The header in Ethereum's format, as `newHeads` sends it, so that Ethereum clients can follow the
 * chain. They expect `timestamp` in seconds; `timestampMs` is exact. The chain has no state trie,
 * no gas and no proof of work: those members are zero.
 */
export function toHeader(block: Block) {
  return {
    number: toQuantity(block.number),
    hash: block.hash,
    parentHash: block.parentHash,
    timestamp: toQuantity(Math.floor(block.timestampMs / 1000)),
    timestampMs: block.timestampMs,
    // go-ethereum refuses a block without transactions that has another root than Ethereum's.
    transactionsRoot: block.transactions.length > 0 ? hashOf(block.transactions) : EMPTY_TRIE_ROOT,
    stateRoot: ZERO_HASH,
    receiptsRoot: ZERO_HASH,
    sha3Uncles: EMPTY_LIST_HASH,
    logsBloom: EMPTY_BLOOM,
    miner: ZERO_ADDRESS,
    difficulty: "0x0",
    gasLimit: "0x0",
    gasUsed: "0x0",
    baseFeePerGas: "0x0",
    extraData: "0x",
    mixHash: ZERO_HASH,
    nonce: uint64(0),
  };
}

/** The block as `eth_getBlockByNumber` returns it, with transaction hashes only. */
export function toEthereumBlock(block: Block) {
  return {
    ...toHeader(block),
    size: "0x0",
    totalDifficulty: "0x0",
    uncles: [],
    transactions: block.transactions,
  };
}

/** Sealed blocks that can be read, 409.6 s of them. The first block can always be read. */
const BLOCKS_KEPT = 4_096;

/** A position that {@link BlockLog.restore} can return to. */
export interface BlockLogPosition {
  head: Block;
  /** Transactions of the block that was not sealed yet. */
  pending: readonly Hex[];
}

interface BlockLogOptions {
  nowMs: number;
  /** When the chain was created, in Unix milliseconds. */
  createdAtMs: number;
  /** The block at which the chain stopped before. */
  resumeFrom: ResumePoint | undefined;
  /** The highest number that may be announced, so that none is reused after a crash. */
  reservedTo(): number;
}

/** The newest sealed blocks, and the transactions of the next one. */
export class BlockLog {
  readonly #genesis: Block;
  readonly #reservedTo: () => number;
  readonly #blocks = new Map<number, Block>();
  #head: Block;
  #pending: Hex[] = [];

  constructor({ nowMs, createdAtMs, resumeFrom, reservedTo }: BlockLogOptions) {
    this.#genesis = genesisBlock(createdAtMs);
    this.#reservedTo = reservedTo;
    this.#head = headOnStart(this.#genesis, resumeFrom, nowMs);
    this.#blocks.set(this.#head.number, this.#head);
  }

  get head(): Block {
    return this.#head;
  }

  get nextNumber(): number {
    return this.#head.number + 1;
  }

  get position(): BlockLogPosition {
    return { head: this.#head, pending: [...this.#pending] };
  }

  /** A sealed block; undefined if it never existed or is too old. */
  findBlock(number: number): Block | undefined {
    return number === 0 ? this.#genesis : this.#blocks.get(number);
  }

  add(txHash: Hex): void {
    this.#pending.push(txHash);
  }

  /**
   * Seals the next block.
   *
   * @returns Undefined if its number is not reserved yet: its transactions wait for a later block.
   */
  seal(dueMs: number): Block | undefined {
    if (this.nextNumber > this.#reservedTo()) return undefined;
    this.#head = sealBlock(this.nextNumber, this.#head.hash, dueMs, this.#pending);
    this.#pending = [];
    this.#blocks.set(this.#head.number, this.#head);
    this.#blocks.delete(this.#head.number - BLOCKS_KEPT);
    return this.#head;
  }

  /** Returns to an earlier position and deletes later blocks. */
  restore({ head, pending }: BlockLogPosition): void {
    for (const number of this.#blocks.keys()) if (number > head.number) this.#blocks.delete(number);
    this.#head = head;
    this.#pending = [...pending];
    this.#blocks.set(head.number, head);
  }
}

/** The newest block when a chain starts, numbered above all that may have been announced. */
function headOnStart(genesis: Block, resumeFrom: ResumePoint | undefined, nowMs: number): Block {
  if (resumeFrom === undefined) return genesis;
  const { head = genesis, announcedTo } = resumeFrom;
  const timestampMs = Math.max(head.timestampMs, nowMs - nowMs % SLOT_MS);
  return sealBlock(announcedTo + 1, head.hash, timestampMs, []);
}
