import assert from "node:assert/strict";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { SettlementError } from "../../services/node/chain/errors.ts";
import { withLogs } from "../support/recorded_logs.ts";
import { deposit, ETH, rfqSubmit } from "./support/actors.ts";
import { pricesBody } from "./support/fake_oracle.ts";
import { MemoryChain } from "./support/chains.ts";
import { withSteppedNode } from "./support/stepped_node.ts";

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

Deno.test("price oracle spec, States: stale prices leave a gap; the thesis waits until a backfill has filled all of it", () => {
  const test = MemoryChain.funded();
  const start = test.now;
  test.bet({ endTime: start + 10_000 });
  test.run(50, null);
  test.run(60);
  const { settlements } = test.chain.state;
  assert.deepEqual([test.statuses, settlements.withoutPricesCount], [["needs_backfill"], 1]);
  assert.deepEqual(missingOf(test), [{ from: start + 3_100, to: start + 5_100 }]);
  assert.equal(test.fill(start + 4_000, start + 4_500).filledSlots, 5);
  assert.deepEqual(missingOf(test), [
    { from: start + 3_100, to: start + 4_000 },
    { from: start + 4_500, to: start + 5_100 },
  ]);
  assert.deepEqual(test.statuses, ["needs_backfill"]);
  const receipt = test.fill(start + 3_000, start + 5_200);
  assert.deepEqual([receipt.status, receipt.filledSlots], ["committed", 15]);
  assert.deepEqual([test.statuses, settlements.withoutPricesCount], [["won"], 0]);
  assert.deepEqual(test.theses.map(({ status }) => status), ["open", "needs_backfill", "won"]);
  test.requireConserved();
});

Deno.test("Outage: slots after the newest checkpoint cannot be filled", () => {
  const test = MemoryChain.funded();
  const { timestampMs } = test.chain.head;
  test.clock.jump(150);
  const receipt = test.fill(timestampMs, timestampMs + 200);
  assert.equal(receipt.error?.code, "INVALID_TIME_RANGE", "its time has come, but no checkpoint");
  assert.equal(test.fill(timestampMs, timestampMs + 100).status, "committed");
});

Deno.test("Outage: after a whole ring without prices, the whole window is missing", () => {
  const test = MemoryChain.funded({ ringBufferSize: 64 });
  const start = test.now;
  test.bet({ endTime: start + 5_000 });
  test.run(10);
  test.holdUp(64 * 100 + 1_000);
  test.run(1);
  assert.deepEqual(missingOf(test), [{ from: start, to: start + 5_000 }]);
});

Deno.test("Outage: a thesis longer than the ring is settled after a backfill of older slots", () => {
  const test = MemoryChain.funded({ ringBufferSize: 64 });
  const start = test.now;
  test.bet({ endTime: start + 10_000 });
  test.run(100);
  const missing = missingOf(test);
  assert.deepEqual(missing, [{ from: start, to: start + 3_700 }]);
  // Prices that an attempt has read stay decided, although the ring overwrites them.
  test.run(50);
  assert.deepEqual(missingOf(test), missing);
  assert.equal(test.fill(start - 1_000, start + 3_700).filledSlots, 37);
  assert.deepEqual(test.statuses, ["won"]);
});

Deno.test("Outage: a backfill between two checkpoints does not settle a thesis that ends at the next one", () => {
  const test = MemoryChain.funded();
  test.bet({ endTime: test.now + 1_050 });
  test.run(10);
  test.clock.advance(70);
  test.fill(test.now - test.now % 100 - 5_000, test.now - test.now % 100 - 4_000);
  assert.deepEqual(test.statuses, ["open"]);
  test.clock.advance(30);
  test.price();
  test.chain.checkpoint(test.now);
  assert.deepEqual(test.statuses, ["won"]);
});

Deno.test("Outage: a market without prices does not stop the others", () => {
  const test = MemoryChain.funded();
  for (let done = 0; done < 31; done++) {
    test.clock.advance(100);
    const { "ETH/USDT": _gone, ...prices } = pricesBody(test.now).prices;
    assert.equal(test.chain.oraclePrices.update({ prices }, test.now), 2);
    test.chain.checkpoint(test.now);
  }
  assert.equal(test.bet().error?.code, "ORACLE_STALE");
  const { base, quote } = MARKETS[0]!;
  const onBtc = { base, quote, upperPrice: 70_000_000_000n };
  assert.equal(test.bet(onBtc).status, "committed");
  assert.deepEqual(test.missing, [ETH]);
});

Deno.test("Node: logs theses that have ended without all prices once, a line for many", () =>
  withLogs("warning", (records) =>
    withSteppedNode(async ({ stepped, client, clock }) => {
      const timestamp = stepped.now;
      await client.sendTransaction(deposit({ timestamp, amount: 50_000_000n }));
      for (let count = 0n; count < 12n; count++) {
        await client.sendTransaction(rfqSubmit({ timestamp, payout: 1_070_000n + count }));
      }
      clock.jump(1_500);
      await stepped.run(15);
      const lines = records.filter(({ properties }) => properties.event === "needs_backfill")
        .map(({ message }) => message.join(""));
      assert.deepEqual(lines, [
        "Theses have ended with prices missing: 1 and 11 more; " +
        "rangemaker backfill --thesis <id> fills them in",
      ]);
    })));
