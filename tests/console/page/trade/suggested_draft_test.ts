/** How often boxes are placed, on the prices of the simulated exchanges. */
import assert from "node:assert/strict";
import { SLOT_MS } from "../../../../lib/protocol/constants.ts";
import { SPEC_MARKETS } from "../../../../lib/protocol/markets.ts";
import type { Bet } from "../../../../lib/protocol/bet.ts";
import { seededRandom } from "../../../../lib/random.ts";
import { simulatedTrades } from "../../../../services/exchanges/simulation.ts";
import { PriceSeries } from "../../../../services/console/page/data/price_series.ts";
import { DraftStore } from "../../../../services/console/page/trade/draft_store.ts";
import { betFromDraft, type Draft } from "../../../../services/console/page/trade/draft.ts";
import { suggestedDraft } from "../../../../services/console/page/trade/suggested_draft.ts";
import {
  estimateBox,
  isWithinTolerance,
  refusalWarning,
} from "../../../../services/console/page/trade/odds.ts";
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

/** Makes a box, for a price and the standard deviation of its change in a second. */
type BoxMaker = (price: bigint, move: number | undefined, random: () => number) => Draft;

/** Makes boxes again and again, each signed some time after its quote. */
async function makeAndSign(
  symbol: string,
  seed: number,
  tolerancePercent: number,
  [fromMs, toMs]: readonly [number, number],
  makeBox: BoxMaker = (price, move) => suggestedDraft(price, move),
) {
  const clock = new FakeClock(1_700_000_000_000);
  const startMs = clock.now();
  const random = seededRandom(seed);
  const trades = simulatedTrades({ markets: [symbol], random, startMs, tradesPerSecond: 5 });
  const { base, quote } = SPEC_MARKETS.findBySymbol(symbol) ?? assert.fail(symbol);
  const volatility = new MarketVolatility({ floor: 0.1, minHistoryMs: 2_000 });
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
  const signed: { atMs: number; bet: Bet; payout: bigint; isWarned: boolean }[] = [];
  const found = { quotes: 0, placed: 0, payouts: 0, likely: 0, warned: 0, warnedPlaced: 0 };
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
      const { bet, payout, isWarned } = signed.shift()!; // the loop's condition
      if (isWarned) found.warned += 1;
      if (!isPlaced(bet, payout)) continue;
      found.placed += 1;
      if (isWarned) found.warnedPlaced += 1;
    }
    if (nowMs < startMs + WARM_UP_MS || (nowMs - startMs) % EVERY_MS !== 0) continue;
    const move = series.secondMove();
    const asked = betFromDraft(symbol, makeBox(price, move, random), AMOUNT, nowMs);
    const termsOf = ({ symbol: _, deadline: __, ...terms }: typeof asked): Bet => (
      { ...terms, thesisType: "box", base, quote }
    );
    const bet = termsOf(asked);
    found.quotes += 1;
    const priced = priceOf(bet);
    if (priced === undefined) continue;
    const { payout, details } = priced;
    found.payouts += Number(payout) / Number(AMOUNT);
    if ((details?.probability ?? 0) > 0.5) found.likely += 1;
    const estimate = await estimateBox(asked, (bet) => {
      const { payout } = strategy.price(termsOf(bet));
      return Promise.resolve({ betAmount: AMOUNT, payout, multiplier: "", solverCollateral: 0n });
    }, { price, move });
    const isWarned = refusalWarning(estimate, tolerancePercent) !== undefined;
    const atMs = nowMs + fromMs + found.quotes * 700 % (toMs - fromMs);
    signed.push({ atMs, bet, payout, isWarned });
  }
  found.quotes -= signed.length; // still being looked at
  return found;
}

Deno.test("suggestedDraft: with the default tolerance, most boxes are placed, likely to win and pay well", async () => {
  const { tolerancePercent } = new DraftStore(memoryStore(), new FakeClock());
  for (const symbol of SPEC_MARKETS.symbols) {
    const runsOf = (readMs: typeof READ_MS | typeof HEARD_MS) =>
      Promise.all([1, 2, 3].map((seed) => makeAndSign(symbol, seed, tolerancePercent, readMs)));
    const [runs, heard] = [await runsOf(READ_MS), await runsOf(HEARD_MS)];
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
    assert(sum("warned") <= 0.05 * quotes, `${symbol}: ${sum("warned")} warnings`);
  }
});

/** Of any length, height and distance from the price, which is inside. */
const makeAnyBox: BoxMaker = (price, move, random) => {
  const oneOf = (values: readonly number[]) => values[Math.floor(random() * values.length)] ?? 0;
  const durationMs = oneOf([2_000, 5_000, 10_000, 20_000, 60_000]);
  const startsInMs = oneOf([8_000, 15_000, 30_000]);
  const { lowerPrice, upperPrice } = suggestedDraft(price, move, { startsInMs, durationMs });
  const height = Number(upperPrice - lowerPrice) * oneOf([0.3, 0.6, 1, 1.6]);
  const lower = price - BigInt(Math.round(height * (0.15 + 0.7 * random())));
  return {
    lowerPrice: lower,
    upperPrice: lower + BigInt(Math.round(height)),
    startsInMs,
    durationMs,
  };
};

Deno.test("refusalWarning: at each tolerance, boxes with a warning are refused far more often than others", async () => {
  for (const tolerancePercent of [5, 15]) {
    const runs = await Promise.all(
      SPEC_MARKETS.symbols.flatMap((symbol) =>
        [1, 2, 3].map((seed) => makeAndSign(symbol, seed, tolerancePercent, READ_MS, makeAnyBox))
      ),
    );
    const sum = (name: keyof typeof runs[number]) => runs.reduce((sum, run) => sum + run[name], 0);
    const [warned, others] = [sum("warned"), sum("quotes") - sum("warned")];
    const refused = 1 - sum("warnedPlaced") / warned;
    const refusedOthers = 1 - (sum("placed") - sum("warnedPlaced")) / others;
    assert(warned > 100 && refused > 0.4, `${refused} of ${warned} with a warning`);
    assert(refused > 1.7 * refusedOthers, `${refusedOthers} of ${others} without`);
  }
});
