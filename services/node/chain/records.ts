import type { TimeSpan } from "../../../lib/prices/price_slots.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { RangemakerError } from "../../../lib/errors.ts";

/** USDC with 6 decimals of one address. */
export interface Funds {
  balance: bigint;
  /** In unsettled theses. */
  locked: bigint;
}

/** A thesis that still locks money. */
export interface Unsettled {
  thesis: Thesis;
  /** Spans without prices that the last settlement attempt found; undefined before the first. */
  missing?: TimeSpan[] | undefined;
}

/** How a thesis was settled. */
export type Decision = Pick<Thesis, "status" | "settledAt" | "breach">;

/** Values that every change may change. */
export interface Counters {
  /** The highest id of a thesis that was ever opened. */
  lastThesisId: number;
  /** All money ever received: genesis and deposits. */
  issued: bigint;
}

/**
 * The rows of a chain. The ledger has accounts and unsettled theses in memory, too; everything else
 * is looked up here.
 */
export interface ChainRecords {
  /** Everything older was deleted: settled theses and receipts. Unix milliseconds. */
  readonly droppedBeforeMs: number;
  receipt(txHash: Hex): Receipt | undefined;
  settledThesis(id: number): Thesis | undefined;
  /** Settled theses with an id in `[fromId, toId)`, by id. */
  settledTheses(fromId: number, toId: number): Thesis[];
  /** The lowest id of a settled thesis that was not deleted. */
  firstSettledId(): number | undefined;
  /** Whether the quote has opened a thesis that was not deleted. */
  isQuoteUsed(quoteHash: Hex): boolean;
  /** Whether a deposit of this external transaction was credited. Never forgotten. */
  isDeposited(externalTxHash: Hex): boolean;

  saveFunds(address: Address, funds: Funds): void;
  saveReceipt(receipt: Receipt, atMs: number): void;
  saveDeposit(externalTxHash: Hex): void;
  saveQuote(quoteHash: Hex, thesisId: number): void;
  /** Saves a new thesis. */
  saveOpened(thesis: Thesis): void;
  /** Saves which prices an unsettled thesis lacks. */
  saveMissing(thesisId: number, missing: TimeSpan[]): void;
  saveDecision(thesisId: number, decision: Decision): void;
  saveCounters(counters: Counters): void;
  /** Saves backfilled prices, see `BackfilledSlots`. */
  saveBackfilled(market: Market, page: number, prices: BigUint64Array): void;
  dropBackfilled(market: Market, page: number): void;
  /** A slot of the market's ring was filled. */
  saveFilledSlot(market: Market, time: number): void;
}

/** The chain cannot be read or written. */
export class StorageError extends RangemakerError {
  /** Nothing is written again before the node is restarted. */
  readonly isFinal: boolean;

  constructor(message: string, options: { cause?: unknown; isFinal?: boolean } = {}) {
    super("STORAGE", message, { cause: options.cause });
    this.isFinal = options.isFinal ?? false;
  }
}
