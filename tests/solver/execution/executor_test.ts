import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import { OutcomeUnknownError, StoreError } from "../../../lib/intents/intent.ts";
import { IntentRefusedError } from "../../../lib/intents/submitter_options.ts";
import type { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import { encodeExecution } from "../../../services/solver/execution/execution.ts";
import type { Hedge } from "../../../services/solver/execution/hedge.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { stakeOf } from "../theses.ts";
import { noHedge, recorded, signed, withExecutor } from "./support.ts";

Deno.test("Executor: a hedge that takes longer than the quote lives ends the execution for good", async () => {
  const clock = new FakeClock();
  const slow: Hedge = {
    expectedMs: 0,
    cover() {
      clock.jump(1_001);
      return Promise.resolve();
    },
  };
  await withExecutor(slow, async ({ executor, exposure, sent }) => {
    const { execution } = signed(clock);
    for (let attempt = 0; attempt < 2; attempt++) {
      await assert.rejects(
        executor.execute(execution),
        /^RangemakerError: Quote deadline \d+ passed 1 ms/,
      );
    }
    assert.deepEqual([sent, exposure.total], [[], 0n]);
  }, clock);
});

Deno.test("Executor: the risk is reserved before the hedge, and kept for the thesis", async () => {
  const seen: bigint[] = [];
  let book: ExposureBook | undefined;
  const watching: Hedge = {
    expectedMs: 0,
    cover() {
      seen.push(book?.total ?? -1n);
      return Promise.resolve();
    },
  };
  await withExecutor(watching, async ({ executor, exposure, clock }) => {
    book = exposure;
    await executor.execute(signed(clock).execution);
    assert.deepEqual([seen, exposure.total, exposure.reservedQuotes], [[10n], 10n, []]);
  });
});

Deno.test("Executor: a failed check releases the risk and leaves no trace", async () => {
  const never: Hedge = { expectedMs: 0, cover: () => assert.fail("Nothing is hedged") };
  await withExecutor(never, async ({ executor, exposure, clock, store }) => {
    const { execution, quoteHash } = signed(clock, { payout: 151n });
    const words = /Payout 151 would risk 51 on one thesis, 1 above 50/;
    await assert.rejects(executor.execute(execution), words);
    assert.equal(exposure.total, 0n);
    assert.equal(await store.find(quoteHash), undefined);
  });
});

Deno.test("Executor: an execution of another process is reserved before its hedge, or ends", async () => {
  await withExecutor(noHedge, async ({ executor, exposure, clock, store }) => {
    const { intent } = await store.insert(recorded(clock));
    await executor.prepare(intent);
    assert.equal(exposure.reservedQuotes.length, 1);
    clock.jump(2_000);
    await assert.rejects(executor.prepare(intent), IntentRefusedError);
  });
});

Deno.test("Executor: an execution that was left unfinished is checked again before it is hedged and signed", async () => {
  const hedged: string[] = [];
  const counting: Hedge = {
    expectedMs: 0,
    cover: (quoteHash) => Promise.resolve(void hedged.push(quoteHash)),
  };
  const clock = new FakeClock();
  await withExecutor(counting, async ({ executor, submitter, store, sent }) => {
    // Recorded by a run that was allowed to risk more.
    const { quoteHash, execution } = signed(clock, {
      payout: 151n,
      deadline: clock.now() + 600_000,
    });
    const old = { ...recorded(clock), key: quoteHash, payload: encodeExecution(execution) };
    const { intent } = await store.insert({ ...old, expiresAtMs: clock.now() + 600_000 });
    clock.jump(60_000);
    await assert.rejects(executor.prepare(intent), /Payout 151 would risk 51 on one thesis/);
    assert.deepEqual((await submitter.submit(intent)).failure?.code, "RISK_TOO_LARGE");
    assert.deepEqual([hedged, sent], [[], []]);
  }, clock);
});

Deno.test("Executor: an execution that cannot be recorded releases its risk", () =>
  withExecutor(noHedge, async ({ executor, exposure, clock, store, sent }) => {
    store.insert = () => Promise.reject(new StoreError("Database failed: disk is full"));
    await assert.rejects(executor.execute(signed(clock).execution), StoreError);
    assert.deepEqual([exposure.total, sent], [0n, []]);
  }));

Deno.test("Executor: a failed receipt releases the risk, an unknown outcome keeps it reserved", () =>
  withExecutor(noHedge, async ({ executor, exposure, clock, store }) => {
    const { intent } = await store.insert(recorded(clock));
    exposure.reserve(intent.key, stakeOf(10n));
    executor.ended({ ...intent, state: "submitted" });
    assert.equal(exposure.reservedQuotes.length, 1);
    executor.ended({ ...intent, state: "failed" });
    assert.equal(exposure.total, 0n);
  }));

Deno.test("Executor: a restart reserves every unfinished execution, more than one page of them too", () =>
  withExecutor(noHedge, async ({ executor, exposure, clock, store }) => {
    const execution = recorded(clock);
    const count = 1_001;
    for (let n = 0; n < count; n++) {
      // Half of them by a process whose clock was ahead.
      const createdAtMs = clock.now() + (n % 2) * 60_000;
      await store.insert({ ...execution, key: `0x${n.toString(16)}`, createdAtMs });
    }
    const { intent } = await store.insert({ ...execution, key: "0xfinished" });
    await store.finish(intent, { state: "failed", receipt: null, failure: null }, clock.now());
    await executor.restore();
    assert.deepEqual([exposure.reservedQuotes.length, exposure.total], [
      count,
      10n * BigInt(count),
    ]);
  }));

Deno.test("Executor: a hedge that ends at the deadline is in time", async () => {
  const clock = new FakeClock();
  const justInTime: Hedge = {
    expectedMs: 0,
    cover() {
      clock.jump(1_000);
      return Promise.resolve();
    },
  };
  await withExecutor(justInTime, async ({ executor, sent }) => {
    assert.equal((await executor.execute(signed(clock).execution)).status, "committed");
    assert.equal(sent.length, 1);
  }, clock);
});

Deno.test("Executor: a quote that somebody else signed is refused and leaves no trace", () =>
  withExecutor(noHedge, async ({ executor, exposure, clock, store, sent }) => {
    const { execution, quoteHash } = signed(clock);
    const { quote, userSignature } = execution;
    // The user has signed both.
    const forged = { quote: { ...quote, signature: userSignature }, userSignature };
    await assert.rejects(executor.execute(forged), { code: "INVALID_SIGNATURE" });
    assert.equal(await store.find(quoteHash), undefined);
    assert.deepEqual([sent, exposure.total], [[], 0n]);
  }));

Deno.test("Executor: what an earlier run left unfinished is written to before it is acted on", () => {
  const order: string[] = [];
  const noting: Hedge = {
    expectedMs: 0,
    cover() {
      order.push("hedged");
      return Promise.resolve();
    },
  };
  return withExecutor(noting, async ({ executor, clock, store }) => {
    await store.insert(recorded(clock), { reserves: true });
    const recordAttempt = store.recordAttempt.bind(store);
    store.recordAttempt = (key, nowMs) => {
      order.push("written");
      return recordAttempt(key, nowMs);
    };
    await executor.execute(signed(clock).execution);
    assert.deepEqual(order, ["written", "hedged"]);
  });
});

Deno.test("Executor: while the node has another chain nothing is recorded", () =>
  withExecutor(noHedge, async ({ executor, exposure, clock, store, sent, chain }) => {
    const { execution, quoteHash } = signed(clock);
    const other = new RangemakerError("CHAIN_MISMATCH", "Another chain");
    chain.require = () => Promise.reject(other);
    await assert.rejects(executor.execute(execution), other);
    assert.equal(await store.find(quoteHash), undefined);
    assert.deepEqual([sent, exposure.total], [[], 0n]);
  }));

Deno.test("Executor: a hedge that may succeed later leaves the outcome open, and the risk reserved", () => {
  const busy: Hedge = {
    expectedMs: 0,
    cover: () => Promise.reject(new RangemakerError("BUSY", "Too busy", { retryable: true })),
  };
  return withExecutor(busy, async ({ executor, exposure, clock, store }) => {
    const { execution, quoteHash } = signed(clock);
    await assert.rejects(executor.execute(execution), OutcomeUnknownError);
    assert.equal((await store.find(quoteHash))?.state, "accepted");
    assert.deepEqual([exposure.total, exposure.reservedQuotes], [10n, [quoteHash]]);
  });
});
