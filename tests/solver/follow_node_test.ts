import assert from "node:assert/strict";
import { systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { toWire } from "../../lib/protocol/wire.ts";
import { followNode } from "../../services/solver/follow_node.ts";
import { MinimumBet } from "../../services/solver/limits.ts";
import { MarketData } from "../../services/solver/market/market_data.ts";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { eventually } from "../support/eventually.ts";
import { FakeNode } from "../support/fake_node.ts";
import { withLogs } from "../support/recorded_logs.ts";
import { publishPrice, SPOT } from "./prices.ts";
import { market, solver } from "./support.ts";
import { thesisOf } from "./theses.ts";

Deno.test("followNode: exposure, theses, prices and chain follow the node, until its connection is lost", () =>
  withLogs("error", async (records) => {
    const node = FakeNode.start(5);
    node.methods.set("core_getTheses", () => ({ theses: [], nextCursor: null }));
    node.methods.set("core_getLimits", () => ({ minBetAmount: "7", maxStartAheadMs: 0 }));
    const exposure = new ExposureBook(undefined);
    const minimumBet = new MinimumBet();
    const marketData = new MarketData({ floor: 0.1, minHistoryMs: 1_000 });
    const theses: number[] = [];
    let reconciled = 0;
    const { start, stop } = followNode({
      wsUrl: node.wsUrl,
      chainId: 1337,
      solver: solver.address,
      node: new CoreClient({ url: node.url }),
      clock: systemClock,
      exposure,
      minimumBet,
      reservations: {
        settled: ({ id }) => Promise.resolve(void theses.push(id)),
        reconcileOrLog() {
          assert.ok(exposure.complete);
          reconciled += 1;
          return Promise.resolve();
        },
      },
      marketData,
    });
    try {
      assert.equal(node.feed.count("prices"), 0, "it waits for its start");
      start();
      await eventually("all open theses", () => exposure.complete || undefined);
      assert.equal(minimumBet.amount, 7n);
      await eventually("the other chain", () => records.length > 0 || undefined);
      assert.deepEqual(records.map(({ properties }) => properties.event), ["chain_mismatch"]);
      node.feed.publish("theses", toWire(thesisOf(7)));
      publishPrice(node);
      await eventually("a price", () => marketData.of(market).spot);
      assert.deepEqual([marketData.of(market).spot?.price, theses], [BigInt(SPOT), [7]]);
      node.paused = true;
      await node.feed.disconnect();
      await eventually("the loss", () => exposure.complete ? undefined : true);
      node.methods.delete("core_getLimits"); // as an older node
      node.paused = false;
      await eventually("all open theses again", () => exposure.complete || undefined);
      assert.equal(reconciled, 2, "after each reading");
      assert.equal(minimumBet.amount, 1n);
      await stop();
      assert.equal(exposure.complete, false, "nothing is followed any more");
      await eventually("the end", () => node.feed.count("prices") === 0 || undefined);
    } finally {
      await stop();
      await node.stop();
    }
  }));
