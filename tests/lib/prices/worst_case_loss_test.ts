import assert from "node:assert/strict";
import fc from "fast-check";
import { slotAtOrAfter } from "../../../lib/prices/price_slots.ts";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import type { BetAtRisk } from "../../../lib/protocol/bet.ts";
import { worstCaseLoss } from "../../../lib/prices/worst_case_loss.ts";
import { termsAt } from "../../solver/support.ts";

const START = 1_700_000_000_000;

/** A bet with 100 at risk on these prices, in these seconds. */
function bet(lower: number, upper: number, from: number, to: number, risk = 100n): BetAtRisk {
  return termsAt(0, {
    lowerPrice: BigInt(lower),
    upperPrice: BigInt(upper),
    startTime: START + from * 1_000,
    endTime: START + to * 1_000,
    payout: 100n + risk,
  });
}

Deno.test("worstCaseLoss: the losses of two markets are added", () => {
  const [one, other] = MARKETS;
  const onOther = { ...bet(5, 9, 0, 9), base: other!.base };
  assert.equal(worstCaseLoss([{ ...bet(1, 4, 0, 9), base: one!.base }, onOther]), 200n);
});

/** The true worst case: of every set of bets, whether some path of prices lets them all win. */
function naiveWorst(bets: readonly BetAtRisk[]): bigint {
  let worst = 0n;
  for (let set = 0; set < 2 ** bets.length; set++) {
    const chosen = bets.filter((_, index) => (set >> index) & 1);
    const slots = new Set(chosen.flatMap(slotsOf));
    const canWin = [...slots].every((slot) => {
      const active = chosen.filter((one) => slotsOf(one).includes(slot));
      const lower = active.reduce((a, b) => a.lowerPrice > b.lowerPrice ? a : b).lowerPrice;
      return active.every(({ upperPrice }) => lower <= upperPrice);
    });
    const loss = chosen.reduce((sum, { payout, betAmount }) => sum + payout - betAmount, 0n);
    if (canWin && loss > worst) worst = loss;
  }
  return worst;
}

function slotsOf({ startTime, endTime }: BetAtRisk): number[] {
  const [first, end] = [slotAtOrAfter(startTime), slotAtOrAfter(endTime)];
  return Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
}

/** Groups as they are defined: around the last slot of the box that ends first, then the rest. */
function naiveGroups(bets: readonly BetAtRisk[]): bigint {
  let rest = bets.filter((one) => slotsOf(one).length > 0);
  let loss = bets.filter((one) => slotsOf(one).length === 0)
    .reduce((sum, { payout, betAmount }) => sum + payout - betAmount, 0n);
  while (rest.length > 0) {
    const slot = Math.min(...rest.map((one) => slotsOf(one).at(-1)!)); // the empty ones are out
    const group = rest.filter((one) => slotsOf(one).includes(slot));
    loss += naiveWorst(group.map((one) => ({ ...one, startTime: START, endTime: START + 1_000 })));
    rest = rest.filter((one) => !group.includes(one));
  }
  return loss;
}

const anyBet = fc.record({
  lower: fc.nat(6),
  width: fc.integer({ min: 1, max: 4 }),
  start: fc.nat(600),
  duration: fc.integer({ min: 1, max: 500 }),
  risk: fc.bigInt(0n, 50n),
}).map(({ lower, width, start, duration, risk }) => ({
  ...bet(lower, lower + width, 0, 1, risk),
  startTime: START + start,
  endTime: START + start + duration,
}));

Deno.test("worstCaseLoss: between the true worst case and the sum; exact for equal windows and within groups", () => {
  fc.assert(
    fc.property(fc.array(anyBet, { maxLength: 8 }), (bets) => {
      const loss = worstCaseLoss(bets);
      const sum = bets.reduce((total, { payout, betAmount }) => total + payout - betAmount, 0n);
      assert.ok(naiveWorst(bets) <= loss && loss <= sum);
      assert.equal(loss, naiveGroups(bets));
      const together = bets.map((one) => ({ ...one, startTime: START, endTime: START + 1_000 }));
      assert.equal(worstCaseLoss(together), naiveWorst(together));
    }),
    { numRuns: 300, seed: 7 },
  );
});
