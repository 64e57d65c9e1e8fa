import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { type Block, sealBlock } from "./block.ts";

/** Reserves block numbers before they are announced. */
export interface BlockNumbers {
  readonly reservedTo: number;
  /** Reserves more numbers if few are left from `nextNumber` on. */
  reserve(nextNumber: number): void;
}

/** The numbers of a chain in memory, which is never restarted. */
export const allNumbers: BlockNumbers = { reservedTo: Infinity, reserve: () => {} };

/** The position at which a stopped chain continues. */
export interface ResumePoint {
  /** The last block that is known. */
  head: Block;
  /** No block above this number was ever announced. */
  announcedTo: number;
}

/**
 * The newest block when a chain starts. If blocks after the last known one may have been announced,
 * it is a new block above all of them, so that the head never goes back.
 */
export function headOnStart(
  genesis: Block,
  resumeFrom: ResumePoint | undefined,
  nowMs: number,
): Block {
  if (resumeFrom === undefined) return genesis;
  const { head, announcedTo } = resumeFrom;
  if (head.number >= announcedTo) return head;
  const timestampMs = Math.max(head.timestampMs, nowMs - nowMs % SLOT_MS);
  return sealBlock(announcedTo + 1, head.hash, timestampMs, []);
}
