/** The commands that fill in missing prices. */
import assert from "node:assert/strict";
import {
  betRepair,
  marketRepair,
  readBets,
  readGap,
} from "../../../../services/console/page/operator/repairs.ts";
import { thesisOf } from "../../support.ts";

Deno.test("marketRepair: missing prices have affected bets, deadlines and a stable backfill command", () => {
  const user = `0x${"7".repeat(40)}` as const;
  const bets = [
    thesisOf(1, { startTime: 2_000, endTime: 9_000, betAmount: 4_000_000n }),
    thesisOf(2, { startTime: 4_999, endTime: 7_000, betAmount: 6_500_000n, user }),
    thesisOf(3, { startTime: 5_000, endTime: 6_000 }), // has all its prices
    thesisOf(4, { startTime: 1_000, endTime: 2_500 }),
  ];
  const missing = [
    { from: 2_500, to: 2_600, priceBefore: 2_998_410_000n },
    { from: 4_000, to: 5_000 },
  ];
  const gap = { symbol: "A/B", bets, missing };
  const repair = marketRepair([gap, { ...gap, missing: [] }]);
  assert.equal(repair?.harm, "2 bets of 2 users, 10.50 USDC");
  assert.deepEqual(repair?.deadlinesMs, [9_000, 7_000]);
  assert.deepEqual(repair?.commands, [
    "deno task -q backfill --market A/B --from 1970-01-01T00:00:02.500Z --to 1970-01-01T00:00:05.000Z --max-carry-ms 60000",
  ], "where nobody traded, or the exchanges slept, the last trade counts");
  assert.match(repair?.hint ?? "", /the last one before each gap is in these commands\.$/);
  assert.deepEqual(repair?.lastResort, [
    `${repair?.commands[0]?.replace("--max-carry-ms 60000", "--price 2998.41")}`,
  ]);
  // One command fills both, but each has a price of its own.
  const two = marketRepair([{
    ...gap,
    missing: [...missing, { from: 8_001, to: 8_500, priceBefore: 2_999_000_000n }],
  }]);
  assert.equal(two?.commands.length, 1);
  assert.deepEqual(two?.lastResort?.map((text) => text.split(" --to 1970-01-01T00:00:")[1]), [
    "05.000Z --price 2998.41",
    "08.500Z --price 2999",
  ]);
  const later = marketRepair([{ ...gap, missing: [...missing, { from: 35_001, to: 36_000 }] }]);
  assert.deepEqual(later?.commands.map((text) => text.slice(-55)), [
    "02.500Z --to 1970-01-01T00:00:05.000Z --max-carry-ms 60000".slice(-55),
    "35.001Z --to 1970-01-01T00:00:36.000Z --max-carry-ms 60000".slice(-55),
  ], "each gap may need its own price");
  assert.equal(repair?.sinceMs, 2_500);
  assert.match(
    marketRepair([gap], { historyUrl: "http://e:1" })?.commands[0] ?? "",
    / --history-url http:\/\/e:1$/,
  );
  assert.equal(marketRepair([{ ...gap, missing: [] }]), undefined);
  assert.equal(marketRepair([{ ...gap, bets: [] }])?.harm, "", "all of them have ended");
});

Deno.test("betRepair: backfill commands name the waiting bets, five at most", () => {
  const bets = [3, 4, 5, 6, 7, 8].map((id) => thesisOf(id, { endTime: 1_000 * id }));
  const repair = betRepair(bets, { historyUrl: "http://e:1" });
  assert.equal(repair?.commands.length, 5);
  assert.equal(
    repair?.commands[0],
    "deno task -q backfill --thesis 3 --max-carry-ms 60000 --history-url http://e:1",
  );
  assert.match(repair?.harm ?? "", /^6 bets of 1 user, /);
  assert.equal(repair?.sinceMs, 3_000);
  assert.match(repair?.firstStep ?? "", /RANGEMAKER_BACKFILL_PRIVATE_KEY/);
  assert.equal(betRepair([]), undefined);
});

Deno.test("marketRepair, betRepair: while the exchanges are away, they are to be started first; the hint says what to do without trades", () => {
  const bets = [thesisOf(3, { startTime: 1_000, endTime: 3_000 })];
  const gap = { symbol: "A/B", bets, missing: [{ from: 1_000, to: 2_000 }] };
  const repairs = (
    isAway: boolean,
  ) => [marketRepair([gap], { isAway }), betRepair(bets, { isAway })];
  for (const repair of repairs(true)) {
    assert.match(
      repair?.firstStep ?? "",
      /^Start the service `exchanges` first: the commands read its trades\. /,
    );
  }
  for (const repair of repairs(false)) {
    assert.match(
      repair?.firstStep ?? "",
      /^(Before these bets end, run|If prices of open bets are missing, .* Run the others) with/,
    );
    assert.match(
      repair?.hint ?? "",
      /no trades.* another --history-url.* run them with --price/i,
    );
  }
});

Deno.test("readGap: the last price before each of many gaps is found in one pass", async () => {
  const [count, asked] = [2_000, { times: 0 }];
  const prices = Array.from({ length: count }, (_, index) => ({
    get time() {
      asked.times += 1;
      return 200 * index;
    },
    price: BigInt(index),
  }));
  const missing = prices.map((_, index) => ({ from: 200 * index + 100, to: 200 * index + 200 }));
  const client = {
    theses: () => assert.fail(),
    history: () => Promise.resolve({ prices, missing }),
  };
  const bets = [thesisOf(1, { startTime: 0, endTime: 200 * count })];
  const found = await readGap(client, "A/B", bets, 200 * count);
  assert.deepEqual(found.missing.map(({ priceBefore }) => priceBefore), prices.map((p) => p.price));
  assert(asked.times < 10 * count, `${asked.times} looks`);
});

Deno.test("readGap: gaps are searched from the earliest start of a bet until now", async () => {
  const asked: unknown[] = [];
  const client = {
    theses: () => assert.fail(),
    history: (...given: unknown[]) => {
      asked.push(given);
      const prices = [0, 1, 2].map((time) => ({ time, price: BigInt(10 + time) }));
      return Promise.resolve({ prices, missing: [{ from: 4, to: 5 }] });
    },
  };
  const open = [thesisOf(1, { startTime: 5 }), thesisOf(2, { startTime: 3 })];
  const { missing } = await readGap(client, "A/B", open, 9);
  assert.deepEqual(missing, [{ from: 4, to: 5, priceBefore: 12n }]);
  const ended = thesisOf(3, { startTime: 2, status: "needs_backfill" });
  assert.deepEqual((await readGap(client, "A/B", [...open, ended], 9)).bets, open);
  assert.deepEqual(asked, [["A/B", 3, 9], ["A/B", 2, 9]]);
});

Deno.test("readGap: of a gap, only the time in the windows of bets counts", async () => {
  const missing = [{ from: 1, to: 10 }, { from: 20, to: 30 }, { from: 41, to: 42 }];
  const client = {
    theses: () => assert.fail(),
    history: () => Promise.resolve({ prices: [{ time: 0, price: 7n }], missing }),
  };
  const bets = [
    thesisOf(1, { startTime: 27, endTime: 40 }),
    thesisOf(2, { startTime: 5, endTime: 8, status: "needs_backfill" }),
    thesisOf(3, { startTime: 9, endTime: 22 }),
    thesisOf(4, { startTime: 7, endTime: 8 }),
  ];
  const gap = await readGap(client, "A/B", bets, 60);
  assert.deepEqual(gap.missing.map(({ from, to }) => [from, to]), [
    [5, 8],
    [9, 10],
    [20, 22],
    [27, 30],
  ]);
  assert.ok(gap.missing.every(({ priceBefore }) => priceBefore === 7n));
});

Deno.test("readBets: bets are read until there are enough", async () => {
  const pages = [1, 2, 3].map((id) => ({
    theses: [thesisOf(id), thesisOf(10 + id)],
    nextCursor: null,
  }));
  const client = {
    async *theses({ status }: { status?: string } = {}) {
      assert.equal(status, "open");
      for (const page of pages) yield await Promise.resolve(page);
    },
    history: () => assert.fail(),
  };
  const read = async (enough?: number) => (await readBets(client, "open", enough)).length;
  assert.deepEqual([await read(), await read(4), await read(3)], [6, 4, 4]);
});
