import assert from "node:assert/strict";
import { getLogger } from "@logtape/logtape";
import { type NewIntent, OutcomeUnknownError, StoreError } from "../../../lib/intents/intent.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { IntentRefusedError, Submitter } from "../../../lib/intents/submitter.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import type { Quote, QuoteTerms } from "../../../lib/protocol/quote.ts";
import { encodeExecution } from "../../../services/solver/execution/execution.ts";
import { Executor } from "../../../services/solver/execution/executor.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import type { Hedge } from "../../../services/solver/execution/hedge.ts";
import { PreTradeChecks } from "../../../services/solver/risk/pre_trade_checks.ts";
import { MockStrategy } from "../../../services/solver/pricing/mock_strategy.ts";
import { QuoteSigner } from "../../../services/solver/quoting/quote_signer.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { CHAIN_ID, market, solver, user } from "../support.ts";

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
  }) => Promise<void>,
  clock: FakeClock = new FakeClock(),
  exposure: ExposureBook = new ExposureBook(undefined),
): Promise<void> {
  const store = new IntentStore(SqliteDriver.open(":memory:"), "test");
  const sent: string[] = [];
  const node = {
    getPrices: () => {
      const { base, quote, symbol } = market;
      const price = { base, quote, price: 1n, decimals: 6 as const, lastUpdate: 0, ageMs: 0 };
      return Promise.resolve({ [symbol]: { ...price, state: "fresh" as const } });
    },
    getAccount: () => {
      const { address } = solver;
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
    reserved: () => exposure.reserved,
  });
  const executor = new Executor({
    store,
    submitter,
    checks,
    exposure,
    hedge,
    quoteSigner: new QuoteSigner(solver),
    signer: solver,
    chainId: CHAIN_ID,
    clock,
    dryRun: false,
  });
  try {
    await test({ executor, exposure, clock, store, sent });
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

Deno.test("Executor: the risk is put aside before the hedge, and kept for the thesis", async () => {
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

Deno.test("Executor: a failed check gives the risk back and leaves no trace", async () => {
  const never: Hedge = { expectedMs: 0, cover: () => assert.fail("Nothing is hedged") };
  await withExecutor(never, async ({ executor, exposure, clock, store }) => {
    const { execution, quoteHash } = signed(clock, { payout: 151n });
    const words = /Payout 151 would risk 51 on one thesis, 1 above 50/;
    await assert.rejects(executor.execute(execution), words);
    assert.equal(exposure.total, 0n);
    assert.equal(await store.find(quoteHash), undefined);
  });
});

Deno.test("Executor: what is taken up without its risk put aside gets that first, or ends", async () => {
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
    exposure.reserve(intent.key, 10n);
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

Deno.test("Executor: a recorded execution waits while the exposure is unknown or has no room", async () => {
  const clock = new FakeClock();
  const book = new ExposureBook(15n);
  await withExecutor(
    noHedge,
    async ({ executor, exposure, store }) => {
      const { intent } = await store.insert(recorded(clock));
      const waits = (words: RegExp) =>
        assert.rejects(executor.prepare(intent), (thrown) => {
          assert.ok(thrown instanceof OutcomeUnknownError, String(thrown));
          assert.match(thrown.message, words);
          return true;
        });
      await waits(/Exposure is not known/);
      exposure.beginReading();
      exposure.endReading([]);
      exposure.reserve("0xother", 10n);
      await waits(/Exposure would be 20 with 10 more at risk, 5 above 15/);
      exposure.release("0xother");
      await executor.prepare(intent);
      assert.equal(exposure.total, 10n);
    },
    clock,
    book,
  );
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
