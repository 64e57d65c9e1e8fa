import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";

/** Settled theses and receipts that the ledger has dropped. No decision depends on them any more. */
export interface Archive {
  thesis(id: number): Thesis | undefined;
  receipt(txHash: Hex): Receipt | undefined;
  /** Theses with an id in `[fromId, toId)`, by id. */
  theses(fromId: number, toId: number): Thesis[];
  /** The lowest id of a thesis; undefined if there is none. */
  firstId(): number | undefined;
}

/** The archive of a chain in memory, whose ledger drops nothing. */
export const emptyArchive: Archive = {
  thesis: () => undefined,
  receipt: () => undefined,
  theses: () => [],
  firstId: () => undefined,
};
