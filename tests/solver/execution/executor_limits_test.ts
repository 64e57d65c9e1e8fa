import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import { StoreError } from "../../../lib/intents/intent.ts";
import { decodeBet } from "../../../services/solver/execution/execution.ts";
import { Executor } from "../../../services/solver/execution/executor.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import type { Hedge } from "../../../services/solver/execution/hedge.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { quoteHashOf } from "../theses.ts";
import { noHedge, recorded, signed, withExecutor } from "./support.ts";

/** A book of this bound that knows all open theses. */
function completeBook(max: bigint): ExposureBook {
  const book = new ExposureBook(max, decodeBet);
  book.beginReading();
  book.endReading([]);
  return book;
}

Deno.test("Executor: an execution whose hedge was refused does not trigger the exposure warning", async () => {
  const clock = new FakeClock();
  const reports: string[] = [];
  const hedge: Hedge = {
    expectedMs: 0,
    cover: () => Promise.reject(new RangemakerError("HEDGE_REFUSED", "No cover")),
  };
  await withExecutor(
    hedge,
    async ({ executor, exposure }) => {
      const refused = signed(clock, { payout: 145n });
      await assert.rejects(executor.execute(refused.execution), { code: "HEDGE_REFUSED" });
      assert.equal(exposure.total, 0n);
      hedge.cover = () => Promise.resolve();
      await executor.execute(signed(clock, { payout: 140n, upperPrice: 3n }).execution);
      assert.deepEqual([exposure.total, reports], [40n, []]);
      await executor.execute(signed(clock, { payout: 140n, upperPrice: 4n }).execution);
      assert.deepEqual(reports, ["true 80/100"]);
    },
    clock,
    completeBook(100n),
    (isNear, total, max) => reports.push(`${isNear} ${total}/${max}`),
  );
});

Deno.test("Executor: before it refuses at the limit, it releases theses whose settlement was missed", async () => {
  const clock = new FakeClock();
  const first = signed(clock);
  const second = signed(clock, { upperPrice: 3n });
  await withExecutor(
    noHedge,
    async ({ executor, options, store, exposure, released }) => {
      await executor.execute(first.execution);
      exposure.beginReading();
      exposure.endReading([]);
      await store.release(first.quoteHash);
      await store.insert({ ...recorded(clock), key: quoteHashOf(7) }, { reserves: true });
      const insert = store.insert.bind(store);
      let attempts = 0;
      store.insert = (...parameters) => {
        attempts += 1;
        return insert(...parameters);
      };
      await assert.rejects(executor.execute(second.execution), { code: "EXPOSURE_TOO_LARGE" });
      assert.equal(attempts, 1, "nothing was released, so it is not tried again");
      released.push("one");
      await assert.rejects(executor.execute(second.execution), { code: "EXPOSURE_TOO_LARGE" });
      assert.equal(attempts, 3);
      const failing = new Executor({
        ...options,
        releaseSettled: () => Promise.reject(new StoreError("The store is away")),
      });
      await assert.rejects(failing.execute(second.execution), { code: "EXPOSURE_TOO_LARGE" });
      assert.equal(attempts, 4, "a release that fails does not hide the bound");
    },
    clock,
    completeBook(15n),
  );
});

for (const thrown of [new StoreError("The store is away"), new TypeError("A bug")]) {
  Deno.test(`Executor: after a ${thrown.name} of the store, nothing is released or retried`, () =>
    withExecutor(noHedge, async ({ executor, clock, store, released }) => {
      released.push("one");
      store.insert = () => Promise.reject(thrown);
      await assert.rejects(executor.execute(signed(clock).execution), thrown);
      assert.deepEqual(released, ["one"]);
    }));
}

Deno.test("Executor: a late quote is refused for its deadline, even with an invalid user signature", async () => {
  const clock = new FakeClock();
  await withExecutor(noHedge, async ({ executor }) => {
    const { execution } = signed(clock);
    const forged = { ...execution, userSignature: execution.quote.signature };
    await assert.rejects(executor.execute(forged), { code: "INVALID_SIGNATURE" });
    const { execution: done } = signed(clock, { upperPrice: 9n });
    await executor.execute(done);
    clock.jump(1_001);
    await assert.rejects(executor.execute(forged), { code: "DEADLINE_PASSED" });
    assert.equal((await executor.execute(done)).status, "committed", "it has its result");
  }, clock);
});
