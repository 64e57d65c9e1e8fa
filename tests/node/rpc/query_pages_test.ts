import assert from "node:assert/strict";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { appendSpan, type TimeSpan } from "../../../lib/prices/price_slots.ts";
import { seededRandom } from "../../../lib/random.ts";
import { readMethods } from "../../../lib/protocol/methods/reads.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { MarketHistory } from "../../../services/node/chain/price_history.ts";
import { pageOfPrices, pageOfTheses } from "../../../services/node/rpc/query_pages.ts";
import { actors, rfqSubmit } from "../support/actors.ts";
import { openTheses, withDiskChain } from "../support/chains.ts";

/** A ledger with these theses: all that a page reads of them. */
function ledgerOf(theses: readonly Partial<Thesis>[]) {
  return {
    firstThesisId: theses[0]!.id!,
    lastThesisId: theses.at(-1)!.id!,
    thesesBetween: (fromId: number, toId: number, { user }: Partial<Thesis>, max: number) =>
      theses.filter((thesis) => user === undefined || thesis.user === user)
        .filter(({ id = 0 }) => id >= fromId && id < toId)
        .slice(0, max) as Thesis[], // what a page needs
  };
}

function thesesOf(from: number, to: number): Thesis[] {
  const user = actors.user.address;
  return Array.from({ length: to - from + 1 }, (_, at) => ({ id: from + at, user }) as Thesis);
}

Deno.test("pageOfPrices: a time without prices fits on one page, and the pages together have each slot exactly one time", () => {
  const random = seededRandom(7);
  const upTo = (max: number) => Math.floor(random() * max);
  for (let round = 0; round < 300; round++) {
    const history = new MarketHistory(new PriceRing(16));
    const slots = upTo(60);
    for (let slot = 1_000; slot < 1_000 + slots; slot++) {
      if (random() < 0.7) history.ring.append(slot * 100, BigInt(slot));
    }
    for (let count = upTo(3); count > 0; count--) {
      const slot = 700 + upTo(350);
      if (history.ring.at(slot * 100) === undefined) history.backfilled.put(slot * 100, 1n);
    }
    const [from, to] = [60_000 + upTo(50_000), 60_000 + upTo(50_000)];
    const [prices, missing]: [number[], TimeSpan[]] = [[], []];
    let cursor: string | undefined;
    do {
      const page = pageOfPrices(history, { from, to, limit: 1 + upTo(9), cursor });
      prices.push(...page.prices.map(({ time }) => time));
      for (const gap of page.missing) appendSpan(missing, gap);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    const expected: [number[], TimeSpan[]] = [[], []];
    for (let time = Math.ceil(from / 100) * 100; time < to; time += 100) {
      if (history.at(time) !== undefined) expected[0].push(time);
      else appendSpan(expected[1], { from: time, to: time + 100 });
    }
    assert.deepEqual([prices, missing], expected);
  }
  const history = new MarketHistory(new PriceRing(16));
  const pagesOf = () => {
    const query = { from: 0, to: 1_800_000_000_000, limit: 6_000 };
    let [pages, cursor]: [number, string | null | undefined] = [0, undefined];
    for (; cursor !== null && pages < 10; pages++) {
      cursor = pageOfPrices(history, { ...query, cursor: cursor ?? undefined }).nextCursor;
    }
    return pages;
  };
  assert.equal(pagesOf(), 1);
  history.ring.append(1_700_000_000_000, 5n);
  assert.equal(pagesOf(), 1);
  history.backfilled.put(1_699_999_000_000, 5n);
  assert(pagesOf() < 5);
});

Deno.test("pageOfPrices: up to the last time of all, the answer has the shape that its method promises", () => {
  const query = { from: 0, to: Number.MAX_SAFE_INTEGER, limit: 1 };
  const page = pageOfPrices(new MarketHistory(new PriceRing(16)), query);
  assert.ok(readMethods.core_getPriceHistory.result.safeParse(page).success);
});

Deno.test("pageOfTheses: a filter that matches little is answered page by page", () => {
  const { stranger } = actors;
  for (const [total, empty] of [[2_005, 2], [1_001, 1]]) {
    const last = { id: total, user: stranger.address };
    const ledger = ledgerOf([...thesesOf(1, total! - 1), last]);
    const pages = [];
    let cursor: string | undefined;
    do {
      const page = pageOfTheses(ledger, { user: stranger.address, limit: 10, cursor });
      pages.push(page.theses.map(({ id }) => id));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    assert.deepEqual(pages, [...Array(empty).fill([]), [total]]);
  }
});

Deno.test("pageOfTheses: only the theses of the page are parsed, and all filters count", () =>
  withDiskChain((disk) => {
    disk.deposit(1);
    for (const [count, price] of [[900, 9_000_000_000n], [100, 3_000_000_000n]] as const) {
      disk.run(1);
      const timestamp = disk.clock.now();
      const tx = rfqSubmit({ timestamp, endTime: timestamp + 500, betAmount: 1n, payout: 2n });
      openTheses(disk.chain, disk.records, tx, count);
      disk.run(5, price);
      while (disk.chain.settleDue());
    }
    const { ledger } = disk.chain.state;
    const [user, solver] = [actors.user.address, actors.solver.address];
    const idsOf = (query: Partial<Parameters<typeof pageOfTheses>[1]>) =>
      pageOfTheses(ledger, { limit: 1_000, ...query }).theses.map(({ id }) => id);
    const [won, lost] = [idsOf({ status: "won" }), idsOf({ status: "lost", user, solver })];
    assert.deepEqual([won[0], lost[0], won.length + lost.length], [901, 1, 1_000]);
    assert.deepEqual(idsOf({ user: solver }), []);
    assert.deepEqual(idsOf({ user, cursor: "5", limit: 2 }), [6, 7]);
    const timeOf = (query: Parameters<typeof idsOf>[0]) =>
      Math.min(...Array.from({ length: 9 }, () => {
        const startMs = performance.now();
        idsOf(query);
        return performance.now() - startMs;
      }));
    const full = timeOf({});
    assert(timeOf({ user: solver }) < full / 3, "parsing a row takes longer than filtering it");
    assert(timeOf({ limit: 10 }) < full / 3);
  }));

Deno.test("pageOfTheses: the first page starts at the oldest thesis that was not deleted", () => {
  const { theses, nextCursor, lastId } = pageOfTheses(ledgerOf(thesesOf(201, 1_100)), {
    limit: 1_000,
  });
  assert.equal(lastId, 1_100);
  const expected = Array.from({ length: 900 }, (_, at) => 201 + at);
  assert.deepEqual([theses.map(({ id }) => id), nextCursor], [expected, null]);
});
