/**
 * Prices a second of `--pricing barrier` on one core beside one closed form without a model, alone
 * and in a signed quote, with a book of open bets on the market. Run with `deno run --allow-env
 * --allow-read tests/bench/pricing_bench.ts [prices] [open bets]`.
 */
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { PriceRing } from "../../lib/prices/price_ring.ts";
import { MARKETS, SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { gaussian, seededRandom } from "../../lib/random.ts";
import type { Bet } from "../../lib/protocol/bet.ts";
import { YEAR_MS } from "../../lib/time.ts";
import { decodeBet } from "../../services/solver/execution/execution.ts";
import { BarrierStrategy } from "../../services/solver/pricing/barrier_strategy.ts";
import { StillPrices } from "../../services/solver/pricing/still_prices.ts";
import type { PricingStrategy } from "../../services/solver/pricing/strategy.ts";
import { MarketVolatility } from "../../services/solver/pricing/volatility.ts";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { Quoter } from "../../services/solver/quoting/quoter.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { boxProbability } from "../solver/pricing/reference.ts";
import { median } from "./proxy_rivals.ts";

const prices = Number(Deno.args[0] ?? 50_000);
const openBets = Number(Deno.args[1] ?? 1_000);
const ROUNDS = 5;
const NOW_MS = 1_700_000_000_000;
const BET = 1_000_000n;
const HISTORY_SLOTS = 36_000;

const market = MARKETS[0]!; // there are three
const volatility = new MarketVolatility({ floor: 0.1, minHistoryMs: 60_000 });
const stillness = new StillPrices();
const history = new PriceRing();
const random = seededRandom(1);
let log = Math.log(60_000e6);
for (let slot = HISTORY_SLOTS; slot > 0; slot--) {
  log += 0.5 * Math.sqrt(100 / YEAR_MS) * gaussian(random);
  const timeMs = NOW_MS - slot * 100;
  const price = BigInt(Math.round(Math.exp(log)));
  stillness.add(timeMs / 100, price);
  volatility.addSlot(timeMs, price, stillness.share);
  history.append(timeMs, price);
}
const spot = Math.round(Math.exp(log));
const spotView = { price: BigInt(spot), lastUpdateMs: NOW_MS - 80, fresh: true };
const { symbol } = market;
const view = { symbol, spot: spotView, volatility, stillness, history, historyEndMs: NOW_MS };

const book = new ExposureBook(undefined, decodeBet);
const barrier = new BarrierStrategy({
  skew: { share: 0.5, capacity: BET, correlatedRisk: (bet) => book.correlatedRisk(bet, NOW_MS) },
  market: () => view,
  clock: { now: () => NOW_MS },
  margin: 0.05,
  userLeadMs: 1_000,
  maxPriceAgeMs: 2_000,
  minDurationMs: 1_000,
  minWidthTicks: 4,
});

/** The least that a price needs: one closed form at a volatility that is known. */
const closedForm: PricingStrategy = {
  name: "closed form",
  price({ lowerPrice: lower, upperPrice: upper, startTime: startMs, endTime: endMs, betAmount }) {
    const box = { spot: spotView.price, lower, upper, nowMs: NOW_MS, startMs, endMs };
    const ratio = 0.95 / boxProbability({ ...box, volatility: 0.5 });
    return { payout: betAmount * BigInt(Math.floor(ratio * 1e12)) / 1_000_000_000_000n };
  },
  recheck() {},
};

/** Bets around the spot whose bounds differ, each about as likely to hold as not. */
function bets(durationMs: number, aheadMs: number, count = 1_000): Bet[] {
  const move = spot * 0.5 * Math.sqrt((durationMs + aheadMs) / YEAR_MS);
  return Array.from({ length: count }, (_, index) => ({
    thesisType: "box" as const,
    base: market.base,
    quote: market.quote,
    lowerPrice: BigInt(Math.round(spot - move * (0.8 + index / 2_000))),
    upperPrice: BigInt(Math.round(spot + move * (1.3 - index / 2_000))),
    betAmount: BET,
    startTime: NOW_MS + aheadMs,
    endTime: NOW_MS + aheadMs + durationMs,
  }));
}

for (let index = 0; index < openBets; index++) {
  const durationMs = Math.round(60_000 + 14.4e6 * random());
  const [bet] = bets(durationMs, Math.round(3_600_000 * random()), 1);
  if (bet === undefined) continue;
  const [user, solver] = [DEV_ACCOUNTS.relayer.address, DEV_ACCOUNTS.solver.address];
  book.reserve(String(index), { ...bet, payout: 2n * BET, user, solver });
}

function rate(count: number, run: (index: number) => unknown): number {
  const startedAtMs = performance.now();
  for (let index = 0; index < count; index++) run(index);
  return count / (performance.now() - startedAtMs) * 1_000;
}

/** Measures both in turn, after a round to warm up. */
function compare(name: string, count: number, one: (i: number) => unknown, two: typeof one): void {
  const rates: [number[], number[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    [one, two].forEach((run, side) => {
      const measured = rate(count, run);
      if (round > 0) rates[side]!.push(measured); // two sides
    });
  }
  const [now, before] = rates.map(median);
  console.log(
    `${name.padEnd(34)} ${now!.toFixed(0).padStart(8)}/s, closed form ${
      before!.toFixed(0).padStart(8)
    }/s, ratio ${(now! / before!).toFixed(2)}`,
  );
}

const cases: [name: string, durationMs: number, aheadMs: number][] = [
  ["5 m box, now", 300_000, 0],
  ["24 h box, now", 86_400_000, 0],
  ["5 m box in an hour", 300_000, 3_600_000],
  ["2 s box, now (exact)", 2_000, 0],
];
const signer = new LocalSigner(DEV_ACCOUNTS.solver.privateKey);
const user = new LocalSigner(`0x${"11".repeat(32)}`).address;
const quoterOf = (strategy: PricingStrategy) =>
  new Quoter({
    markets: SPEC_MARKETS,
    exposureLimit: { requireEstimateFits() {} },
    strategy,
    signer,
    chainId: 1337,
    clock: new FakeClock(NOW_MS),
    timeBounds: undefined,
  });
const [own, old] = [quoterOf(barrier), quoterOf(closedForm)];
for (const [name, durationMs, aheadMs] of cases) {
  const terms = bets(durationMs, aheadMs);
  const at = (index: number) => terms[index % terms.length]!; // there are a thousand
  const slow = aheadMs > 0 || durationMs < 5_000;
  compare(
    `${name}, price alone`,
    slow ? prices / 20 : prices,
    (index) => barrier.price(at(index)),
    (index) => closedForm.price(at(index)),
  );
  const request = (index: number) => ({ ...at(index), user, deadline: NOW_MS + 60_000 });
  compare(
    `${name}, signed quote`,
    prices / 20,
    (index) => own.quote(request(index)),
    (index) => old.quote(request(index)),
  );
}
