import assert from "node:assert/strict";
import type { Thesis } from "../../lib/client/mod.ts";
import {
  boundOf,
  exposureGrid,
  headroomOf,
  placeOf,
  profitAfter,
  releasesOf,
  riskiestUserOf,
  stepOf,
  timeTicksOf,
  waitingText,
} from "../../services/console/page/maker/exposure.ts";
import { seededRandom } from "../../lib/random.ts";
import { OTHER, thesisOf, USER } from "./offers.ts";

const bet = (id: number, low: number, high: number, fromMs: number, toMs: number) =>
  thesisOf(id, {
    ...{ lowerPrice: BigInt(low) * 1_000_000n, upperPrice: BigInt(high) * 1_000_000n },
    ...{ startTime: fromMs, endTime: toMs, betAmount: 10_000_000n, payout: 25_000_000n },
  });

Deno.test("exposureGrid: each cell has the largest loss within its range of prices and times", () => {
  const grid = exposureGrid([bet(1, 100, 112, 0, 24_000), bet(2, 106, 112, 12_000, 24_000)], 0);
  assert(grid);
  const { cells, low, high, timesMs } = grid;
  assert.deepEqual([low, high, timesMs[0], Math.round(timesMs[24]!)], [100, 112, 0, 24_000]);
  assert.deepEqual([cells.length, cells[0]?.length], [12, 24]);
  const late = timesMs.findLastIndex((timeMs) => timeMs <= 12_000);
  assert.deepEqual([cells[0]?.[late - 1], cells[0]?.[late]], [15, 30], "begins within its column");
  assert.deepEqual([cells[5]?.[23], cells[6]?.[23]], [30, 15], "the side between two rows");
});

Deno.test("exposureGrid: covers now to the end of the last box, all prices, and gives the next minute the widest columns", () => {
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

Deno.test("exposureGrid: no cell shows less than the loss at one of its prices and times", () => {
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
    const { loss, low, high, fromMs } = grid.worst;
    assert.equal(loss, Math.max(...naive));
    for (const price of [low, (low + high) / 2, high]) {
      assert.equal(lossAt(BigInt(Math.round(price * 1e6)), fromMs), loss, "all of the worst place");
    }
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

Deno.test("placeOf: spans the adjacent rows with the cell's loss; the worst place is exact", () => {
  const grid = exposureGrid([
    bet(1, 1_000, 1_120, 0, 60_000),
    bet(2, 1_043, 1_046, 30_000, 60_000),
  ], 0) ?? assert.fail();
  assert.equal(grid.worst.loss, 30);
  assert.deepEqual(placeOf(grid, [11, 0]), { loss: 15, low: 1_000, high: 1_120, fromMs: 0 });
  assert.deepEqual(grid.worst, { loss: 30, low: 1_043, high: 1_046, fromMs: 30_000 });
  const column = grid.timesMs.findLastIndex((timeMs) => timeMs <= 30_000);
  const { loss, low, high } = placeOf(grid, [7, column]);
  assert.deepEqual([loss, low, high], [30, 1_040, 1_050], "within this cell");
});

Deno.test("stepOf: the darkest colour is the largest loss, each lighter colour ends at half of it", () => {
  const steps = [100, 50.1, 50, 25, 12.5, 6.25, 0.01].map((loss) => stepOf(loss, 100));
  assert.deepEqual(steps, [5, 5, 4, 3, 2, 1, 1]);
  assert.deepEqual([1, 4, 5].map((step) => boundOf(step, 100)), [6.25, 50, 100]);
});

Deno.test("exposureGrid: a cell without a loss is exactly 0 despite rounding", () => {
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

Deno.test("exposureGrid: undefined without open bets", () => {
  const ended = bet(1, 1, 2, 0, 1_000);
  const lost = { ...bet(2, 1, 2, 0, 9_000), breach: { time: 1, price: 3n } };
  assert.equal(exposureGrid([ended, lost], 1_000), undefined);
  assert.notEqual(exposureGrid([ended], 999), undefined);
});

Deno.test("Exposure: bets that have ended or are decided are ignored", () => {
  const open = bet(2, 2, 3, 0, 9_000);
  const theses = [bet(1, 1, 2, 0, 1_000), open, { ...open, id: 3, status: "won" as const }];
  assert.deepEqual(exposureGrid(theses, 5_000), exposureGrid([open], 5_000));
  assert.equal(profitAfter(theses, 2.5, 0, 5_000), -15);
});

Deno.test("profitAfter: boxes around the moved price are won by their users, all others lost", () => {
  const theses = [bet(1, 99, 101, 0, 9), bet(2, 101, 103, 0, 9)];
  assert.equal(profitAfter(theses, 100, 0, 5), -15 + 10);
  assert.equal(profitAfter(theses, 100, 0.01, 5), -15 - 15, "both bounds are inside");
  assert.equal(profitAfter(theses, 100, 0.02, 5), 10 - 15);
  assert.equal(profitAfter(theses, 100, -0.02, 5), 20);
  assert.equal(profitAfter([{ ...theses[0]!, status: "won" }], 100, 0, 5), 0);
});

Deno.test("releasesOf: sums the risk that ends at the next end, within 1 min, 5 min and 1 h, and at the last, always as the same steps", () => {
  const nowMs = 4_999;
  const lost = { ...bet(3, 1, 2, 0, 4_000), breach: { time: 1, price: 3n } };
  const endingAt = (id: number, endTime: number) => bet(id, 1, 2, 0, endTime);
  const soon = [endingAt(1, 5_000), endingAt(2, 5_000), endingAt(4, 64_999), endingAt(5, 65_000)];
  const shown = (theses: Thesis[], atMs = nowMs) =>
    releasesOf(theses, atMs).map(({ atRisk }) => Number(atRisk / 1_000_000n));
  const releases = releasesOf([...soon, endingAt(6, 4_000_000), lost], nowMs);
  assert.deepEqual(releases.map(({ label, inMs }) => [label, inMs]), [
    ["Next end", 1],
    ["Within 1 min", undefined],
    ["Within 5 min", undefined],
    ["Within 1 h", undefined],
    ["Last end", 4_000_000 - nowMs],
  ]);
  assert.deepEqual(shown([...soon, endingAt(6, 4_000_000), lost]), [30, 45, 60, 60, 75]);
  assert.deepEqual(shown([endingAt(1, 65_000)]), [15, 0, 15, 15, 15]);
  assert.deepEqual(shown(soon, 65_000), [0, 0, 0, 0, 0]);
});

Deno.test("riskiestUserOf: is the user whose open bets together lose most, not the user with the largest bet", () => {
  const of = (id: number, user: Thesis["user"], payout: bigint) => ({
    ...bet(id, 1, 2, 0, 9_000),
    ...{ user, payout },
  });
  const many = [of(1, USER, 20_000_000n), of(2, USER, 20_000_000n)];
  const lost = { ...of(4, OTHER, 90_000_000n), status: "lost" as const };
  assert.deepEqual(riskiestUserOf([...many, of(3, OTHER, 25_000_000n), lost]), {
    ...{ user: USER, bets: 2, atRisk: 20_000_000n },
  });
  assert.equal(riskiestUserOf([lost]), undefined);
});

Deno.test("timeTicksOf: round times, spaced so that their labels fit", () => {
  const ticksOf = (endTime: number) =>
    timeTicksOf(exposureGrid([bet(1, 1, 2, 0, endTime)], 0)!).map(({ afterMs }) => afterMs / 1_000);
  assert.deepEqual(ticksOf(8_000), [5]);
  assert.deepEqual(ticksOf(180_000), [30, 120]);
  assert.deepEqual(ticksOf(86_400_000), [300, 3_600, 43_200]);
  const grid = exposureGrid([bet(1, 1, 2, 0, 180_000)], 0)!;
  const ats = [0, ...timeTicksOf(grid).map(({ at }) => at)];
  assert.ok(ats.every((at, i) => i === 0 || at - ats[i - 1]! >= 24 && at <= 95), `${ats}`);
});

Deno.test("waitingText: names the bets that ended without an outcome, and their sum at risk", () => {
  const bets = [bet(1, 1, 2, 0, 5_000), bet(2, 1, 2, 0, 6_000), bet(3, 1, 2, 0, 60_000)];
  const settled = { ...bet(4, 1, 2, 0, 1_000), status: "won" as const };
  const textAt = (nowMs: number) => waitingText([...bets, settled], nowMs);
  assert.equal(textAt(7_999), undefined, "they are being settled");
  assert.equal(
    textAt(8_000),
    "Not on the map: 1 bet that waits for missing prices, 15.00 at risk.",
  );
  assert.equal(
    textAt(9_000),
    "Not on the map: 2 bets that wait for missing prices, 30.00 at risk.",
  );
});

const roomAt = (atRisk: bigint, maxExposure: bigint | null) =>
  headroomOf(atRisk, { maxExposure, info: { config: { minBetAmount: 1_000_000n } } });

Deno.test("headroomOf: the exposure limit is fine up to 80 % used, nearly full above, and full above 95 %", () => {
  const at = (atRisk: bigint) => {
    const { style, text, used } = roomAt(atRisk, 100_000_000n);
    return [style, text, used];
  };
  assert.deepEqual(at(80_000_000n), [
    ...["won", "✓ Fine: 20.00 USDC is free. 80\u00a0% of the limit of 100.00 is used.", 0.8],
  ]);
  assert.deepEqual(at(81_000_000n), [
    "warning",
    "▲ Nearly full: bets that would add more than 19.00 USDC to it are refused. " +
    "81\u00a0% of the limit of 100.00 is used.",
    0.81,
  ]);
  const [style, text] = at(95_005_001n);
  assert.equal(style, "lost");
  assert.match(
    `${text}`,
    /^✕ Full: bets that would add more than 4\.99 USDC to it are refused/,
    "cut off",
  );
  assert.match(`${at(120_000_000n)[1]}`, /more than 0\.00 USDC/);
});

Deno.test("headroomOf: a limit below the smallest bet gets a warning about its decimals", () => {
  const { style, text, used } = roomAt(0n, 5_000n);
  assert.deepEqual([style, used], ["warning", undefined]);
  assert.match(text, /^▲ The limit is 0\.005 USDC: .* counts 6 decimals/);
});

Deno.test("headroomOf: notes that no limit is set, or that the solver has not answered", () => {
  const rooms = [headroomOf(1n, undefined), roomAt(1n, null)];
  assert.deepEqual(rooms.map(({ style }) => style), ["note", "note"]);
  assert.match(rooms[0]?.text ?? "", /once solver and chain answer/);
  assert.match(rooms[1]?.text ?? "", /^No limit is set/);
});
