import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import type { ResumePoint } from "../store/chain_records.ts";
import { type Block, genesisBlock, sealBlock } from "./block.ts";

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

  /** The newest sealed block. */
  get head(): Block {
    return this.#head;
  }

  /** Number of the block that is sealed next. */
  get nextNumber(): number {
    return this.#head.number + 1;
  }

  get position(): BlockLogPosition {
    return { head: this.#head, pending: [...this.#pending] };
  }

  /** A sealed block; undefined if it never existed or is too old. */
  block(number: number): Block | undefined {
    return number === 0 ? this.#genesis : this.#blocks.get(number);
  }

  /** Adds a transaction to the next block. */
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
