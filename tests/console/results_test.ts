import assert from "node:assert/strict";
import { MARKETS, type Thesis, type ThesisFilter } from "../../lib/client/mod.ts";
import {
  gainOf,
  historyOf,
  resultsByMarket,
  resultsOf,
  roomOf,
} from "../../services/console/page/data/results.ts";
import { ThesesBook } from "../../services/console/page/maker/maker_watch.ts";

const USER = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";
const SOLVER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const HASH = `0x${"ab".repeat(32)}` as const;
const OTHER_HASH = `0x${"cd".repeat(32)}` as const;

const [FIRST = assert.fail(), SECOND = assert.fail()] = MARKETS;

const thesisOf = (id: number, status: Thesis["status"], more: Partial<Thesis> = {}): Thesis => ({
  id,
  status,
  user: USER,
  solver: SOLVER,
  thesisType: "box",
  base: FIRST.base,
  quote: FIRST.quote,
  lowerPrice: 1n,
  upperPrice: 2n,
  betAmount: 10n,
  payout: 25n,
  startTime: 0,
  endTime: 1_000,
  createdAt: 0,
  quoteHash: HASH,
  txHash: HASH,
  ...more,
});

const THESES = [
  thesisOf(1, "won", { settledAt: 3_000 }),
  thesisOf(2, "lost", { settledAt: 2_000, betAmount: 40n, payout: 50n }),
  thesisOf(3, "open"),
  thesisOf(4, "needs_backfill", { base: SECOND.base, payout: 30n }),
];

Deno.test("Results: the maker gains what users lose, and loses what they win beyond their stake", () => {
  assert.deepEqual(resultsOf(THESES), {
    open: 2,
    stakes: 20n,
    atRisk: 35n,
    settled: 2,
    held: 1,
    profit: 40n - 15n,
    turnover: 50n,
    breakEven: (0.4 + 0.8) / 2,
  });
  assert.equal(resultsOf([]).breakEven, undefined);
  const [[, first], [, second]] = resultsByMarket(THESES, MARKETS) as [
    ReturnType<typeof resultsByMarket>[number],
    ReturnType<typeof resultsByMarket>[number],
  ];
  assert.deepEqual([first.atRisk, second.atRisk], [15n, 20n]);
});

Deno.test("Results: profit and hit rate follow the order of settlement", () => {
  assert.deepEqual(historyOf(THESES), [
    { timeMs: 2_000, profit: 40n, hitRate: 0 },
    { timeMs: 3_000, profit: 25n, hitRate: 0.5 },
  ]);
});

Deno.test("Results: room is the way to the nearer bound, negative outside", () => {
  assert.equal(roomOf(100, 99, 103), 100);
  assert.equal(roomOf(100, 101, 103), -100);
});

/** A chain with some theses, of which a page has two. */
function fakeChain(all: Thesis[]) {
  return {
    all,
    reads: 0,
    async *theses({ status, cursor }: ThesisFilter = {}) {
      const fits = this.all
        .filter(({ id }) => id > Number(cursor ?? 0))
        .filter((thesis) => status === undefined || thesis.status === status);
      for (let start = 0; start === 0 || start < fits.length; start += 2) {
        this.reads += 1;
        const theses = fits.slice(start, start + 2);
        const nextCursor = start + 2 < fits.length ? `${theses.at(-1)?.id}` : null;
        yield await Promise.resolve({ theses, nextCursor });
      }
    },
    thesis(id: number) {
      this.reads += 1;
      return Promise.resolve(this.all.find((thesis) => thesis.id === id) ?? null);
    },
  };
}

Deno.test("ThesesBook: reads all pages once, then what is new and what was settled", async () => {
  const chain = fakeChain([1, 2, 3, 4, 5].map((id) => thesisOf(id, id === 1 ? "open" : "lost")));
  const book = new ThesesBook(chain, SOLVER);
  await book.refresh();
  assert.deepEqual(book.theses, chain.all);
  chain.all[0] = thesisOf(1, "won");
  chain.all.push(thesisOf(6, "open"), thesisOf(7, "open"));
  chain.reads = 0;
  await book.refresh();
  assert.deepEqual(book.theses, chain.all);
  assert(chain.reads <= 5, `${chain.reads} reads`);
});

Deno.test("ThesesBook: forgets everything when the chain was reset", async () => {
  const chain = fakeChain([thesisOf(1, "lost"), thesisOf(2, "open")]);
  const book = new ThesesBook(chain, SOLVER);
  await book.refresh();
  chain.all = [thesisOf(1, "open", { quoteHash: OTHER_HASH })];
  await book.refresh();
  assert.deepEqual(book.theses, chain.all);
  chain.all = [];
  await book.refresh();
  assert.deepEqual(book.theses, []);
});

Deno.test("historyOf: bets settled at once come in the order of their ids, by their end if unknown", () => {
  const theses = [thesisOf(3, "lost"), thesisOf(2, "won"), thesisOf(1, "needs_backfill")];
  const points = historyOf(theses.map((one) => ({ ...one, settledAt: undefined, endTime: 9 })));
  assert.deepEqual(points.map(({ timeMs, profit }) => [timeMs, profit]), [[9, -15n], [9, -5n]]);
  assert.equal(gainOf(thesisOf(1, "needs_backfill")), 0n);
});
