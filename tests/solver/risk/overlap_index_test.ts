import assert from "node:assert/strict";
import fc from "fast-check";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import type { BetAtRisk } from "../../../lib/protocol/bet.ts";
import { OverlapIndex } from "../../../services/solver/risk/overlap_index.ts";
import { termsAt } from "../support.ts";

const START = 1_700_000_000_000;

/** A bet with 100 at risk on `width` prices from `lower` on, for some milliseconds. */
function box(lower: number, width: number, startsInMs: number, durationMs: number): BetAtRisk {
  const startTime = START + startsInMs;
  return termsAt(0, {
    lowerPrice: BigInt(lower),
    upperPrice: BigInt(lower + width - 1),
    startTime,
    endTime: startTime + durationMs,
    payout: 200n,
  });
}

const asked = box(100, 100, 1_000, 1_000);

Deno.test("OverlapIndex: bets of other markets are ignored", () => {
  const index = new OverlapIndex();
  const other = MARKETS.find(({ base }) => base !== asked.base)!; // there are three
  index.add("held", { ...asked, base: other.base });
  assert.equal(index.correlatedRisk(asked, START), 0);
});

/** What one held bet adds, by sets of prices and milliseconds. */
function naiveRisk(held: BetAtRisk, bet: BetAtRisk, nowMs: number): number {
  const prices = ({ lowerPrice, upperPrice }: BetAtRisk) =>
    Array.from({ length: Number(upperPrice - lowerPrice) + 1 }, (_, at) => Number(lowerPrice) + at);
  const times = ({ startTime, endTime }: BetAtRisk) =>
    Array.from({ length: endTime - startTime }, (_, at) => startTime + at)
      .filter((time) => time >= nowMs);
  const coefficient = (a: number[], b: number[]) => {
    const shared = a.filter((value) => b.includes(value)).length;
    return shared === 0 ? 0 : shared / Math.min(a.length, b.length);
  };
  return Number(held.payout - held.betAmount) * coefficient(times(held), times(bet)) *
    coefficient(prices(held), prices(bet));
}

const anyBox = fc.tuple(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 2, max: 20 }),
  fc.nat(30),
  fc.integer({ min: 1, max: 30 }),
).map((numbers) => box(...numbers));

Deno.test("OverlapIndex: after random additions and deletions, the risk equals a brute-force count", () => {
  const bet = fc.option(anyBox, { nil: undefined, freq: 2 });
  const step = fc.record({ key: fc.nat(12), bet });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 100, size: "max" }),
      anyBox,
      fc.nat(40).map((ms) => START + ms),
      (steps, bet, nowMs) => {
        const index = new OverlapIndex();
        const model = new Map<string, BetAtRisk>();
        for (const { key, bet: held } of steps) {
          const hash = String(key);
          if (held === undefined) {
            index.delete(hash, model.get(hash) ?? bet);
            model.delete(hash);
          } else if (!model.has(hash)) {
            index.add(hash, held);
            model.set(hash, held);
          }
        }
        let expected = 0;
        for (const held of model.values()) expected += naiveRisk(held, bet, nowMs);
        const risk = index.correlatedRisk(bet, nowMs);
        assert.ok(Math.abs(risk - expected) < 1e-6, `${risk} is not ${expected}`);
      },
    ),
    { numRuns: 200, seed: 11 },
  );
});
