/** How often boxes are placed, on the prices of the simulated exchanges. */
import assert from "node:assert/strict";
import { SLOT_MS } from "../../../../lib/protocol/constants.ts";
import { SPEC_MARKETS } from "../../../../lib/protocol/markets.ts";
import type { Bet } from "../../../../lib/protocol/bet.ts";
import { seededRandom } from "../../../../lib/random.ts";
import { simulatedTrades } from "../../../../services/exchanges/simulation.ts";
import { PriceSeries } from "../../../../services/console/page/data/price_series.ts";
import { DraftStore } from "../../../../services/console/page/trade/draft_store.ts";
import { betFromDraft } from "../../../../services/console/page/trade/draft.ts";
import { suggestedDraft } from "../../../../services/console/page/trade/suggested_draft.ts";
import { isWithinTolerance } from "../../../../services/console/page/data/odds.ts";
import { AGGREGATIONS } from "../../../../services/oracle/aggregation.ts";
import { TapeMarket } from "../../../../services/solver/backtest/strategy_maker.ts";
import { BarrierStrategy } from "../../../../services/solver/pricing/barrier_strategy.ts";
import { MarketVolatility } from "../../../../services/solver/pricing/volatility.ts";
import { PricingRefusedError } from "../../../../services/solver/pricing/strategy.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryStore } from "../../support.ts";

const { median } = AGGREGATIONS;

const AMOUNT = 10_000_000n;
const [MINUTES, WARM_UP_MS, EVERY_MS] = [4, 20_000, 2_300];

/** How long quotes are looked at before signing: by readers, and by users of screen readers. */
const READ_MS = [1_000, 4_000] as const;
const HEARD_MS = [6_000, 16_000] as const;

/** Suggests boxes again and again, each signed some time after its quote. */
function suggestAndSign(
  symbol: string,
  seed: number,
  tolerancePercent: number,
  [fromMs, toMs]: readonly [number, number],
) {
  const clock = new FakeClock(1_700_000_000_000);
  const startMs = clock.now();
  const random = seededRandom(seed);
  const trades = simulatedTrades({ markets: [symbol], random, startMs, tradesPerSecond: 5 });
  const { base, quote } = SPEC_MARKETS.bySymbol(symbol) ?? assert.fail(symbol);
  const volatility = new MarketVolatility({ volatilityFloor: 0.1, volatilityHistoryMs: 2_000 });
  const market = new TapeMarket(volatility, SLOT_MS);
  const strategy = new BarrierStrategy({
    market: () => market,
    clock,
    margin: 0.05,
    userLeadMs: 0,
    maxPriceAgeMs: 2_000,
    minDurationMs: 1_000,
    minWidthTicks: 4,
  });
  const series = new PriceSeries();
  const newest = new Map<string, bigint>();
  const signed: { atMs: number; bet: Bet; payout: bigint }[] = [];
  const found = { quotes: 0, placed: 0, payouts: 0, likely: 0 };
  /** Undefined for a box without a price, which is treated as not placed. */
  const priceOf = (bet: Bet) => {
    try {
      return strategy.price(bet);
    } catch (thrown) {
      if (thrown instanceof PricingRefusedError) return undefined;
      throw thrown;
    }
  };
  const isPlaced = (bet: Bet, payout: bigint) => {
    try {
      strategy.recheck(bet, payout, { isRecorded: false });
      return true;
    } catch {
      const next = { ...bet, payout: priceOf(bet)?.payout ?? 0n };
      return isWithinTolerance(next, { payout }, tolerancePercent);
    }
  };
  let trade = trades.next().value;
  while (clock.now() < startMs + MINUTES * 60_000) {
    clock.jump(SLOT_MS);
    const nowMs = clock.now();
    for (; trade.timeMs < nowMs; trade = trades.next().value) {
      newest.set(trade.provider, trade.price);
    }
    if (newest.size < 3) continue;
    const price = median([...newest.values()]);
    market.observe({ timeMs: nowMs, price: Number(price) });
    series.append(nowMs - SLOT_MS, Number(price) / 1e6);
    while (signed[0] !== undefined && signed[0].atMs <= nowMs) {
      const { bet, payout } = signed.shift()!; // the loop's condition
      if (isPlaced(bet, payout)) found.placed += 1;
    }
    if (nowMs < startMs + WARM_UP_MS || (nowMs - startMs) % EVERY_MS !== 0) continue;
    const draft = suggestedDraft(price, series.secondMove());
    const { symbol: _, deadline: __, ...terms } = betFromDraft(symbol, draft, AMOUNT, nowMs);
    const bet: Bet = { ...terms, thesisType: "box", base, quote };
    found.quotes += 1;
    const priced = priceOf(bet);
    if (priced === undefined) continue;
    const { payout, details } = priced;
    found.payouts += Number(payout) / Number(AMOUNT);
    if ((details?.probability ?? 0) > 0.5) found.likely += 1;
    const atMs = nowMs + fromMs + found.quotes * 700 % (toMs - fromMs);
    signed.push({ atMs, bet, payout });
  }
  found.quotes -= signed.length; // still being looked at
  return found;
}

Deno.test("suggestedDraft: with the default tolerance, most boxes are placed, likely to win and pay well", () => {
  const { tolerancePercent } = new DraftStore(memoryStore(), new FakeClock());
  for (const symbol of SPEC_MARKETS.symbols) {
    const runsOf = (readMs: typeof READ_MS | typeof HEARD_MS) =>
      [1, 2, 3].map((seed) => suggestAndSign(symbol, seed, tolerancePercent, readMs));
    const [runs, heard] = [runsOf(READ_MS), runsOf(HEARD_MS)];
    const sum = (name: keyof typeof runs[number]) => runs.reduce((sum, run) => sum + run[name], 0);
    const [quotes, placed, likely] = [sum("quotes"), sum("placed"), sum("likely")];
    assert(quotes > 200, `${symbol}: ${quotes} quotes`);
    assert(placed >= 0.92 * quotes, `${symbol}: ${placed} of ${quotes} placed`);
    const [asked, taken] = [
      heard.reduce((sum, { quotes }) => sum + quotes, 0),
      heard.reduce((sum, { placed }) => sum + placed, 0),
    ];
    assert(taken >= 0.7 * asked, `${symbol}: ${taken} of ${asked} placed that were heard`);
    assert(likely >= 0.7 * quotes, `${symbol}: ${likely} of ${quotes} more likely won than lost`);
    const mean = sum("payouts") / quotes;
    assert(mean > 1.5 && mean < 2.5, `${symbol}: pays × ${mean}`);
  }
});
