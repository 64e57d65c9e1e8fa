import assert from "node:assert/strict";
import { YEAR_MS } from "../../../lib/time.ts";
import { ReturnVolatility, runBacktest } from "../../../services/solver/backtest/engine.ts";
import type { Maker, TrialBox, TrialQuote } from "../../../services/solver/backtest/maker.ts";
import type { Results } from "../../../services/solver/backtest/results.ts";
import { TapeMarket } from "../../../services/solver/backtest/strategy_maker.ts";
import { MarketVolatility } from "../../../services/solver/pricing/volatility.ts";
import { USERS } from "../../../services/solver/backtest/users.ts";
import { plan } from "./support.ts";

const PRICE = 1_000_000_000;
const QUOTED_MS = 200_000;
const END_MS = 300_000;

/** A maker with a constant quote, which records its calls. */
class FixedMaker implements Maker {
  readonly boxes: TrialBox[] = [];
  readonly settled: { held: boolean; endMs: number }[] = [];
  rechecks = 0;

  constructor(
    readonly name: string,
    readonly quoteAt: (nowMs: number) => TrialQuote,
    readonly hold = 0,
  ) {}

  observe(): void {}

  quote(box: TrialBox, _kind: unknown, nowMs: number): TrialQuote {
    if (nowMs === QUOTED_MS) this.boxes.push(box);
    return this.quoteAt(nowMs);
  }

  accepts(): boolean {
    return true;
  }

  holdMs(): number {
    return this.hold;
  }

  passesRecheck(): boolean {
    this.rechecks += 1;
    return true;
  }

  settle(_kind: unknown, _quote: unknown, held: boolean, endMs: number): void {
    this.settled.push({ held, endMs });
  }
}

interface Trial {
  /** By slot, in milliseconds since the quote: a different price, or none. */
  prices?: Record<number, number | undefined>;
  holdMs?: number;
  /** When the rival knows that the box is worth more than it costs, since the quote. */
  rivalFromMs?: number;
  /** What a bet of 1 is worth then, by the rival. */
  rivalWorth?: number;
  given?: Partial<typeof plan>;
}

/** One box of 10 s; until shortly before, the price goes up and down by a thousandth. */
function runTrial(
  { prices = {}, holdMs = 0, rivalFromMs = Infinity, rivalWorth = 1.7, given }: Trial,
): { results: Results; maker: FixedMaker } {
  const slots = Array.from({ length: END_MS / 100 }, (_, slot) => {
    const timeMs = slot * 100;
    const sinceMs = timeMs - QUOTED_MS;
    const usual = timeMs < QUOTED_MS - 1_000 && slot % 100 < 50 ? 1.001e9 : PRICE;
    return { timeMs, price: sinceMs in prices ? prices[sinceMs] : usual };
  }).filter((slot): slot is { timeMs: number; price: number } => slot.price !== undefined);
  const source = { fromMs: 0, toMs: END_MS, slots: () => slots };
  const maker = new FixedMaker("fixed", () => ({ probability: 0.5, ratio: 1.9 }), holdMs);
  const rival = new FixedMaker("rival", (nowMs) => ({
    probability: nowMs - QUOTED_MS >= rivalFromMs ? rivalWorth / 1.9 : 0.1,
    ratio: undefined,
  }));
  const results = runBacktest(source, {
    ...plan,
    stepMs: QUOTED_MS,
    durationsMs: [10_000],
    widths: [1],
    reportFromMs: 0,
    ...given,
  }, {
    market: new TapeMarket(new MarketVolatility({ volatilityFloor: 0.1, volatilityHistoryMs: 0 })),
    makers: [maker, rival],
    rivals: [1, 0],
  });
  return { results, maker };
}

function betsOf(results: Results, user: string): number {
  return results.gain(user, "fixed")?.gain.mean().count ?? 0;
}

Deno.test("Backtest: a box is won if every price between its start and its end is inside", () => {
  const ahead = { startAheadMs: [10_000] };
  const cases: [name: string, sinceMs: number, held: boolean, given: Trial["given"]][] = [
    ["in the last slot", 9_900, false, {}],
    ["after the end", 10_000, true, {}],
    ["before the start", 5_000, true, ahead],
    ["in the first slot", 10_000, false, ahead],
    ["within a box that starts later", 15_000, false, ahead],
  ];
  for (const [name, sinceMs, held, given] of cases) {
    const { maker } = runTrial({ prices: { [sinceMs]: 2 * PRICE }, given });
    assert.deepEqual(maker.settled.map(({ held }) => held), [held], name);
  }
});

Deno.test("Backtest: a price before a later box's start does not break that box", () => {
  const given = { startAheadMs: [0, 10_000] };
  const { maker } = runTrial({ prices: { 5_000: 2 * PRICE }, given });
  assert.deepEqual(maker.settled.map(({ held }) => held), [false, true]);
});

Deno.test("Backtest: a missing price drops the box, which is then not rechecked", () => {
  const { maker, results } = runTrial({ prices: { 5_000: undefined }, holdMs: 8_000 });
  assert.equal(results.boxes, 0);
  assert.deepEqual([maker.settled.length, maker.rechecks], [0, 0]);
  const whole = runTrial({ holdMs: 8_000 });
  assert.deepEqual([whole.maker.settled.length, whole.maker.rechecks], [1, 1]);
  assert.equal(betsOf(whole.results, USERS.everyone), 1);
});

Deno.test("Backtest: no box ends after the prices, and an offset of 0.5 moves a box by a quarter of its width", () => {
  const late = runTrial({ given: { durationsMs: [END_MS - QUOTED_MS + 100] } });
  assert.equal(late.maker.boxes.length, 0);
  const { maker: { boxes: [box] } } = runTrial({ given: { offsets: [0.5] } });
  const half = (box!.upper - box!.lower) / 2; // one box
  assert.ok(Math.abs((box!.upper + box!.lower) / 2 - PRICE - half / 2) <= 1);
});

Deno.test("Backtest: a user bets if the rival's value covers the cost before lead, wait or box end", () => {
  const betsFrom = (rivalFromMs: number, given: Trial["given"], user: string) =>
    betsOf(runTrial({ rivalFromMs, given }).results, user);
  assert.equal(betsFrom(2_000, { leadMs: 2_000 }, USERS.earlier), 1);
  assert.equal(betsFrom(2_100, { leadMs: 2_000 }, USERS.earlier), 0);
  const both = { leadMs: 2_000, waitMs: 6_000 };
  assert.equal(betsFrom(1_900, both, USERS.earlier), 1, "not before its time");
  assert.equal(betsFrom(6_000, { waitMs: 6_000 }, USERS.patient), 1);
  assert.equal(betsFrom(6_100, { waitMs: 6_000 }, USERS.patient), 0);
  for (const [rivalWorth, bets] of [[0.991, 1], [0.989, 0]] as const) {
    const { results } = runTrial({ rivalFromMs: 0, rivalWorth, given: { waitMs: 6_000 } });
    assert.equal(betsOf(results, USERS.patient), bets, `worth ${rivalWorth}`);
  }
  assert.equal(betsFrom(9_000, { waitMs: 30_000 }, USERS.patient), 1);
  assert.equal(betsFrom(9_500, { waitMs: 30_000 }, USERS.patient), 0, "between two looks");
});

Deno.test("Backtest: a box that is lost before its recheck is not executed", () => {
  const { maker, results } = runTrial({ prices: { 3_000: 2 * PRICE }, holdMs: 4_000 });
  assert.deepEqual([maker.rechecks, betsOf(results, USERS.everyone)], [0, 0]);
  assert.equal(maker.settled[0]?.endMs, QUOTED_MS + 3_100);
});

Deno.test("TapeMarket: strategies see the price with the configured age", () => {
  const market = new TapeMarket(
    new MarketVolatility({ volatilityFloor: 0.1, volatilityHistoryMs: 0 }),
    200,
  );
  const seen = [0, 100, 200, 300].map((timeMs) => {
    market.observe({ timeMs, price: PRICE + timeMs });
    return market.spot?.price;
  });
  assert.deepEqual(seen, [undefined, undefined, BigInt(PRICE), BigInt(PRICE + 100)]);
});

Deno.test("Return volatility: available after ten returns of 5 s", () => {
  const returns = new ReturnVolatility();
  const found = Array.from({ length: 12 }, (_, index) => {
    returns.observe({ timeMs: index * 5_000, price: index % 2 === 0 ? PRICE : 1.001e9 });
    returns.observe({ timeMs: index * 5_000 + 100, price: 2 * PRICE });
    return returns.volatility;
  });
  assert.deepEqual(found.map((one) => one !== undefined), found.map((_, index) => index >= 10));
  const expected = Math.log(1.001) * Math.sqrt(YEAR_MS / 5_000);
  assert.ok(Math.abs(found[11]! / expected - 1) < 1e-9);
});
