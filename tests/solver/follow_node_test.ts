import assert from "node:assert/strict";
import { withDefaults } from "../../lib/cli/options.ts";
import { systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { toWire } from "../../lib/protocol/wire.ts";
import { followNode } from "../../services/solver/follow_node.ts";
import { MinimumBet } from "../../services/solver/limits.ts";
import { MarketData } from "../../services/solver/market/market_data.ts";
import { options } from "../../services/solver/options.ts";
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
    const book = new MarketData({ floor: 0.1, minHistoryMs: 1_000 });
    const theses: number[] = [];
    let reconciled = 0;
    const { start, stop } = followNode(
      withDefaults(options, { privateKey: solver, rpcUrl: node.url, wsUrl: node.wsUrl }),
      solver.address,
      new CoreClient({ url: node.url }),
      systemClock,
      exposure,
      minimumBet,
      {
        settled: ({ id }) => Promise.resolve(void theses.push(id)),
        reconcileOrLog() {
          assert.ok(exposure.complete);
          reconciled += 1;
          return Promise.resolve();
        },
      },
      book,
    );
    try {
      assert.equal(node.feed.count("prices"), 0, "it waits for its start");
      start();
      await eventually("all open theses", () => exposure.complete || undefined);
      assert.equal(minimumBet.amount, 7n);
      await eventually("the other chain", () => records.length > 0 || undefined);
      assert.deepEqual(records.map(({ properties }) => properties.event), ["chain_mismatch"]);
      node.feed.publish("theses", toWire(thesisOf(7)));
      publishPrice(node);
      await eventually("a price", () => book.of(market).spot);
      assert.deepEqual([book.of(market).spot?.price, theses], [BigInt(SPOT), [7]]);
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
