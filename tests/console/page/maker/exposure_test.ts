import assert from "node:assert/strict";
import type { Thesis } from "../../../../lib/client/mod.ts";
import { seededRandom } from "../../../../lib/random.ts";
import {
  decidingPrice,
  headroomOf,
  type Payoff,
  payoffOf,
  timeTexts,
  worstLossOf,
} from "../../../../services/console/page/maker/exposure.ts";
import { toNumber } from "../../../../services/console/page/parts/format.ts";
import { thesisOf } from "../../support.ts";

const bet = (id: number, low: number, high: number, fromMs: number, toMs: number) =>
  thesisOf(id, {
    ...{ lowerPrice: BigInt(low) * 1_000_000n, upperPrice: BigInt(high) * 1_000_000n },
    ...{ startTime: fromMs, endTime: toMs, betAmount: 10_000_000n, payout: 25_000_000n },
  });

Deno.test("payoffOf: the profit at each price, outside all boxes, and at the worst prices", () => {
  const [wide, narrow] = [bet(1, 100, 112, 0, 24_000), bet(2, 106, 110, 12_000, 24_000)];
  const profits = ({ outside, steps, worst }: Payoff) => ({
    outside: toNumber(outside),
    steps: steps.map(({ price, profit }) => [price, toNumber(profit)]),
    worst: [toNumber(worst.profit), worst.low, worst.high],
  });
  assert.deepEqual(profits(payoffOf([wide, narrow], 0) ?? assert.fail()), {
    outside: 20,
    steps: [[100, -5], [106, -30], [110, -5], [112, 20]],
    worst: [-30, 106, 110],
  });
  const beside = bet(3, 112, 120, 0, 24_000);
  const { worst } = profits(payoffOf([wide, beside], 0) ?? assert.fail());
  assert.deepEqual(worst, [-30, 112, 112], "both bounds belong to a box");
});

Deno.test("payoffOf: agrees with the bets that each price decides; users win bets that ended", () => {
  const random = seededRandom(62);
  for (let round = 0; round < 100; round++) {
    const theses = Array.from({ length: 1 + Math.floor(random() * 30) }, (_, id) => {
      const low = Math.floor(1_000 * random());
      return {
        ...bet(id, low, low + 1 + Math.floor(200 * random() ** 2), 0, Math.floor(9_000 * random())),
        status: random() < 0.2 ? "won" as const : "open" as const,
      };
    });
    const payoff = payoffOf(theses, 3_000);
    if (payoff === undefined) continue;
    const { outside, steps, worst: { profit, low, high } } = payoff;
    const profitAt = (price: number) =>
      theses.filter(({ status }) => status === "open").reduce((sum, thesis) => {
        const { lowerPrice, upperPrice, betAmount, payout, endTime } = thesis;
        const isInside = toNumber(lowerPrice) <= price && price <= toNumber(upperPrice);
        return sum + betAmount - (endTime <= 3_000 || isInside ? payout : 0n);
      }, 0n);
    for (let probe = 0; probe < 20; probe++) {
      const price = 1_300 * random() - 50;
      const step = steps.findLast((step) => step.price <= price);
      assert.equal(step?.profit ?? outside, profitAt(price), `round ${round}`);
    }
    for (const price of [low, (low + high) / 2, high]) assert.equal(profitAt(price), profit);
    assert.equal(profit, steps.map((step) => step.profit).reduce((a, b) => a < b ? a : b));
  }
  const ended = bet(1, 1, 2, 0, 1_000);
  assert.equal(payoffOf([ended], 1_000), undefined);
  assert.notEqual(payoffOf([ended], 999), undefined);
});

Deno.test("worstLossOf: neither decided bets, nor those that cannot be lost together, are added", () => {
  const bets = [bet(1, 1, 2, 0, 9_000), bet(2, 5, 6, 0, 9_000), bet(3, 5, 6, 10_000, 19_000)];
  assert.equal(worstLossOf(bets), 30_000_000n);
  assert.equal(worstLossOf([...bets.slice(0, 2), { ...bets[2]!, status: "won" }]), 15_000_000n);
});

Deno.test("decidingPrice: a bet whose window is over shows no present price, which decides nothing", () => {
  const ends = bet(1, 1, 2, 0, 1_000);
  assert.deepEqual([999, 1_000].map((nowMs) => decidingPrice(ends, 5, nowMs)), [5, undefined]);
});

Deno.test("timeTexts: a bet that has not started has both times", () => {
  const at = (nowMs: number, status: Thesis["status"] = "open") =>
    timeTexts({ ...bet(1, 1, 2, 60_000, 120_000), status }, nowMs).join();
  assert.match(at(30_000), /^in 30 s–1\.5 min,\d\d:\d\d:00 – \d\d:\d\d:00$/);
  assert.match(at(0), /^in 1–2 min,/);
  assert.match(at(60_000), /^1 min,ends \d/);
  assert.match(at(120_000), /^being settled,ended \d/);
  assert.match(at(120_000, "needs_backfill"), /^waits for missing prices,ended \d/);
});

const account = { balance: 900_000_000n, locked: 100_000_000n };

const roomAt = (given: Partial<Parameters<typeof headroomOf>[0]>) => {
  const bounds = { atRisk: 0n, maxExposure: 100_000_000n, account };
  const { style, text, used } = headroomOf({ ...bounds, ...given });
  return [style, used, text.replaceAll("\u00a0", " ")] as const;
};

const of100 = "of the limit of 100.00 is used.";

Deno.test("headroomOf: the exposure limit is fine up to 80 % used, nearly full above, and full above 95 %", () => {
  const rooms = [
    [80_000_000n, "won", 0.8, `✓ Fine: 20.00 USDC is free. 80 % ${of100}`],
    [81_000_000n, "warning", 0.81, /^▲ Nearly full: .* more than 19\.00 USDC are refused\. 81 %/],
    [95_005_001n, "lost", 0.95005001, /^✕ Full: .* more than 4\.99 USDC are refused/], // cut off
    [99_600_000n, "lost", 0.996, /^✕ Full: .* 0\.40 USDC .*\. 99 % of the limit/],
    [120_000_000n, "lost", 1.2, /^✕ Over the limit by 20\.00 USDC: .* is refused\. 120 %/],
    [120_000_001n, "lost", 1.20000001, /^✕ Over the limit by 20\.01 USDC/],
  ] as const;
  for (const [atRisk, ...expected] of rooms) {
    const [style, used, text] = roomAt({ atRisk });
    assert.deepEqual([style, used], expected.slice(0, 2));
    if (typeof expected[2] === "string") assert.equal(text, expected[2]);
    else assert.match(text, expected[2]);
  }
});

Deno.test("headroomOf: without any money, every bet is refused", () => {
  const nothing = { balance: 0n, locked: 0n };
  for (const maxExposure of [null, 100_000_000n]) {
    const [style, used, text] = roomAt({ maxExposure, account: nothing });
    assert.deepEqual([style, used], ["lost", undefined]);
    assert.match(text, /^✕ No money: every bet is refused/);
  }
});

Deno.test("headroomOf: without a limit, or with less money than it leaves, the balance bounds new bets", () => {
  const room = (locked: bigint, maxExposure: bigint | null) =>
    roomAt({
      ...{ atRisk: 60_000_000n, maxExposure },
      account: { balance: 100_000_000n - locked, locked },
    });
  const full = "✕ Full: bets that would risk more than 3.00 USDC are refused. " +
    "97 % of your money is in open bets.";
  assert.deepEqual(room(97_000_000n, 500_000_000n), ["lost", 0.97, full]);
  assert.match(room(97_000_000n, 61_000_000n)[2], / 1\.00 USDC .* limit of 61\.00 is used/);
  const fine = "✓ Fine: 60.00 USDC is free. 40 % of your money is in open bets. " +
    "No `--max-exposure` is set.";
  assert.deepEqual(room(40_000_000n, null), ["won", 0.4, fine]);
});
