import assert from "node:assert/strict";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { SettlementError } from "../../services/node/chain/errors.ts";
import { withLogs } from "../support/recorded_logs.ts";
import { actors, backfill, deposit, ETH, hashOf, rfqSubmit } from "./support/actors.ts";
import { pricesBody } from "./support/fake_oracle.ts";
import { MemoryChain } from "./support/chain_in_memory.ts";
import { withSteppedNode } from "./support/stepped_node.ts";

const INSIDE = 3_000_000_000n;

function fundedChain(ringSlots?: number): MemoryChain {
  const test = new MemoryChain({ ringSlots });
  test.run(3);
  test.chain.submit(deposit({
    timestamp: test.now,
    user: actors.user.address,
    amount: 5_000_000n,
    externalTxHash: hashOf(1),
  }));
  return test;
}

/** Opens a thesis from now on. */
function open(test: MemoryChain, durationMs: number): void {
  const fields = { timestamp: test.now, endTime: test.now + durationMs };
  assert.equal(test.chain.submit(rfqSubmit(fields)).status, "committed");
}

function statusOf(test: MemoryChain, id = 1): string | undefined {
  return test.chain.state.ledger.thesis(id)?.status;
}

/** The spans that a requested settlement reports as missing. */
function missingOf(test: MemoryChain): unknown {
  try {
    test.chain.settle(1);
  } catch (thrown) {
    assert.ok(thrown instanceof SettlementError);
    assert.equal(thrown.code, "NeedsBackfill");
    return thrown.details.missing;
  }
}

function fill(test: MemoryChain, from: number, to: number, price = INSIDE) {
  const prices = Array<bigint>((to - from) / 100).fill(price);
  return test.chain.submit(backfill({ timestamp: test.now, startTime: from, prices }));
}

Deno.test("price oracle spec, States: stale prices leave a gap; the thesis waits until a backfill has filled all of it", () => {
  const test = fundedChain();
  const start = test.now;
  open(test, 10_000);
  test.run(50, null);
  test.run(60);
  const { settlements, ledger } = test.chain.state;
  assert.deepEqual([statusOf(test), settlements.withoutPricesCount], ["needs_backfill", 1]);
  assert.deepEqual(missingOf(test), [{ from: start + 3_100, to: start + 5_100 }]);
  assert.equal(fill(test, start + 4_000, start + 4_500).filledSlots, 5);
  assert.deepEqual(missingOf(test), [
    { from: start + 3_100, to: start + 4_000 },
    { from: start + 4_500, to: start + 5_100 },
  ]);
  assert.equal(statusOf(test), "needs_backfill");
  const receipt = fill(test, start + 3_000, start + 5_200);
  assert.deepEqual([receipt.status, receipt.filledSlots], ["committed", 15]);
  assert.deepEqual([statusOf(test), settlements.withoutPricesCount], ["won", 0]);
  assert.deepEqual(test.theses.map(({ status }) => status), ["open", "needs_backfill", "won"]);
  assert.equal(ledger.holdings, ledger.issued);
});

Deno.test("Outage: slots after the newest checkpoint cannot be filled", () => {
  const test = fundedChain();
  const { timestampMs } = test.chain.head;
  test.clock.jump(150);
  const receipt = fill(test, timestampMs, timestampMs + 200);
  assert.equal(receipt.error?.code, "INVALID_TIME_RANGE", "its time has come, but no checkpoint");
  assert.equal(fill(test, timestampMs, timestampMs + 100).status, "committed");
});

Deno.test("Outage: after a whole ring without prices, the whole window is missing", () => {
  const test = fundedChain(64);
  const start = test.now;
  open(test, 5_000);
  test.run(10);
  test.holdUp(64 * 100 + 1_000);
  test.run(1);
  assert.deepEqual(missingOf(test), [{ from: start, to: start + 5_000 }]);
});

Deno.test("Outage: a thesis longer than the ring is settled after a backfill of older slots", () => {
  const test = fundedChain(64);
  const start = test.now;
  open(test, 10_000);
  test.run(100);
  const missing = missingOf(test);
  assert.deepEqual(missing, [{ from: start, to: start + 3_700 }]);
  // Prices that an attempt has read stay decided, although the ring overwrites them.
  test.run(50);
  assert.deepEqual(missingOf(test), missing);
  assert.equal(fill(test, start - 1_000, start + 3_700).filledSlots, 37);
  assert.equal(statusOf(test), "won");
});

Deno.test("Outage: a backfill between two checkpoints does not settle a thesis that ends at the next one", () => {
  const test = fundedChain();
  open(test, 1_050);
  test.run(10);
  test.clock.advance(70);
  fill(test, test.now - test.now % 100 - 5_000, test.now - test.now % 100 - 4_000);
  assert.equal(statusOf(test), "open");
  test.clock.advance(30);
  test.price();
  test.chain.checkpoint(test.now);
  assert.equal(statusOf(test), "won");
});

Deno.test("Outage: a market without prices does not stop the others", () => {
  const test = fundedChain();
  for (let done = 0; done < 31; done++) {
    test.clock.advance(100);
    const { "ETH/USDT": _gone, ...prices } = pricesBody(test.now).prices;
    assert.equal(test.chain.oraclePrices.update({ prices }, test.now), 2);
    test.chain.checkpoint(test.now);
  }
  const timestamp = test.now;
  assert.equal(test.chain.submit(rfqSubmit({ timestamp })).error?.code, "ORACLE_STALE");
  const { base, quote } = MARKETS[0]!;
  const onBtc = { timestamp, base, quote, upperPrice: 70_000_000_000n };
  assert.equal(test.chain.submit(rfqSubmit(onBtc)).status, "committed");
  assert.deepEqual(test.missing, [ETH]);
});

Deno.test("Node: logs each thesis that has ended without all prices once, a line for many", () =>
  withLogs("warning", (records) =>
    withSteppedNode(async ({ stepped, client, clock }) => {
      const timestamp = stepped.now;
      const funds = { user: actors.user.address, amount: 50_000_000n, externalTxHash: hashOf(1) };
      await client.sendTransaction(deposit({ timestamp, ...funds }));
      for (let count = 0n; count < 12n; count++) {
        await client.sendTransaction(rfqSubmit({ timestamp, payout: 1_070_000n + count }));
      }
      clock.jump(1_500);
      await stepped.run(15);
      const lines = records.filter(({ properties }) => properties.event === "needs_backfill")
        .map(({ message }) => message.join(""));
      const ten = Array.from({ length: 10 }, (_, index) => `${index + 1} (9 slots)`).join(", ");
      assert.deepEqual(lines, [
        `Theses have ended with prices missing: ${ten} and 2 more; ` +
        "rangemaker backfill --thesis <id> fills them in",
      ]);
    })));
