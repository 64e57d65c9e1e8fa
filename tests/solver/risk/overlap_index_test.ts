import assert from "node:assert/strict";
import fc from "fast-check";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import type { BetAtRisk } from "../../../services/solver/risk/bet_at_risk.ts";
import { OverlapIndex } from "../../../services/solver/risk/overlap_index.ts";
import { termsAt } from "../support.ts";

/** A bet with 100 at risk on `width` prices from `lower` on, for some milliseconds. */
function box(lower: number, width: number, startTime: number, durationMs: number): BetAtRisk {
  return termsAt(0, {
    lowerPrice: BigInt(lower),
    upperPrice: BigInt(lower + width - 1),
    startTime,
    endTime: startTime + durationMs,
    payout: 200n,
  });
}

const asked = box(100, 100, 1_000, 1_000);

const cases: readonly [name: string, held: BetAtRisk, nowMs: number, risk: number][] = [
  ["the same box adds its full risk", asked, 1_000, 100],
  ["a box inside adds its full risk", box(150, 10, 1_200, 100), 1_000, 100],
  ["a box around it adds its full risk", box(1, 1_000, 0, 9_000), 1_000, 100],
  ["half of the range adds half of the risk", box(150, 100, 1_000, 1_000), 1_000, 50],
  ["half of range and time adds a quarter of the risk", box(150, 100, 1_500, 1_000), 1_000, 25],
  ["a box without a common price adds nothing", box(200, 100, 1_000, 1_000), 1_000, 0],
  ["a box without a common time adds nothing", box(100, 100, 2_000, 1_000), 1_000, 0],
  ["only the rest of a begun window is compared", box(100, 100, 0, 1_500), 1_400, 100],
  ["a window that has ended adds nothing", box(100, 100, 0, 1_500), 1_500, 0],
];

for (const [name, held, nowMs, risk] of cases) {
  Deno.test(`OverlapIndex: ${name}`, () => {
    const index = new OverlapIndex();
    index.add("held", held);
    assert.equal(index.correlatedRisk(asked, nowMs), risk);
  });
}

Deno.test("OverlapIndex: bets of other markets are ignored", () => {
  const index = new OverlapIndex();
  const other = MARKETS.find(({ base }) => base !== asked.base)!; // there are three
  index.add("held", { ...asked, base: other.base });
  assert.equal(index.correlatedRisk(asked, 1_000), 0);
});

Deno.test("OverlapIndex: grows beyond its initial capacity, and ignores deleted bets", () => {
  const index = new OverlapIndex();
  for (let count = 1; count <= 100; count++) {
    index.add(`held ${count}`, asked);
    assert.equal(index.correlatedRisk(asked, 1_000), 100 * count);
  }
  for (let count = 1; count <= 100; count++) {
    index.delete(`held ${count}`, asked);
    assert.equal(index.correlatedRisk(asked, 1_000), 100 * (100 - count));
  }
});

/** What one held bet adds, by sets of prices and milliseconds. */
function naiveRisk(held: BetAtRisk, bet: BetAtRisk, nowMs: number): number {
  const prices = ({ lowerPrice, upperPrice }: BetAtRisk) =>
    Array.from({ length: Number(upperPrice - lowerPrice) + 1 }, (_, at) => Number(lowerPrice) + at);
  const times = ({ startTime, endTime }: BetAtRisk) =>
    Array.from({ length: endTime - startTime }, (_, at) => startTime + at)
      .filter((time) => time >= nowMs);
  const coefficient = (one: number[], other: number[]) => {
    const shared = one.filter((value) => other.includes(value)).length;
    return shared === 0 ? 0 : shared / Math.min(one.length, other.length);
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

Deno.test("OverlapIndex: random additions and deletions agree with a count of prices and times", () => {
  const bet = fc.option(anyBox, { nil: undefined, freq: 2 });
  const step = fc.record({ key: fc.nat(12), bet });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 100, size: "max" }),
      anyBox,
      fc.nat(40),
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
