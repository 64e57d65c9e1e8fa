import { type PricePoint, SLOT_MS, type TimeSpan } from "../../../lib/prices/price_slots.ts";
import { type Market, type MarketPair, Markets } from "../../../lib/protocol/markets.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import type { BackfillOracle } from "../../../lib/protocol/transaction.ts";
import { BreachWatch } from "./breaches.ts";
import type { AppliedTransaction, Ledger } from "./ledger.ts";
import type { PriceHistory } from "./price_history.ts";
import type { ChainRecords, Unsettled } from "./records.ts";
import { type Box, type Outcome, Settler } from "./settlement.ts";

/** Parts of a {@link ChainState}. */
export interface StateParts {
  ledger: Ledger;
  /** One per market. */
  histories: ReadonlyMap<Market, PriceHistory>;
  unsettled: Iterable<Unsettled>;
  records: ChainRecords;
}

/** Ledger, price histories and unsettled theses. */
export class ChainState {
  readonly ledger: Ledger;
  readonly histories: ReadonlyMap<Market, PriceHistory>;
  readonly settler = new Settler();
  readonly #markets: Markets;
  readonly #records: ChainRecords;
  readonly #breaches: ReadonlyMap<Market, BreachWatch>;

  constructor({ ledger, histories, unsettled, records }: StateParts) {
    this.ledger = ledger;
    this.histories = histories;
    this.#records = records;
    this.#markets = new Markets([...histories.keys()]);
    this.#breaches = new Map([...histories.keys()].map((market) => [market, new BreachWatch()]));
    for (const each of unsettled) {
      this.#watch(each);
      // A price may have broken it that was recorded before a rollback.
      this.settler.retry(each.thesis.id);
    }
  }

  /** @returns The thesis that the transaction opened, if any. */
  applyTransaction(applied: AppliedTransaction): Thesis | undefined {
    const thesis = this.ledger.apply(applied);
    if (thesis !== undefined) this.#watch({ thesis });
    return thesis;
  }

  /** Settles a thesis, or records what it lacks. @returns The changed thesis. */
  settle(id: number, outcome: Outcome, atMs: number): Thesis {
    const thesis = this.ledger.settle(id, outcome, atMs);
    this.settler.record(thesis, outcome);
    if (outcome.status !== "needs_backfill") this.#breachesOf(thesis)?.remove(id);
    return thesis;
  }

  /** Records the price of a slot. The theses that it breaks are due at once. */
  recordPrice(market: Market, time: number, price: bigint): void {
    this.histories.get(market)?.ring.append(time, price);
    for (const { id } of this.#breaches.get(market)?.broken(time, price) ?? []) {
      this.settler.retry(id);
    }
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

  /** Fills the slots in these spans. The theses that need them are due at once. */
  fill(tx: BackfillOracle, filled: readonly TimeSpan[]): void {
    const [first, last] = [filled[0], filled.at(-1)];
    if (first === undefined || last === undefined) return;
    const history = this.historyOf(tx);
    const market = this.marketOf(tx)!; // it has a history
    const pages = new Set<number>();
    for (const { time, price, isNeeded } of this.#slotsOf(tx)) {
      if (!filled.some((span) => time >= span.from && time < span.to)) continue;
      const { inRing, page } = history.fill(time, price, isNeeded);
      if (inRing) this.#records.saveFilledSlot(market, time);
      if (page !== undefined) pages.add(page);
    }
    for (const page of pages) {
      this.#records.saveBackfilled(market, page, history.backfilled.page(page)!); // just filled
    }
    this.settler.retryWhere(tx.base, tx.quote, { from: first.from, to: last.to });
  }

  /** Deletes backfilled prices that no open thesis needs any more. */
  prune(): void {
    for (const [market, { backfilled }] of this.histories) {
      if (backfilled.pages === 0) continue;
      const needed = this.settler.neededSpans(market.base, market.quote);
      for (const page of backfilled.keepOnly(needed)) this.#records.dropBackfilled(market, page);
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

  #watch(unsettled: Unsettled): void {
    this.settler.add(unsettled);
    this.#breachesOf(unsettled.thesis)?.add(unsettled.thesis);
  }

  #breachesOf(pair: MarketPair): BreachWatch | undefined {
    const market = this.marketOf(pair);
    return market && this.#breaches.get(market);
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
