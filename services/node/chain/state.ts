import { type PricePoint, SLOT_MS, type TimeSpan } from "../../../lib/prices/price_slots.ts";
import { type Market, type MarketPair, Markets } from "../../../lib/protocol/markets.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import type { BackfillOracle } from "../../../lib/protocol/transaction.ts";
import type { Ledger } from "./ledger.ts";
import type { PriceHistory } from "./price_history.ts";
import type { JournalRecord, SettlementRecord, TransactionRecord } from "./journal.ts";
import { type Box, type Outcome, Settler } from "./settlement.ts";

/**
 * Ledger, price histories and unsettled theses. Only records change it, and they contain all
 * decisions, so that replaying a journal rebuilds the same state.
 */
export class ChainState {
  readonly ledger: Ledger;
  /** One per market. */
  readonly histories: ReadonlyMap<Market, PriceHistory>;
  readonly settler = new Settler();
  readonly #markets: Markets;

  constructor(ledger: Ledger, histories: ReadonlyMap<Market, PriceHistory>) {
    this.ledger = ledger;
    this.histories = histories;
    this.#markets = new Markets([...histories.keys()]);
  }

  /** Applies a record of a journal; those of the genesis and of block numbers change nothing. */
  apply(record: JournalRecord): void {
    if (record.kind === "settlement") this.applySettlement(record);
    if (record.kind === "transaction") this.applyTransaction(record);
    if (record.kind === "failure") this.ledger.recordFailure(record.receipt);
    if (record.kind === "dropped") this.ledger.applyDropped(record);
    if (record.kind === "deposits") this.ledger.applyDeposits(record.externalTxHashes);
  }

  /** @returns The thesis that the transaction opened, if any. */
  applyTransaction(record: TransactionRecord): Thesis | undefined {
    const thesis = this.ledger.apply(record);
    if (thesis !== undefined) this.settler.add(thesis);
    if (record.filled !== undefined && record.tx.type === "BackfillOracle") {
      this.#fill(record.tx, record.filled);
    }
    return thesis;
  }

  /** @returns The changed thesis. */
  applySettlement({ id, outcome, atMs }: SettlementRecord): Thesis {
    const thesis = this.ledger.settle(id, outcome, atMs);
    this.settler.record(thesis, outcome);
    return thesis;
  }

  /** Attempts to settle the thesis with the prices known now. */
  attempt(thesis: Thesis): Outcome {
    return this.settler.attempt(thesis, this.historyOf(thesis));
  }

  /** The first recorded price in the window of a thesis that is outside its range. */
  breachOf(box: Box & MarketPair): PricePoint | undefined {
    const range = { lower: box.lowerPrice, upper: box.upperPrice };
    return this.historyOf(box).checkRange(box.startTime, box.endTime, range).outside;
  }

  /** The slots that this transaction would fill: missing, and in the ring or needed by a thesis. */
  fillable(tx: BackfillOracle): TimeSpan[] {
    const history = this.historyOf(tx);
    const spans: TimeSpan[] = [];
    for (const { time, isNeeded } of this.#slotsOf(tx)) {
      if (!history.takes(time, isNeeded)) continue;
      const last = spans.at(-1);
      if (last?.to === time) last.to += SLOT_MS;
      else spans.push({ from: time, to: time + SLOT_MS });
    }
    return spans;
  }

  /** Deletes backfilled prices that no open thesis needs any more. */
  prune(): void {
    for (const [market, history] of this.histories) {
      if (history.backfilled.pages === 0) continue;
      history.backfilled.keepOnly(this.settler.neededSpans(market.base, market.quote));
    }
  }

  /** The market of a pair, or undefined. */
  marketOf({ base, quote }: MarketPair): Market | undefined {
    return this.#markets.find(base, quote);
  }

  /** The price history of a supported pair. */
  historyOf(pair: MarketPair): PriceHistory {
    const market = this.marketOf(pair);
    const history = market && this.histories.get(market);
    if (history !== undefined) return history;
    throw new TypeError(`Chain has no price history of ${pair.base} in ${pair.quote}`);
  }

  #fill(tx: BackfillOracle, filled: readonly TimeSpan[]): void {
    // A market that was in the settings when this was recorded, but no longer is.
    if (this.marketOf(tx) === undefined) return;
    const history = this.historyOf(tx);
    const last = filled.at(-1);
    if (last === undefined) return;
    // During a replay, the ring may be older than it was at the time of the decision.
    history.ring.skipTo(last.to - SLOT_MS);
    for (const { time, price, isNeeded } of this.#slotsOf(tx)) {
      const isFilled = filled.some((span) => time >= span.from && time < span.to);
      if (isFilled) history.fill(time, price, isNeeded);
    }
    const { base, quote } = tx;
    this.settler.retryWhere(base, quote, { from: filled[0]!.from, to: last.to }); // not empty
  }

  /** The slots of a transaction, each with whether an open thesis needs it. */
  *#slotsOf(tx: BackfillOracle) {
    const end = tx.startTime + tx.prices.length * SLOT_MS;
    const needed = this.settler.neededSpans(tx.base, tx.quote)
      .filter((window) => window.from < end && window.to > tx.startTime);
    for (const [index, price] of tx.prices.entries()) {
      const time = tx.startTime + index * SLOT_MS;
      const isNeeded = needed.some((window) => time >= window.from && time < window.to);
      yield { time, price, isNeeded };
    }
  }
}

/** Makes a history for each market. */
export function historiesOf(
  { list }: Markets,
  make: (market: Market) => PriceHistory,
): Map<Market, PriceHistory> {
  return new Map(list.map((market) => [market, make(market)]));
}
