import type { Clock } from "../../../lib/clock.ts";
import { appendSpan, type PricePoint, type TimeSpan } from "../../../lib/prices/price_slots.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import type { Box } from "../../../lib/protocol/bet.ts";
import { type Market, type MarketPair, Markets } from "../../../lib/protocol/markets.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import type { BackfillOracle } from "../../../lib/protocol/transaction.ts";
import type { ChainRecords } from "../store/chain_records.ts";
import type { PermissionLists } from "../store/schema.ts";
import { type EvaluatedTransaction, Ledger } from "./ledger.ts";
import { MarketHistory } from "./price_history.ts";
import { decideOutcome, isFinalAt, type Outcome, SettlementSchedule } from "./settlement.ts";

/** Longest slice of settlement: a checkpoint must not wait for all theses that end together. */
const SETTLEMENT_SLICE_MS = 3;

/** Most attempts in a slice. */
export const SETTLEMENTS_PER_SLICE = 500;

/** Attempts between two checks of the clock. */
const SETTLEMENTS_PER_CHECK = 25;

/** The state of a chain, loaded from its records: ledger, price histories and settlements. */
export class ChainState {
  readonly ledger: Ledger;
  readonly histories: ReadonlyMap<Market, MarketHistory>;
  readonly settlements: SettlementSchedule;
  readonly #markets: Markets;
  readonly #records: ChainRecords;

  constructor(records: ChainRecords, permissions: PermissionLists) {
    const { rings } = records.prices;
    this.#records = records;
    this.ledger = new Ledger(records, permissions);
    this.settlements = new SettlementSchedule(this.ledger.unsettled);
    this.#markets = new Markets([...rings.keys()]);
    this.histories = new Map(
      Array.from(rings, ([market, ring]) => [market, new MarketHistory(ring)]),
    );
    for (const { symbol, page, prices } of records.backfilledPages()) {
      const market = this.#markets.list.find((market) => market.symbol === symbol);
      if (market !== undefined) this.histories.get(market)?.backfilled.restore(page, prices);
    }
    for (const { thesis } of this.ledger.unsettled.values()) {
      this.#watch(thesis);
      // A price recorded before a rollback may have broken it.
      this.settlements.makeDue(thesis.id);
    }
  }

  /** Applies a committed transaction. @returns The thesis that it opened, if any. */
  applyTransaction(evaluated: EvaluatedTransaction, atMs: number): Thesis | undefined {
    const { tx, fillableSpans } = evaluated;
    const thesis = this.ledger.apply(evaluated, atMs);
    if (thesis !== undefined) this.#watch(thesis);
    if (tx.type === "BackfillOracle" && fillableSpans !== undefined) this.fill(tx, fillableSpans);
    return thesis;
  }

  /**
   * Settles a thesis, or records which prices it lacks.
   *
   * @returns The changed thesis; undefined if its status is as before.
   */
  applyOutcome({ id, status }: Thesis, outcome: Outcome, atMs: number): Thesis | undefined {
    const thesis = this.ledger.applyOutcome(id, outcome, atMs);
    return thesis.status === status ? undefined : thesis;
  }

  /**
   * Settles due theses that have an outcome, for {@link SETTLEMENT_SLICE_MS}.
   *
   * @returns The changed theses.
   */
  settleDueSlice(nowMs: number, clock: Clock): Thesis[] {
    const changed: Thesis[] = [];
    const startMs = clock.now();
    for (let attempts = 0; attempts < SETTLEMENTS_PER_SLICE; attempts += SETTLEMENTS_PER_CHECK) {
      for (const thesis of this.settlements.removeDue(nowMs, SETTLEMENTS_PER_CHECK)) {
        const outcome = this.outcomeOf(thesis);
        if (!isFinalAt(outcome, thesis, nowMs)) continue;
        if (!this.settlements.isNewOutcome(thesis, outcome)) continue;
        const settled = this.applyOutcome(thesis, outcome, nowMs);
        if (settled !== undefined) changed.push(settled);
      }
      if (clock.now() - startMs >= SETTLEMENT_SLICE_MS || !this.settlements.isDue(nowMs)) break;
    }
    return changed;
  }

  /** Records the price of a slot, or that it has none. Theses that it breaks are due at once. */
  recordPrice(market: Market, time: number, price: bigint | undefined): void {
    const { ring, breaches } = this.historyOf(market);
    if (price === undefined) return ring.skipTo(time);
    ring.append(time, price);
    for (const { id } of breaches.removeBroken(time, price)) {
      this.settlements.makeDue(id);
    }
  }

  /** The outcome of a thesis by the prices known now. */
  outcomeOf(thesis: Thesis): Outcome {
    const { missing } = this.ledger.unsettled.get(thesis.id) ?? {};
    return decideOutcome(this.historyOf(thesis), thesis, missing);
  }

  /** The first recorded price in the window of a thesis that is outside its range. */
  breachOf(box: Box & MarketPair): PricePoint | undefined {
    const range = { lower: box.lowerPrice, upper: box.upperPrice };
    return this.historyOf(box).checkRange(box.startTime, box.endTime, range).outside;
  }

  /** The slots that this transaction would fill: missing, and in the ring or needed by a thesis. */
  fillable(tx: BackfillOracle): { spans: TimeSpan[]; slots: number } {
    const history = this.historyOf(tx);
    const spans: TimeSpan[] = [];
    let slots = 0;
    for (const { time, isNeeded } of this.#toSlots(tx)) {
      if (!history.canFill(time, isNeeded)) continue;
      slots += 1;
      appendSpan(spans, { from: time, to: time + SLOT_MS });
    }
    return { spans, slots };
  }

  /** Fills the slots in these spans. The theses that need them are due at once. */
  fill(tx: BackfillOracle, filled: readonly TimeSpan[]): void {
    const [first, last] = [filled[0], filled.at(-1)];
    if (first === undefined || last === undefined) return;
    const { backfilled } = this.historyOf(tx);
    const { symbol } = this.marketOf(tx)!; // it has a history
    const pages = new Set<number>();
    const isFilled = createSpanScan(filled);
    for (const { time, price } of this.#toSlots(tx)) {
      if (isFilled(time)) pages.add(backfilled.put(time, price));
    }
    for (const page of pages) this.#records.saveBackfilled(symbol, page, backfilled.page(page));
    this.settlements.makeDueWhere(tx, { from: first.from, to: last.to });
  }

  /** Deletes backfilled prices that are older than the ring and that no open thesis needs. */
  prune(): void {
    for (const [market, history] of this.histories) {
      if (history.backfilled.pages === 0) continue;
      for (const page of history.prune(this.settlements.neededSpans(market))) {
        this.#records.saveBackfilled(market.symbol, page, undefined);
      }
    }
  }

  /** How many slots up to a time lack the price that an unsettled thesis needs, by market. */
  *neededSlots(untilMs: number): Iterable<[market: Market, slots: number]> {
    for (const [market, history] of this.histories) {
      const missingMs = this.settlements.undecidedSpans(market)
        .flatMap(({ from, to }) => history.checkRange(from, Math.min(to, untilMs + 1)).missing)
        .reduce((sum, gap) => sum + gap.to - gap.from, 0);
      yield [market, missingMs / SLOT_MS];
    }
  }

  marketOf({ base, quote }: MarketPair): Market | undefined {
    return this.#markets.find(base, quote);
  }

  historyOf(pair: MarketPair): MarketHistory {
    const market = this.marketOf(pair);
    const history = market && this.histories.get(market);
    if (history !== undefined) return history;
    throw new TypeError(`Chain has no price history of ${pair.base} in ${pair.quote}`);
  }

  #watch(thesis: Thesis): void {
    this.settlements.add(thesis);
    this.historyOf(thesis).breaches.add(thesis);
  }

  /** The slots of a transaction, each with whether an open thesis needs it. */
  *#toSlots(tx: BackfillOracle) {
    const isNeeded = createSpanScan(this.settlements.neededSpans(tx));
    for (const [index, price] of tx.prices.entries()) {
      const time = tx.startTime + index * SLOT_MS;
      yield { time, price, isNeeded: isNeeded(time) };
    }
  }
}

/** Creates a check of times against spans, which are in order. Each call is for a later time. */
function createSpanScan(spans: readonly TimeSpan[]): (time: number) => boolean {
  let next = 0;
  return (time) => {
    while ((spans[next]?.to ?? Infinity) <= time) next += 1;
    return (spans[next]?.from ?? Infinity) <= time;
  };
}
