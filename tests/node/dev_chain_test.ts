/** Money from nowhere, snapshots and time travel of a development chain, without a network. */
import assert from "node:assert/strict";
import type { RandomSource } from "../../lib/random.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { MINUTE_MS } from "../../lib/time.ts";
import { SETTLEMENTS_PER_SLICE } from "../../services/node/chain/state.ts";
import { DevChain } from "../../services/node/dev_chain.ts";
import { StorageError } from "../../services/node/store/database.ts";
import { withSeed } from "../support/random.ts";
import { actors, deposit, ETH, hashOf, rfqSubmit } from "./support/actors.ts";
import { MemoryChain, openTheses } from "./support/chains.ts";

const { user, solver } = actors;
const PRICE = 3_000_000_000n;
const OUTSIDE = 3_300_000_000n;

/** A development chain with prices and a funded user. */
function startChain(options: ConstructorParameters<typeof MemoryChain>[0] = {}) {
  const test = MemoryChain.funded({ ringBufferSize: 16_384, ...options }, 50_000_000n);
  const continued: number[] = [];
  const dev = new DevChain({
    chain: test.chain,
    clock: test.travelClock,
    records: test.records,
    continueAfter: (headMs) => void continued.push(headMs),
  });
  return { test, dev, continued };
}

function openThesis(test: MemoryChain, durationMs: number, upperPrice = 3_150_000_000n): number {
  const receipt = test.bet({ endTime: test.now + durationMs, upperPrice });
  assert.equal(receipt.status, "committed", receipt.error?.message);
  return receipt.thesisId!;
}

const statusOf = (test: MemoryChain, id: number) => test.chain.state.ledger.findThesis(id)?.status;

/** Everything that a snapshot has to restore. */
function fingerprint(test: MemoryChain) {
  const { chain, now } = test;
  const { ledger, histories, settlements } = chain.state;
  const prices = [...histories].map(([{ symbol }, { ring }]) => {
    const known: [number, bigint][] = [];
    for (let time = chain.head.timestampMs - 30 * MINUTE_MS; time <= now; time += 100) {
      const price = ring.at(time);
      if (price !== undefined) known.push([time, price]);
    }
    return { symbol, known };
  });
  return structuredClone({
    now,
    prices,
    position: chain.blocks.position,
    accounts: [user, solver].map(({ address }) => ledger.account(address)),
    theses: ledger.theses,
    issued: test.requireConserved(),
    unsettled: settlements.unsettledCount,
  });
}

Deno.test("DevChain: the faucet is a deposit, so the total stays consistent", () => {
  const relayers = [DEV_ACCOUNTS.relayer.address, actors.relayer.address];
  const { test, dev } = startChain({ relayers });
  const { ledger } = test.chain.state;
  const issued = test.requireConserved();
  for (const amount of [5n, 7n]) {
    assert.equal(dev.faucet(actors.stranger.address, amount).status, "committed");
  }
  assert.equal(ledger.account(actors.stranger.address).balance, 12n);
  assert.equal(test.requireConserved(), issued + 12n);
  assert.equal(test.records.state.totals.deposits.rows, 3);
});

Deno.test("DevChain: without the development relayer in the genesis, the faucet's error names its address", () => {
  const { dev } = startChain();
  const { status, error } = dev.faucet(user.address, 5n);
  assert.deepEqual([status, error?.code], ["failed", "PERMISSION_DENIED"]);
  assert.match(error!.message, new RegExp(DEV_ACCOUNTS.relayer.address));
});

Deno.test("DevChain: advancing records every slot at the last price, and settles theses that end", () => {
  const { test, dev, continued } = startChain();
  const first = openThesis(test, MINUTE_MS);
  const second = openThesis(test, 5 * MINUTE_MS);
  const third = openThesis(test, 11 * MINUTE_MS);
  const { now, chain } = test;
  const { number } = chain.head;
  const moment = dev.advance(10 * MINUTE_MS, new Map());
  assert.deepEqual(moment, { now: now + 10 * MINUTE_MS, blockNumber: number + 1 });
  assert.equal(test.now, moment.now);
  assert.equal(chain.head.timestampMs, moment.now);
  assert.deepEqual(continued, [moment.now]);
  assert.deepEqual([first, second, third].map((id) => statusOf(test, id)), ["won", "won", "open"]);
  // Each is settled at its own end, not at the end of the jump.
  const settledAt = test.theses.flatMap((thesis) => thesis.settledAt ?? []);
  assert.deepEqual(settledAt, [now + MINUTE_MS, now + 5 * MINUTE_MS]);
  const { missing } = chain.state.histories.get(ETH)!.checkRange(now, moment.now);
  assert.deepEqual(missing, []);
  assert.deepEqual(test.missing, []);
  test.run(10 * 60);
  assert.equal(statusOf(test, third), "won");
});

Deno.test("DevChain: advancing settles all theses that are due, over several checkpoints if needed", () => {
  const { test, dev } = startChain();
  const timestamp = test.now;
  const count = 2 * SETTLEMENTS_PER_SLICE + 1; // one slice at the checkpoint, and two more
  const tx = rfqSubmit({ timestamp, endTime: timestamp + MINUTE_MS, betAmount: 1n, payout: 2n });
  openTheses(test.chain, test.records, tx, count);
  dev.advance(MINUTE_MS, new Map());
  assert.deepEqual(test.statuses, Array(count).fill("won"));
});

Deno.test("DevChain: advancing records the slots of the time that it takes too", () => {
  const { test, dev } = startChain();
  const { chain, now } = test;
  const recordSlot = chain.recordSlot.bind(chain);
  chain.recordSlot = (dueMs, priceOf) => {
    if (dueMs === now + 100) test.holdUp(2_500);
    recordSlot(dueMs, priceOf);
  };
  assert.equal(dev.advance(MINUTE_MS, new Map()).now, now + MINUTE_MS + 2_500);
  assert.equal(chain.head.timestampMs, now + MINUTE_MS + 2_500);
  assert.deepEqual(test.missing, []);
});

Deno.test("DevChain: advancing by less than a slot makes no block", () => {
  const { test, dev } = startChain();
  const { head } = test.chain;
  assert.deepEqual(dev.advance(99, new Map()), {
    now: head.timestampMs + 99,
    blockNumber: head.number,
  });
  assert.equal(test.chain.head, head);
});

Deno.test("DevChain: advancing beyond the ring settles a thesis on the way", () => {
  const { test, dev } = startChain({ ringBufferSize: 1_024 });
  const id = openThesis(test, MINUTE_MS);
  dev.advance(60 * MINUTE_MS, new Map());
  assert.equal(statusOf(test, id), "won");
});

Deno.test("DevChain: advancing at a given price records it in every slot, and one outside the range is a breach", () => {
  const { test, dev } = startChain();
  const id = openThesis(test, 10 * MINUTE_MS);
  for (const price of [PRICE, OUTSIDE, PRICE]) dev.advance(MINUTE_MS, new Map([[ETH, price]]));
  const { now, chain: { state } } = test;
  const thesis = state.ledger.findThesis(id);
  const breach = { time: now - 2 * MINUTE_MS + 100, price: OUTSIDE };
  assert.deepEqual([thesis?.status, thesis?.breach], ["lost", breach]);
  const history = state.historyOf(ETH);
  const cases = [[2 * MINUTE_MS, PRICE], [MINUTE_MS, OUTSIDE], [0, PRICE]] as const;
  for (const [agoMs, price] of cases) {
    for (const earlierMs of [MINUTE_MS - 100, 0]) {
      assert.equal(history.at(now - agoMs - earlierMs), price);
    }
  }
});

Deno.test("DevChain: advancing with stale prices leaves slots missing, unless a price is given", () => {
  const { test, dev } = startChain();
  openThesis(test, MINUTE_MS);
  test.run(31, null);
  dev.advance(2 * MINUTE_MS, new Map());
  assert.equal(statusOf(test, 1), "needs_backfill");
  test.run(1);
  openThesis(test, MINUTE_MS);
  test.run(40, null);
  assert.equal(test.chain.oraclePrices.isFresh(ETH, test.now), false);
  const missing = test.chain.state.historyOf(ETH).checkRange(test.now - 5_000, test.now).missing;
  assert.notEqual(missing.length, 0);
  dev.advance(100, new Map([[ETH, PRICE]]));
  assert.equal(test.chain.state.histories.get(ETH)!.at(test.now), PRICE);
});

Deno.test("DevChain: advancing keeps the age of prices, and newer prices are still accepted", () => {
  const { test, dev } = startChain();
  test.run(20, null);
  const view = () => test.chain.oraclePrices.view(test.now)["ETH/USDT"];
  const before = view();
  dev.advance(60 * MINUTE_MS, new Map());
  assert.deepEqual([view()?.ageMs, view()?.state], [before?.ageMs, "fresh"]);
  // The oracle stays in the present.
  test.clock.advance(100);
  test.price({ "ETH/USDT": 3_001_000_000n });
  assert.deepEqual([view()?.price, view()?.lastUpdate], [3_001_000_000n, test.now]);
});

Deno.test("DevChain: a revert restores clock, prices, blocks and ledger, and reports the changes", () => {
  const { test, dev, continued } = startChain();
  const id = openThesis(test, MINUTE_MS);
  openThesis(test, 10 * MINUTE_MS, OUTSIDE); // its status does not change
  const before = fingerprint(test);
  const snapshot = dev.snapshot();
  for (const price of [PRICE, OUTSIDE, PRICE]) {
    test.clock.advance(1_234);
    test.price();
    dev.advance(2 * MINUTE_MS, new Map([[ETH, price]]));
    openThesis(test, MINUTE_MS);
    assert.equal(statusOf(test, id), price === PRICE ? "won" : "lost");
    test.heads.length = test.theses.length = 0;
    const { number, timestampMs } = before.position.head;
    assert.deepEqual(dev.revert(snapshot), { now: before.now, blockNumber: number });
    assert.deepEqual(fingerprint(test), before);
    assert.equal(continued.at(-1), timestampMs);
    assert.deepEqual(test.heads.map((head) => head.number), [number]);
    assert.deepEqual(test.theses.map((thesis) => [thesis.id, thesis.status]), [[id, "open"]]);
    assert.equal(test.chain.blocks.findBlock(number + 1), undefined);
  }
  // The same chain continues, without a gap in its prices.
  test.run(600);
  assert.equal(statusOf(test, id), "won");
  assert.equal(
    test.chain.blocks.findBlock(before.position.head.number + 1)?.parentHash,
    before.position.head.hash,
  );
});

Deno.test("DevChain: after a revert, quotes and nonces used since the snapshot can be used again", () => {
  const { test, dev } = startChain();
  const earlier = test.bet({ betAmount: 60_000_000n, payout: 60_000_001n });
  assert.equal(earlier.status, "failed");
  const snapshot = dev.snapshot();
  const credit = { timestamp: test.now, user: user.address, amount: 3n };
  const tx = deposit({ ...credit, externalTxHash: hashOf(9) });
  const refused = deposit({ ...credit, externalTxHash: hashOf(10), by: actors.stranger });
  const [first, failed] = [test.chain.submit(tx), test.chain.submit(refused)];
  dev.revert(snapshot);
  assert.equal(test.chain.findReceipt(first.txHash), undefined);
  assert.equal(test.chain.findReceipt(failed.txHash), undefined);
  assert.deepEqual(test.chain.findReceipt(earlier.txHash), earlier);
  assert.equal(test.chain.submit(tx).status, "committed");
  test.requireConserved();
});

Deno.test("DevChain: a revert whose records fail leaves clock and snapshots as they were", () => {
  const { test, dev } = startChain();
  const first = dev.snapshot();
  dev.advance(MINUTE_MS, new Map());
  const second = dev.snapshot();
  const { now } = test;
  test.records.revertTo = () => {
    throw new StorageError("The chain cannot be read");
  };
  assert.throws(() => dev.revert(first), StorageError);
  assert.equal(test.now, now);
  Reflect.deleteProperty(test.records, "revertTo"); // that of the class counts again
  assert.equal(dev.revert(second).now, now);
});

Deno.test("DevChain: a revert deletes later snapshots, and the oldest are dropped at the limit", () => {
  const { test, dev } = startChain();
  const [first, second] = [dev.snapshot(), dev.snapshot()];
  dev.revert(first);
  assert.throws(() => dev.revert(second), /No snapshot has the id 2: there are 1/);
  dev.revert(first);
  const before = test.now;
  for (let made = 1; made < 16; made++) dev.snapshot();
  dev.revert(first);
  for (let made = 1; made <= 16; made++) dev.snapshot();
  assert.throws(() => dev.revert(first), { code: "UNKNOWN_SNAPSHOT" });
  assert.equal(test.now, before);
});

/** Does something at random to the chain. */
function act({ test, dev }: ReturnType<typeof startChain>, random: RandomSource): void {
  const choice = Math.floor(random() * 5);
  const timestamp = test.now;
  if (choice === 0) dev.advance(100 * Math.ceil(random() * 900), new Map());
  if (choice === 1) test.run(Math.ceil(random() * 40), random() < 0.5 ? null : undefined);
  if (choice === 2) {
    const endTime = timestamp + 100 * Math.ceil(random() * 600);
    test.bet({ endTime });
  }
  if (choice === 3) {
    dev.advance(100, new Map([[ETH, random() < 0.3 ? OUTSIDE : PRICE]]));
  }
  if (choice === 4) {
    const startTime = test.chain.head.timestampMs - 100 * Math.ceil(random() * 60);
    test.fill(startTime, startTime + 100);
  }
}

Deno.test("DevChain: after random events, a revert restores the snapshot's state", async () => {
  await withSeed((random) => {
    for (let round = 0; round < 8; round++) {
      const parts = startChain();
      const taken = new Map<number, ReturnType<typeof fingerprint>>();
      for (let step = 0; step < 40; step++) {
        const choice = random();
        if (choice < 0.2) {
          const expected = fingerprint(parts.test);
          taken.set(parts.dev.snapshot(), expected);
        } else if (taken.size > 0 && choice < 0.4) {
          const ids = [...taken.keys()];
          const id = ids[Math.floor(random() * ids.length)]!;
          for (const later of ids) if (later > id) taken.delete(later);
          parts.dev.revert(id);
          assert.deepEqual(fingerprint(parts.test), taken.get(id));
        } else act(parts, random);
        parts.test.requireConserved();
      }
    }
  });
});
