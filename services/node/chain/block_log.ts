import type { Hex } from "../../../lib/protocol/scalars.ts";
import { type Block, genesisBlock, sealBlock } from "./block.ts";

/** Sealed blocks that can be read: those of the last 409.6 s. */
export const BLOCKS_KEPT = 4_096;

/** Where a stopped chain continues. */
export interface ResumePoint {
  head: Block;
  /** Number of the next block: higher than any number that was ever published. */
  nextNumber: number;
}

/** A moment that {@link BlockLog.restore} can go back to. */
export interface BlockLogPosition extends ResumePoint {
  /** Transactions of the block that was not sealed yet. */
  pending: readonly Hex[];
}

/** The newest sealed blocks, and the transactions of the next one. */
export class BlockLog {
  readonly #blocks = new Map<number, Block>();
  #head: Block;
  #nextNumber: number;
  #pending: Hex[] = [];

  /** @param resumeFrom Where the chain stopped before; a new genesis block by default. */
  constructor(nowMs: number, resumeFrom?: ResumePoint) {
    this.#head = resumeFrom?.head ?? genesisBlock(nowMs);
    this.#nextNumber = resumeFrom?.nextNumber ?? 1;
    this.#blocks.set(this.#head.number, this.#head);
  }

  /** The newest sealed block. */
  get head(): Block {
    return this.#head;
  }

  /** Number of the block that is sealed next. */
  get nextNumber(): number {
    return this.#nextNumber;
  }

  /** Where the log is now. */
  get position(): BlockLogPosition {
    return { head: this.#head, nextNumber: this.#nextNumber, pending: [...this.#pending] };
  }

  /** A sealed block; undefined if it never existed or is too old. */
  block(number: number): Block | undefined {
    return this.#blocks.get(number);
  }

  /** Adds a transaction to the next block. */
  add(txHash: Hex): void {
    this.#pending.push(txHash);
  }

  /** Seals the next block. */
  seal(dueMs: number): Block {
    this.#head = sealBlock(this.#nextNumber, this.#head.hash, dueMs, this.#pending);
    this.#nextNumber += 1;
    this.#pending = [];
    this.#blocks.set(this.#head.number, this.#head);
    this.#blocks.delete(this.#head.number - BLOCKS_KEPT);
    return this.#head;
  }

  /** Goes back to an earlier moment; later blocks are deleted. */
  restore({ head, nextNumber, pending }: BlockLogPosition): void {
    for (const number of this.#blocks.keys()) if (number > head.number) this.#blocks.delete(number);
    this.#head = head;
    this.#nextNumber = nextNumber;
    this.#pending = [...pending];
    this.#blocks.set(head.number, head);
  }
}
