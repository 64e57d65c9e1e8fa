/** A chain on the disk whose markets change between two starts. */
import assert from "node:assert/strict";
import { startNode } from "../../../services/node/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { marketsToml, withFolder, withMarketsFile } from "../../support/files.ts";
import { actors, backfill, deposit, ETH, hashOf, rfqSubmit } from "../support/actors.ts";
import { testOptions } from "../support/running_node.ts";
import { withSteppedNode } from "../support/stepped_node.ts";

const ETH_ONLY = `[[market]]\nsymbol = "ETH/USDT"\nbase = "${ETH.base}"\nquote = "${ETH.quote}"\n`;

Deno.test("Node --data-dir: a market can be removed only if it has no open thesis", () =>
  withFolder(async (dataDir) => {
    const clock = new FakeClock();
    const funds = { user: actors.user.address, amount: 5_000_000n, externalTxHash: hashOf(1) };
    await withSteppedNode(
      async ({ client, stepped }) => {
        const timestamp = stepped.now;
        await client.sendTransaction(deposit({ timestamp, ...funds }));
        const receipt = await client.sendTransaction(rfqSubmit({ timestamp }));
        assert.equal(receipt.status, "committed");
        const filled = backfill({ timestamp, startTime: timestamp - 1_000, prices: [1n] });
        assert.equal((await client.sendTransaction(filled)).filledSlots, 1);
      },
      { dataDir },
      clock,
    );

    await withMarketsFile(marketsToml(2), async (markets) => {
      await assert.rejects(startNode(testOptions({ dataDir, markets }), clock, clock.monotonic), {
        code: "DATA_DIR",
        message: new RegExp(
          `contains the open thesis 1 on ${ETH.base} / ${ETH.quote}, .* to the --markets file$`,
        ),
      });
    });
    // Settled with the market alone, after which it can go.
    await withMarketsFile(ETH_ONLY, async (markets) => {
      clock.advance(100);
      await withSteppedNode(
        async ({ client, stepped }) => {
          await stepped.runUntil(clock.now() + 1_100);
          const { status, endTime } = (await client.getThesis(1))!;
          assert(endTime < stepped.now);
          assert.notEqual(status, "open");
          const missing = backfill({
            timestamp: stepped.now,
            startTime: endTime - 1_000,
            prices: Array(10).fill(3_000_000_000n),
          });
          await client.sendTransaction(missing);
          assert.equal((await client.getThesis(1))?.status, "won");
        },
        { dataDir, markets },
        clock,
      );
    });
    await withMarketsFile(marketsToml(2), async (markets) => {
      await (await startNode(testOptions({ dataDir, markets }), clock, clock.monotonic)).stop();
    });
  }));
