import assert from "node:assert/strict";
import {
  endedOf,
  exposureGrid,
  nextEndOf,
  profitAfter,
  timeScaleOf,
  timeTicksOf,
} from "../../services/console/page/maker/exposure.ts";
import { seededRandom } from "../../lib/random.ts";
import { thesisOf } from "./offers.ts";

const bet = (id: number, low: number, high: number, fromMs: number, toMs: number) =>
  thesisOf(id, {
    ...{ lowerPrice: BigInt(low) * 1_000_000n, upperPrice: BigInt(high) * 1_000_000n },
    ...{ startTime: fromMs, endTime: toMs, betAmount: 10_000_000n, payout: 25_000_000n },
  });

Deno.test("exposureGrid: each cell has the largest loss within its prices and its span of time", () => {
  const grid = exposureGrid([bet(1, 100, 112, 0, 24_000), bet(2, 106, 112, 12_000, 24_000)], 0);
  assert(grid);
  const { cells, low, high, timesMs } = grid;
  assert.deepEqual([low, high, timesMs[0], Math.round(timesMs[24]!)], [100, 112, 0, 24_000]);
  assert.deepEqual([cells.length, cells[0]?.length], [12, 24]);
  const late = timesMs.findLastIndex((timeMs) => timeMs <= 12_000);
  assert.deepEqual([cells[0]?.[late - 1], cells[0]?.[late]], [15, 30], "begins within its column");
  assert.deepEqual([cells[5]?.[23], cells[6]?.[23]], [30, 15], "the side between two rows");
});

Deno.test("exposureGrid: begins now, ends with the last box, spans all prices, and the next minute is widest", () => {
  const grid = exposureGrid([bet(1, 100, 104, 0, 3_600_000), bet(2, 108, 112, 0, 60_000)], 30_000);
  assert(grid);
  const { cells, low, high, timesMs } = grid;
  assert.deepEqual([low, high, timesMs[0], Math.round(timesMs[24]!)], [
    100,
    112,
    30_000,
    3_600_000,
  ]);
  const ends = timesMs.findIndex((timeMs) => timeMs >= 60_000);
  assert(ends >= 3, "the first half minute has some columns of an hour");
  const rows = [0, 3, 4, 7, 8, 11].map((row) => [cells[row]?.[ends - 1], cells[row]?.[ends]]);
  assert.deepEqual(rows, [[15, 0], [15, 0], [0, 0], [0, 0], [15, 15], [15, 15]]);
});

Deno.test("exposureGrid: shows at least the loss at every price and time, and the largest of them", () => {
  const random = seededRandom(62);
  for (let round = 0; round < 200; round++) {
    const theses = Array.from({ length: 1 + Math.floor(random() * 12) }, (_, id) => {
      const low = Math.floor(1_000 * random());
      const startTime = Math.floor(20_000_000 * random() ** 4);
      const endTime = startTime + 1 + Math.floor(20_000_000 * random() ** 4);
      return bet(id, low, low + 1 + Math.floor(200 * random() ** 2), startTime, endTime);
    });
    const grid = exposureGrid(theses, 0);
    assert(grid);
    const lossAt = (price: bigint, time: number) =>
      theses.filter(({ lowerPrice, upperPrice, startTime, endTime }) =>
        lowerPrice <= price && price <= upperPrice &&
        startTime <= time && time < endTime
      ).length * 15;
    const prices = theses.map(({ lowerPrice }) => lowerPrice);
    const naive = theses.flatMap(({ startTime }) =>
      prices.map((price) => lossAt(price, startTime))
    );
    assert.equal(Math.max(...grid.cells.flat()), Math.max(...naive));
    for (let probe = 0; probe < 20; probe++) {
      const price = grid.low + random() * (grid.high - grid.low);
      const time = Math.floor(random() * grid.timesMs[24]!);
      const column = grid.timesMs.findLastIndex((timeMs) => timeMs <= time);
      const row = Math.floor(12 * (grid.high - price) / (grid.high - grid.low));
      const actual = lossAt(BigInt(Math.round(price * 1e6)), time);
      assert((grid.cells[row]?.[column] ?? 0) >= actual, `round ${round}`);
    }
  }
});

Deno.test("exposureGrid: the worst place has exactly the prices and times of the largest loss", () => {
  const random = seededRandom(63);
  const upTo = (end: number) => Math.floor(end * random());
  for (let round = 0; round < 300; round++) {
    const theses = Array.from({ length: 1 + upTo(12) }, (_, id) => {
      const [low, startTime] = [upTo(40), upTo(2) * upTo(30)];
      const one = bet(id, low, low + 1 + upTo(20), startTime, startTime + 11 + upTo(20));
      return { ...one, payout: one.betAmount + 1n + BigInt(upTo(3)) };
    });
    const [nowMs, now] = [10, upTo(60)];
    const { worst } = exposureGrid(theses, nowMs, now) ?? assert.fail();
    const lossAt = (price: number, time: number) =>
      theses.filter((one) =>
        Number(one.lowerPrice) <= price * 1e6 && price * 1e6 <= Number(one.upperPrice) &&
        one.startTime <= time && time < one.endTime
      ).reduce((sum, { payout, betAmount }) => sum + Number(payout - betAmount), 0) / 1e6;
    const all: [price: number, time: number, loss: number][] = [];
    for (let price = 0; price <= 61; price += 0.5) {
      for (let time = nowMs; time < 70; time++) all.push([price, time, lossAt(price, time)]);
    }
    const most = Math.max(...all.map(([, , loss]) => loss));
    assert.equal(worst.loss, most);
    const { low, high, fromMs, toMs } = worst;
    for (const [price, time, loss] of all) {
      const isInside = low <= price && price <= high && fromMs <= time && time < toMs;
      if (isInside) assert.equal(loss, most, `round ${round}`);
    }
    assert(lossAt(low - 0.5, fromMs) < most && lossAt(high + 0.5, fromMs) < most);
    assert(fromMs === nowMs || theses.some(({ startTime }) => startTime === fromMs));
    assert(theses.some(({ endTime }) => endTime === toMs), "no longer, and no shorter");
    const hasNow = all.some(([price, , loss]) => price === now && loss === most);
    assert.equal(
      low <= now && now <= high,
      hasNow,
      "a place around the price of now, if there is one",
    );
  }
});

Deno.test("exposureGrid: where nothing is lost, nothing is left by rounding", () => {
  const paid = (one: ReturnType<typeof bet>, loss: bigint) => ({
    ...one,
    payout: 10_000_000n + loss,
  });
  const grid = exposureGrid([
    paid(bet(1, 100, 101, 0, 9_000), 100_000n),
    paid(bet(2, 100, 101, 0, 9_000), 200_000n),
    paid(bet(3, 110, 112, 0, 9_000), 300_000n),
  ], 0);
  assert.deepEqual([grid?.cells[5]?.[0], grid?.cells[11]?.[0]], [0, 0.3]);
});

Deno.test("exposureGrid: open bets are needed for a grid", () => {
  const ended = bet(1, 1, 2, 0, 1_000);
  const lost = { ...bet(2, 1, 2, 0, 9_000), breach: { time: 1, price: 3n } };
  assert.equal(exposureGrid([ended, lost], 1_000), undefined);
  assert.notEqual(exposureGrid([ended], 999), undefined);
});

Deno.test("Exposure: bets that have ended are no part of what prices decide, but counted apart", () => {
  const waiting = bet(1, 1, 2, 0, 1_000);
  const open = bet(2, 2, 3, 0, 9_000);
  const theses = [waiting, open, { ...waiting, id: 3, status: "won" as const }];
  assert.deepEqual(exposureGrid(theses, 5_000), exposureGrid([open], 5_000));
  assert.equal(profitAfter(theses, 2.5, 0, 5_000), -15);
  assert.deepEqual(endedOf(theses, 5_000), { count: 1, loss: 15, gain: 10 });
  assert.deepEqual([999, 1_000].map((nowMs) => endedOf(theses, nowMs).count), [0, 1]);
});

Deno.test("timeTicksOf: now and round times, each with room for its name", () => {
  for (const allMs of [20_000, 60_000, 1_800_000, 2_140_000, 86_400_000, 4 * 86_400_000]) {
    const places = timeTicksOf(allMs).map(timeScaleOf(allMs)).sort((a, b) => a - b);
    assert.equal(places[0], 0);
    assert(places.length >= 2 && places.length <= 5, `${allMs}`);
    for (const [index, place] of places.entries()) {
      assert(place <= 100 && (index === 0 || place - (places[index - 1] ?? 0) >= 25), `${allMs}`);
    }
  }
});

Deno.test("profitAfter: boxes around the moved price are won by their users, all others lost", () => {
  const theses = [bet(1, 99, 101, 0, 9), bet(2, 101, 103, 0, 9)];
  assert.equal(profitAfter(theses, 100, 0, 5), -15 + 10);
  assert.equal(profitAfter(theses, 100, 0.01, 5), -15 - 15, "both bounds are inside");
  assert.equal(profitAfter(theses, 100, 0.02, 5), 10 - 15);
  assert.equal(profitAfter(theses, 100, -0.02, 5), 20);
  assert.equal(profitAfter([{ ...theses[0]!, status: "won" }], 100, 0, 5), 0);
});

Deno.test("nextEndOf: the bets that end next, all of the same time, without those that are decided", () => {
  const lost = { ...bet(3, 1, 2, 0, 4_000), breach: { time: 1, price: 3n } };
  const theses = [bet(1, 1, 2, 0, 9_000), bet(2, 1, 2, 0, 5_000), bet(4, 1, 2, 0, 5_000), lost];
  assert.deepEqual(nextEndOf(theses, 4_999), { endTime: 5_000, atRisk: 30_000_000n });
  assert.equal(nextEndOf(theses, 5_000)?.endTime, 9_000);
  assert.equal(nextEndOf(theses, 9_000), undefined);
});
