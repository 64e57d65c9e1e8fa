/** The executor and the barrier strategy, on one book. */
import assert from "node:assert/strict";
import { decodeBet } from "../../../services/solver/execution/execution.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import { barrier } from "../pricing/barrier.ts";
import { noHedge, signed, withExecutor } from "./support.ts";

Deno.test("Executor: of two quotes on a box for an empty book, the second is refused; a new one is executed", async () => {
  const book = new ExposureBook(undefined, decodeBet);
  const { strategy, bet, clock } = barrier({}, {
    skew: {
      share: 0.5,
      capacity: 50n,
      correlatedRisk: (bet) => book.correlatedRisk(bet, clock.now()),
    },
  });
  const { lowerPrice, upperPrice, startTime, endTime } = bet;
  const box = { lowerPrice, upperPrice, startTime, endTime, betAmount: 100n };
  const quoteOf = (lifeMs: number) => {
    const { payout } = strategy.price({ ...bet, ...box });
    return signed(clock, { ...box, payout, deadline: clock.now() + lifeMs }).execution;
  };
  const [first, second] = [quoteOf(1_000), quoteOf(2_000)];
  await withExecutor(
    noHedge,
    async ({ executor, sent }) => {
      assert.equal((await executor.execute(first)).status, "committed");
      await assert.rejects(executor.execute(second), { code: "PRICE_MOVED" });
      const next = quoteOf(3_000);
      assert.ok(next.quote.payout < second.quote.payout);
      assert.equal((await executor.execute(next)).status, "committed");
      assert.equal(sent.length, 2);
    },
    { clock, exposure: book, strategy },
  );
});
