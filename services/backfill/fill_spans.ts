import type { Clock } from "../../lib/clock.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import { EXCHANGE_HISTORY_PROVIDER } from "../../lib/net/exchange_history.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { slotAtOrAfter, type TimeSpan } from "../../lib/prices/price_slots.ts";
import { exchangeSymbol, type Market } from "../../lib/protocol/markets.ts";
import { BACKFILL_SLOTS_MAX, SLOT_MS } from "../../lib/protocol/constants.ts";
import { signTransactionBy, type TransactionSigner } from "../../lib/protocol/transaction.ts";
import type { PastTrade, TradeSource } from "./trade_history.ts";

interface FillOptions {
  client: Pick<CoreClient, "sendTransaction">;
  signer: TransactionSigner;
  chainId: number;
  trades: TradeSource;
  clock: Clock;
  /** How long a trade provides the price of the slots after it, in milliseconds. */
  maxCarryMs: number;
  /** Called for each gap. What it returns throws if prices must not be filled there. */
  compareWithin?(gap: TimeSpan): Promise<(prices: readonly bigint[]) => void>;
  /** Checked before each batch: no batch starts once it is true. */
  isStopping(): boolean;
  /** Called after each batch, in slots. */
  onProgress(doneSlots: number, totalSlots: number): void;
}

export interface SpanReport {
  span: TimeSpan;
  filledSlots: number;
  /** Slots without a trade: they stay missing. */
  slotsWithoutTrade: number;
  /**
   * Slots that the node refused: too old for the ring and needed by no open thesis, or recorded. The
   * last of many missing spans also covers recorded slots.
   */
  slotsRefused: number;
}

/**
 * Fills missing price slots from trades in batches of up to ten minutes, each in its own
 * transaction. Filled slots stay filled, so a new run after an interruption does the rest.
 *
 * @param spans Aligned to slots of 100 ms.
 * @throws {ExchangeHistoryError} If the exchange has no trades for them, or wrong ones.
 * @throws {RangemakerError} If the node refuses them.
 * @throws {NodeUnreachableError} If the node does not answer.
 */
export async function fillSpans(
  market: Market,
  spans: readonly TimeSpan[],
  options: FillOptions,
): Promise<SpanReport[]> {
  const { trades, maxCarryMs, compareWithin, isStopping, onProgress } = options;
  const symbol = exchangeSymbol(market, EXCHANGE_HISTORY_PROVIDER);
  const totalSlots = spans.reduce((sum, span) => sum + slotsIn(span), 0);
  const reports: SpanReport[] = [];
  let doneSlots = 0;
  for (const span of spans) {
    const report = { span, filledSlots: 0, slotsWithoutTrade: 0, slotsRefused: 0 };
    reports.push(report);
    const compare = await compareWithin?.(span);
    for (const batch of toBatches(span)) {
      if (isStopping()) return reports;
      const from = Math.max(0, batch.from - maxCarryMs);
      const runs = await slotPrices(trades(symbol, { from, to: batch.to }), batch, maxCarryMs);
      compare?.(runs.flatMap(({ prices }) => prices));
      report.slotsWithoutTrade += slotsIn(batch);
      for (const run of runs) {
        const filledSlots = await submit(market, run, options);
        report.filledSlots += filledSlots;
        report.slotsRefused += run.prices.length - filledSlots;
        report.slotsWithoutTrade -= run.prices.length;
      }
      doneSlots += slotsIn(batch);
      onProgress(doneSlots, totalSlots);
    }
  }
  return reports;
}

/** @returns Number of filled slots. */
async function submit(
  { base, quote }: Market,
  { startTime, prices }: SlotRun,
  { client, signer, chainId, clock }: FillOptions,
): Promise<number> {
  const { tx } = await signTransactionBy(
    {
      type: "BackfillOracle" as const,
      timestamp: clock.now(),
      from: signer.address,
      base,
      quote,
      startTime,
      prices,
    },
    signer,
    chainId,
  );
  const { error, filledSlots = 0 } = await client.sendTransaction(tx);
  if (error !== undefined) {
    const { code, message } = error;
    throw new RangemakerError(code, `Backfill refused with ${code}: ${message}`);
  }
  return filledSlots;
}

function* toBatches({ from, to }: TimeSpan): Generator<TimeSpan> {
  const batchMs = BACKFILL_SLOTS_MAX * SLOT_MS;
  for (let start = from; start < to; start += batchMs) {
    yield { from: start, to: Math.min(to, start + batchMs) };
  }
}

function slotsIn({ from, to }: TimeSpan): number {
  return (to - from) / SLOT_MS;
}

/** Consecutive slots with their prices, as one `BackfillOracle` contains them. */
interface SlotRun {
  /** Unix milliseconds, a multiple of 100. */
  startTime: number;
  prices: bigint[];
}

/**
 * Computes slot prices from trades. The price of a slot is that of the last trade at or before its
 * start, as the node would have seen it, if that trade is at most `maxCarryMs` old. Slots without
 * such a trade are omitted.
 *
 * @param trades In order of time, starting `maxCarryMs` before the span.
 */
export async function slotPrices(
  trades: AsyncIterable<PastTrade>,
  span: TimeSpan,
  maxCarryMs: number,
): Promise<SlotRun[]> {
  const runs: SlotRun[] = [];
  let time = slotAtOrAfter(span.from) * SLOT_MS;
  let last: PastTrade | undefined;
  const fillBefore = (endMs: number) => {
    for (; time < endMs; time += SLOT_MS) {
      if (last === undefined || time - last.time > maxCarryMs) continue;
      const run = runs.at(-1);
      if (run !== undefined && run.startTime + run.prices.length * SLOT_MS === time) {
        run.prices.push(last.price);
      } else runs.push({ startTime: time, prices: [last.price] });
    }
  };
  for await (const trade of trades) {
    fillBefore(Math.min(trade.time, span.to));
    last = trade;
  }
  fillBefore(span.to);
  return runs;
}
