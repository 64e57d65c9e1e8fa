import assert from "node:assert/strict";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { BreachWatch } from "../../../services/node/chain/breaches.ts";
import { withSeed } from "../../support/random.ts";
import { actors } from "../support/actors.ts";
import { MemoryChain } from "../support/chains.ts";

const OUTSIDE = 3_300_000_000n;
const START = 1_700_000_000_000;

Deno.test("BreachWatch: finds the same theses as a full scan, for random additions", () =>
  withSeed((random) => {
    const below = (bound: number) => Math.floor(random() * bound);
    const watch = new BreachWatch();
    const open = new Map<number, Thesis>();
    let [found, nextId, price] = [0, 0, 1_000n];
    for (let slot = 1; slot <= 10_000; slot++) {
      const time = START + slot * 100;
      for (let added = below(20) === 0 ? 3 : 0; added > 0; added--) {
        const startTime = time + 100 * (below(40) - 10);
        // Only the box of a thesis matters here.
        const thesis = {
          id: nextId += 1,
          startTime,
          lowerPrice: price + BigInt(5 - below(30)),
          endTime: startTime + 100 * (1 + below(60)),
          upperPrice: price + BigInt(below(30) - 5),
        } as Thesis;
        if (thesis.endTime <= time) continue;
        open.set(thesis.id, thesis);
        watch.add(thesis);
      }
      price += BigInt(below(5) - 2);
      const expected = [...open.values()].filter((box) =>
        box.startTime <= time && time < box.endTime &&
        (price < box.lowerPrice || price > box.upperPrice)
      );
      const broken = watch.removeBroken(time, price);
      assert.deepEqual(new Set(broken.map(({ id }) => id)), new Set(expected.map(({ id }) => id)));
      assert.equal(broken.length, expected.length, "each once");
      found += broken.length;
      for (const [id, { endTime }] of open) if (endTime <= time) open.delete(id);
      for (const { id } of expected) open.delete(id);
    }
    assert.ok(found > 500);
  }));

Deno.test("BreachWatch: looks at the theses only when a window begins or a price breaks one", () => {
  const watch = new BreachWatch();
  let looks = 0;
  const boxOf = (id: number, upperPrice: bigint) => ({
    id,
    startTime: START,
    endTime: START + 9_000,
    upperPrice,
    get lowerPrice() {
      looks += 1;
      return 10n;
    },
  } as Thesis);
  watch.add(boxOf(1, 20n));
  watch.add(boxOf(2, 90n));
  const steps = [15n, 20n, 10n, 30n, 90n, 91n].map((price, slot) => {
    const broken = watch.removeBroken(START + slot * 100, price).map(({ id }) => id);
    return [broken, looks];
  });
  assert.deepEqual(steps, [[[], 2], [[], 2], [[], 2], [[1], 4], [[], 4], [[2], 5]]);
  for (const [id, time] of [[3, START + 9_000], [4, START + 9_100]] as const) {
    watch.add(boxOf(id, 20n));
    assert.deepEqual(watch.removeBroken(time, 90n), [], "its window has ended");
  }
  assert.equal(looks, 7, "an ended one is looked at once");
});

function chainWithBet(fromMs: number, toMs: number) {
  const memoryChain = MemoryChain.funded();
  const { now: start } = memoryChain;
  memoryChain.bet({ startTime: start + fromMs, endTime: start + toMs });
  return { memoryChain, start, thesis: () => memoryChain.chain.state.ledger.findThesis(1)! };
}

Deno.test("Chain: a price outside the range settles a thesis as lost at once, and pays the solver", () => {
  const { memoryChain, start, thesis } = chainWithBet(500, 3_600_000);
  memoryChain.run(3, { "ETH/USDT": OUTSIDE }); // before its window
  memoryChain.run(3);
  assert.equal(thesis().status, "open");
  const { solver } = actors;
  const { ledger } = memoryChain.chain.state;
  const before = ledger.account(solver.address);
  memoryChain.run(1, { "ETH/USDT": OUTSIDE });
  const { status, settledAt, breach } = thesis();
  assert.deepEqual([status, settledAt], ["lost", memoryChain.now]);
  assert.deepEqual(breach, { time: start + 700, price: OUTSIDE });
  const after = ledger.account(solver.address);
  assert.equal(after.balance, before.balance + 1_070_000n);
  assert.equal(after.locked, 0n);
  assert.deepEqual(
    memoryChain.theses.map((each) => each.status),
    ["open", "lost"],
    "subscribers are told",
  );
  assert.equal(memoryChain.chain.settle(1).status, "lost");
});

Deno.test("Chain: a backfill that fills a price outside settles an open thesis at once", () => {
  const { memoryChain, start, thesis } = chainWithBet(0, 3_600_000);
  memoryChain.run(3);
  memoryChain.run(2, null);
  memoryChain.holdUp(4_000); // without fresh prices
  memoryChain.run(2);
  assert.equal(thesis().status, "open");
  assert.equal(memoryChain.fill(start + 1_000, start + 1_100).filledSlots, 1);
  assert.equal(thesis().status, "open");
  assert.equal(memoryChain.fill(start + 2_000, start + 2_100, OUTSIDE).filledSlots, 1);
  assert.deepEqual(thesis().breach, { time: start + 2_000, price: OUTSIDE });
});
