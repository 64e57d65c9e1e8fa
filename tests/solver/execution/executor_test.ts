import assert from "node:assert/strict";
import { getLogger } from "@logtape/logtape";
import { RangemakerError } from "../../../lib/errors.ts";
import { type NewIntent, StoreError } from "../../../lib/intents/intent.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { IntentRefusedError, Submitter } from "../../../lib/intents/submitter.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { hashQuote, type Quote, type QuoteTerms } from "../../../lib/protocol/quote.ts";
import { decodeExecution, encodeExecution } from "../../../services/solver/execution/execution.ts";
import { Executor } from "../../../services/solver/execution/executor.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import type { Hedge } from "../../../services/solver/execution/hedge.ts";
import { ExposureLimit } from "../../../services/solver/risk/exposure_limit.ts";
import { PreTradeChecks } from "../../../services/solver/risk/pre_trade_checks.ts";
import { MockStrategy } from "../../../services/solver/pricing/mock_strategy.ts";
import { QuoteSigner } from "../../../services/solver/quoting/quote_signer.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { CHAIN_ID, market, solver, user } from "../support.ts";
import { quoteHashOf, stakeOf, thesisOf } from "../theses.ts";

/** A quote signed by both sides. */
function signed(clock: FakeClock, given: Partial<QuoteTerms> = {}) {
  const terms: QuoteTerms = {
    solver: solver.address,
    user: user.address,
    thesisType: "box",
    base: market.base,
    quote: market.quote,
    lowerPrice: 1n,
    upperPrice: 2n,
    betAmount: 100n,
    payout: 110n,
    startTime: clock.now(),
    endTime: clock.now() + 60_000,
    deadline: clock.now() + 1_000,
    ...given,
  };
  const quoteHash = hashQuote(terms, CHAIN_ID);
  const quote: Quote = { ...terms, signature: solver.sign(quoteHash) };
  return { quoteHash, execution: { quote, userSignature: user.sign(quoteHash) } };
}

/** An execution as it is recorded, its transaction not signed yet. */
function recorded(clock: FakeClock): NewIntent {
  const { quoteHash, execution } = signed(clock);
  return {
    key: quoteHash,
    subject: user.address,
    payload: encodeExecution(execution),
    transaction: null,
    expiresAtMs: execution.quote.deadline,
    createdAtMs: clock.now(),
  };
}

const noHedge: Hedge = { expectedMs: 0, cover: () => Promise.resolve() };

/** An executor on a store in memory, a well node and a hedge that the test plays. */
async function withExecutor(
  hedge: Hedge,
  test: (parts: {
    executor: Executor;
    exposure: ExposureBook;
    clock: FakeClock;
    store: IntentStore;
    sent: string[];
    /** What the next look for settled theses releases. */
    released: string[];
    submitter: Submitter;
  }) => Promise<void>,
  clock: FakeClock = new FakeClock(),
  exposure: ExposureBook = new ExposureBook(undefined),
): Promise<void> {
  const store = new IntentStore(SqliteDriver.open(":memory:"), "test");
  const sent: string[] = [];
  const released: string[] = [];
  const node = {
    getPrices: () => {
      const { base, quote, symbol } = market;
      const price = { base, quote, price: 1n, decimals: 6 as const, lastUpdate: 0, ageMs: 0 };
      return Promise.resolve({ [symbol]: { ...price, state: "fresh" as const } });
    },
    getAccount: (address: Address) => {
      return Promise.resolve({ address, balance: 1_000n, locked: 0n, permissions: [] });
    },
  };
  const submitter: Submitter = new Submitter({
    store,
    clock,
    random: () => 0.5,
    log: getLogger("test"),
    sign: (intent) => executor.prepare(intent),
    node: {
      getTransaction: () => Promise.resolve(null),
      sendTransactionText(text) {
        sent.push(text);
        const txHash = `0x${"ab".repeat(32)}` as const;
        return Promise.resolve({ txHash, status: "committed", blockNumber: 1, thesisId: 1 });
      },
    },
  });
  const checks = new PreTradeChecks({
    node,
    solver: solver.address,
    clock,
    maxRisk: 50n,
    hedgeMs: hedge.expectedMs,
    strategy: new MockStrategy(() => 0),
    book: exposure,
  });
  const limit = new ExposureLimit({
    max: exposure.max,
    book: exposure,
    decode: (payload) => decodeExecution(payload).quote,
  });
  const executor = new Executor({
    store,
    submitter,
    checks,
    exposure,
    limit,
    releaseSettled: () => Promise.resolve(released.splice(0).length),
    hedge,
    quoteSigner: new QuoteSigner(solver),
    signer: solver,
    chainId: CHAIN_ID,
    clock,
    dryRun: false,
  });
  try {
    await test({ executor, exposure, clock, store, sent, released, submitter });
  } finally {
    await submitter.stop();
    await store.close();
  }
}

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
    assert.deepEqual([seen, exposure.total, exposure.reserved], [[10n], 10n, 0n]);
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
    assert.equal(exposure.reserved, 10n);
    clock.jump(2_000);
    await assert.rejects(executor.prepare(intent), IntentRefusedError);
  });
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
    assert.equal(exposure.reserved, 10n);
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

/** A book of this bound that knows all open theses. */
function completeBook(max: bigint): ExposureBook {
  const book = new ExposureBook(max);
  book.beginReading();
  book.endReading([]);
  return book;
}

function refusedWith(code: string) {
  return (thrown: unknown) => thrown instanceof RangemakerError && thrown.code === code;
}

Deno.test("Executor: what is over the bound is neither recorded nor hedged, and fits after a release", async () => {
  const clock = new FakeClock();
  const first = signed(clock);
  const second = signed(clock, { upperPrice: 3n });
  await withExecutor(
    noHedge,
    async ({ executor, store, exposure, sent }) => {
      await executor.execute(first.execution);
      exposure.apply(thesisOf(1, { quoteHash: first.quoteHash }));
      const refused = () =>
        assert.rejects(executor.execute(second.execution), refusedWith("EXPOSURE_TOO_LARGE"));
      await refused();
      assert.equal(await store.find(second.quoteHash), undefined);
      assert.deepEqual([exposure.total, sent.length], [10n, 1]);
      exposure.apply(thesisOf(1, { quoteHash: first.quoteHash, status: "lost" }));
      await refused();
      await store.release(first.quoteHash);
      assert.equal((await executor.execute(second.execution)).status, "committed");
    },
    clock,
    completeBook(15n),
  );
});

Deno.test("Executor: before the bound refuses, theses that settled unseen are released", async () => {
  const clock = new FakeClock();
  const first = signed(clock);
  const second = signed(clock, { upperPrice: 3n });
  await withExecutor(
    noHedge,
    async ({ executor, store, exposure, released }) => {
      await executor.execute(first.execution);
      exposure.beginReading();
      exposure.endReading([]);
      await store.release(first.quoteHash);
      await store.insert({ ...recorded(clock), key: quoteHashOf(7) }, { reserves: true });
      const find = store.insert.bind(store);
      let attempts = 0;
      store.insert = (intent, options) => {
        attempts += 1;
        return find(intent, options);
      };
      await assert.rejects(executor.execute(second.execution), refusedWith("EXPOSURE_TOO_LARGE"));
      assert.equal(attempts, 1, "nothing was released, so it is not tried again");
      released.push("one");
      await assert.rejects(executor.execute(second.execution), refusedWith("EXPOSURE_TOO_LARGE"));
      assert.equal(attempts, 3);
    },
    clock,
    completeBook(15n),
  );
});

Deno.test("Executor: a user without the money gets a refusal, and the same quote is good after a deposit", async () => {
  const clock = new FakeClock();
  const hedged: string[] = [];
  const counting: Hedge = {
    expectedMs: 0,
    cover: (quoteHash) => Promise.resolve(void hedged.push(quoteHash)),
  };
  await withExecutor(counting, async ({ executor, exposure, store }) => {
    const { execution, quoteHash } = signed(clock, { betAmount: 1_001n, payout: 1_011n });
    await assert.rejects(executor.execute(execution), refusedWith("INSUFFICIENT_BALANCE"));
    assert.deepEqual([exposure.total, exposure.reservedBets(user.address), hedged], [0n, 0n, []]);
    assert.equal(await store.find(quoteHash), undefined);
    const affordable = signed(clock, { betAmount: 501n, payout: 511n });
    const other = signed(clock, { betAmount: 500n, payout: 510n });
    const answers = await Promise.allSettled([
      executor.execute(affordable.execution),
      executor.execute(other.execution),
    ]);
    assert.deepEqual(answers.map(({ status }) => status), ["fulfilled", "rejected"]);
    assert.equal((await executor.execute(other.execution)).status, "committed");
  }, clock);
});

Deno.test("Executor: of a late quote with a bad user signature the deadline is what it speaks of", async () => {
  const clock = new FakeClock();
  await withExecutor(noHedge, async ({ executor }) => {
    const { execution } = signed(clock);
    const forged = { ...execution, userSignature: execution.quote.signature };
    await assert.rejects(executor.execute(forged), refusedWith("INVALID_SIGNATURE"));
    const { execution: done } = signed(clock, { upperPrice: 9n });
    await executor.execute(done);
    clock.jump(1_001);
    await assert.rejects(executor.execute(forged), refusedWith("DEADLINE_PASSED"));
    assert.equal((await executor.execute(done)).status, "committed", "it has its result");
  }, clock);
});

Deno.test("Executor: an execution recorded before quotes named their solver is ended, not a crash", async () => {
  const clock = new FakeClock();
  const never: Hedge = { expectedMs: 0, cover: () => assert.fail("Nothing is hedged") };
  await withExecutor(never, async ({ executor, submitter, exposure, store, sent }) => {
    const intent = recorded(clock);
    const { quote, ...rest } = JSON.parse(intent.payload);
    const { solver: _solver, ...oldQuote } = quote;
    const payload = JSON.stringify({ quote: oldQuote, ...rest });
    await store.insert({ ...intent, payload }, { reserves: true });
    await executor.restore();
    assert.equal(exposure.total, 10n);
    submitter.start();
    const failed = await eventually("the end", async () => {
      const found = await store.find(intent.key);
      return found?.state === "failed" ? found : undefined;
    });
    assert.equal(failed.failure?.code, "QUOTE_WITHOUT_SOLVER");
    assert.match(failed.failure?.message ?? "", /^Quote was signed by an earlier version/);
    assert.deepEqual([sent, await store.listReserved({ limit: 9, after: 0 })], [[], []]);
  }, clock);
});

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
