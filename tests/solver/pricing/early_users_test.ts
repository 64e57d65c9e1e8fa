/** Users who see prices earlier than the solver, on simulated prices, against its recheck. */
import assert from "node:assert/strict";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { gaussian, type RandomSource, seededRandom } from "../../../lib/random.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { YEAR_MS } from "../../../lib/time.ts";
import { BarrierStrategy } from "../../../services/solver/pricing/barrier_strategy.ts";
import { noTouchAtChecks } from "../../../services/solver/pricing/box_probability.ts";
import { PricingRefusedError } from "../../../services/solver/pricing/strategy.ts";
import { forecastOf } from "../../../services/solver/pricing/volatility_forecast.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { market } from "../support.ts";

const SPOT = 1_000_000_000_000;
const VOLATILITY = 0.6;
const SLOT_DEVIATION = VOLATILITY * Math.sqrt(SLOT_MS / YEAR_MS);
const BET = 100_000_000n;
const MARGIN = 0.05;
/** The solver's own assumption, and the lead of the fastest user here. */
const HOLD_MS = 3_000;
const LEADS_MS = [0, 200, 1_000, 3_000];
const OFFSETS = [-0.95, -0.9, -0.5, 0, 0.5, 0.9, 0.95];

const PATHS = 400;
/** End of each accepted path: its outcome depends on the later price. */
const ENDS = 10;

interface Box {
  lower: number;
  upper: number;
  slots: number;
}

/** Mean gains of the paths that a user has bet on. */
class Gains {
  #count = 0;
  #sum = 0;
  #squares = 0;

  add(gain: number): void {
    this.#count += 1;
    this.#sum += gain;
    this.#squares += gain * gain;
  }

  addAll(other: Gains): void {
    this.#count += other.#count;
    this.#sum += other.#sum;
    this.#squares += other.#squares;
  }

  get count(): number {
    return this.#count;
  }

  get mean(): number {
    return this.#sum / this.#count;
  }

  get error(): number {
    return Math.sqrt(Math.max(0, this.#squares / this.#count - this.mean ** 2) / this.#count);
  }
}

function walk(random: RandomSource, from: number, slots: number): number[] {
  const prices = [from];
  for (let slot = 1; slot < slots; slot++) {
    const move = SLOT_DEVIATION * gaussian(random) - SLOT_DEVIATION ** 2 / 2;
    prices.push(prices[slot - 1]! * Math.exp(move)); // one per slot before
  }
  return prices;
}

/** What a user knows who has seen a path up to and including a slot. */
function knownProbability({ lower, upper, slots }: Box, path: readonly number[], slot: number) {
  if (path.slice(0, slot + 1).some((price) => price < lower || price > upper)) return 0;
  const price = path[slot]!; // within the path
  const checks = { toLower: Math.log(price / lower), toUpper: Math.log(upper / price) };
  return noTouchAtChecks({ ...checks, waitMs: 0, steps: slots - slot - 1 }, {
    volatility: VOLATILITY,
  });
}

/** The strategy at the end of its hold, with the prices that arrived meanwhile. */
function solverAt(nowMs: number) {
  const clock = new FakeClock(nowMs);
  const history = new PriceRing(64);
  const view = {
    symbol: market.symbol,
    spot: { price: BigInt(SPOT), lastUpdateMs: nowMs, fresh: true },
    volatility: { forecast: () => forecastOf(VOLATILITY, 0) },
    stillness: { share: 0, tick: undefined },
    history,
    historyEndMs: nowMs,
  };
  const strategy = new BarrierStrategy({
    market: () => view,
    clock,
    margin: MARGIN,
    userLeadMs: HOLD_MS,
    maxPriceAgeMs: 2_000,
    minDurationMs: 1_000,
    minWidthTicks: 0,
  });
  return { strategy, view, history, clock };
}

/** A user's gains per bet on one box, by lead; undefined if it is not quoted. */
function gainsOn(box: Box, random: RandomSource): Map<number, Gains> | undefined {
  const startTime = 1_700_000_000_000;
  const { thesisType, base, quote } = { ...market, thesisType: "box" as const };
  const bet = {
    thesisType,
    base,
    quote,
    betAmount: BET,
    startTime,
    lowerPrice: BigInt(Math.round(box.lower)),
    upperPrice: BigInt(Math.round(box.upper)),
    endTime: startTime + box.slots * SLOT_MS,
  };
  const { strategy } = solverAt(startTime);
  const payout = orRefused(() => strategy.price(bet).payout);
  if (payout === undefined) return undefined;
  const waits = strategy.holdMs(bet, payout) > 0;
  const ratio = Number(payout) / Number(BET);
  const gains = new Map(LEADS_MS.map((leadMs) => [leadMs, new Gains()]));
  const held = HOLD_MS / SLOT_MS;
  for (let count = 0; count < PATHS; count++) {
    const path = walk(random, SPOT, held + 1);
    const users = LEADS_MS.filter((leadMs) =>
      leadMs === 0 || knownProbability(box, path, leadMs / SLOT_MS) * ratio > 1
    );
    if (users.length === 0) continue;
    const isBroken = path.some((price) => price < box.lower || price > box.upper);
    const now = solverAt(startTime + HOLD_MS);
    path.slice(0, held).forEach((price, slot) =>
      now.history.append(startTime + slot * SLOT_MS, BigInt(Math.round(price)))
    );
    now.view.spot.price = BigInt(Math.round(path[held]!)); // the last one
    const accepts = () => now.strategy.recheck(bet, payout, { isRecorded: true }) ?? true;
    if (waits && orRefused(accepts) === undefined) continue;
    let won = 0;
    for (let end = 0; end < ENDS && !isBroken; end++) {
      const rest = walk(random, path[held]!, box.slots - held);
      if (rest.every((price) => price >= box.lower && price <= box.upper)) won += 1;
    }
    for (const leadMs of users) gains.get(leadMs)!.add(won / ENDS * ratio - 1); // one per lead
  }
  return gains;
}

function orRefused<T>(price: () => T): T | undefined {
  try {
    return price();
  } catch (thrown) {
    if (thrown instanceof PricingRefusedError) return undefined;
    throw thrown;
  }
}

Deno.test("Recheck: a user who sees prices up to 3 s earlier never gains, others pay the margin", () => {
  const random = seededRandom(1);
  const byLead = new Map(LEADS_MS.map((leadMs) => [leadMs, new Gains()]));
  const plain: { offset: number; gains: Gains }[] = [];
  for (const seconds of [5, 15, 30, 60]) {
    for (const width of [1, 2]) {
      const half = SPOT * width * SLOT_DEVIATION * Math.sqrt(seconds * 10);
      for (const offset of OFFSETS) {
        const centre = SPOT + offset * half;
        const box = { lower: centre - half, upper: centre + half, slots: seconds * 10 };
        const cell = `${seconds} s, width ${width}, offset ${offset}`;
        for (const [leadMs, gains] of gainsOn(box, random) ?? []) {
          // The error of a few paths is no error.
          const isFound = gains.count >= 20 && gains.mean > 0.01 && gains.mean > 3 * gains.error;
          assert.ok(!isFound, `${cell}, ${leadMs} ms ahead: ${gains.mean} ± ${gains.error}`);
          byLead.get(leadMs)!.addAll(gains); // one per lead
          if (leadMs === 0) plain.push({ offset, gains });
        }
      }
    }
  }
  for (const [leadMs, { mean, error }] of byLead) {
    assert.ok(!(mean > 0.01 && mean > 3 * error), `${leadMs} ms ahead: ${mean} ± ${error}`);
  }
  for (const offset of [0, 0.5, 0.9]) {
    const all = new Gains();
    for (const cell of plain) if (Math.abs(cell.offset) === offset) all.addAll(cell.gains);
    const [least, most] = [-all.mean - 3 * all.error, -all.mean + 3 * all.error];
    assert.ok(all.count > 25 && least < 0.1 && most > 0, `offset ${offset}: ${all.mean}`);
  }
  // Boxes of a minute in the middle do not wait.
  assert.ok(plain.some(({ offset, gains }) => offset === 0 && gains.count === PATHS));
});
