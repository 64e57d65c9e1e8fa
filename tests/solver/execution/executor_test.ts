import assert from "node:assert/strict";
import { errorCodeOf, RangemakerError } from "../../../lib/errors.ts";
import {
  OutcomeUnknownError,
  StoreConnectionLostError,
  StoreError,
} from "../../../lib/intents/errors.ts";
import { betOf } from "../../../lib/protocol/bet.ts";
import { hashTransaction } from "../../../lib/protocol/transaction.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import {
  decodeBet,
  decodeExecution,
  encodeExecution,
  type Execution,
} from "../../../services/solver/execution/execution.ts";
import { Executor } from "../../../services/solver/execution/executor.ts";
import {
  type PricingRefusal,
  PricingRefusedError,
} from "../../../services/solver/pricing/strategy.ts";
import { insertReserved } from "../../support/intents.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { rejectsWith } from "../../support/scripted_node.ts";
import { CHAIN_ID, completeBook, quoteHashOf, solver, thesisOf, user } from "../support.ts";
import { hedgeOf, recorded, type Scene, signed, withExecutor } from "./support.ts";

const unhedged = hedgeOf(() => assert.fail("Nothing is hedged"));

for (const [hedgeMs, isInTime] of [[1_000, true], [1_001, false]] as const) {
  Deno.test(`Executor: with a hedge of ${hedgeMs} ms a quote of 1000 ms is ${isInTime ? "committed" : "refused"}`, async () => {
    const clock = new FakeClock();
    const slow = hedgeOf(() => Promise.resolve(clock.jump(hedgeMs)));
    await withExecutor(slow, async ({ executor, exposure, sent }) => {
      const { execution } = signed(clock);
      for (let attempt = 0; attempt < 2; attempt++) {
        const executing = executor.execute(execution);
        if (isInTime) assert.equal((await executing).status, "committed");
        else await assert.rejects(executing, { code: "DEADLINE_PASSED" });
      }
      assert.deepEqual([sent.length, exposure.total], isInTime ? [1, 10n] : [0, 0n]);
    }, { clock });
  });
}

for (const order of ["together", "one after another"]) {
  Deno.test(`Executor: quotes made with an empty book are not all executed at that price if they arrive ${order}`, async () => {
    const exposure = new ExposureBook(undefined, decodeBet);
    const strategy = {
      recheck(_bet: unknown, _payout: bigint, { isRecorded }: { isRecorded: boolean }) {
        if (!isRecorded && exposure.total > 10n) throw new PricingRefusedError("PRICE_MOVED", "");
      },
    };
    await withExecutor(hedgeOf(), async ({ executor, clock, store }) => {
      const quotes = [1n, 2n, 3n, 4n].map((lowerPrice) => signed(clock, { lowerPrice }));
      const answers: Promise<string>[] = [];
      for (const { execution } of quotes) {
        const answer = executor.execute(execution).then(({ status }) => status, errorCodeOf);
        answers.push(answer);
        if (order !== "together") await answer;
      }
      const found = await Promise.all(answers);
      assert.deepEqual(found, ["committed", "committed", "PRICE_MOVED", "PRICE_MOVED"]);
      assert.equal(exposure.total, 20n);
      const states = quotes.map(async ({ quoteHash }) => (await store.get(quoteHash)).state);
      assert.deepEqual(await Promise.all(states), ["committed", "committed", "failed", "failed"]);
    }, { exposure, strategy });
  });
}

const refusals: [what: string, code: string, make: (scene: Scene) => Execution][] = [
  ["a failed check", "RISK_TOO_LARGE", ({ clock }) => signed(clock, { payout: 151n }).execution],
  ["a store that cannot record it", "STORE_UNAVAILABLE", ({ clock, store }) => {
    store.insert = rejectsWith(new StoreError("Database failed: disk is full"));
    return signed(clock).execution;
  }],
  ["another signature than the solver's", "INVALID_SIGNATURE", ({ clock }) => {
    const { quote, userSignature } = signed(clock).execution; // the user signs both
    return { quote: { ...quote, signature: userSignature }, userSignature };
  }],
  ["a node with another chain", "CHAIN_MISMATCH", ({ clock, guard }) => {
    guard.requireChain = rejectsWith(new RangemakerError("CHAIN_MISMATCH", "Another chain"));
    return signed(clock).execution;
  }],
];

for (const [what, code, make] of refusals) {
  Deno.test(`Executor: with ${what} nothing is recorded, hedged or kept reserved`, () =>
    withExecutor(unhedged, async (scene) => {
      const { executor, exposure, store, sent } = scene;
      await assert.rejects(executor.execute(make(scene)), { code });
      assert.deepEqual((await store.readPage(0, 9)).intents, []);
      assert.deepEqual([sent, exposure.total], [[], 0n]);
    }));
}

Deno.test("Executor: a strategy that refuses before the balances are checked leaves nothing in the store", () =>
  withExecutor(unhedged, async ({ executor, clock, store }) => {
    await assert.rejects(executor.execute(signed(clock).execution), { code: "PRICE_MOVED" });
    assert.deepEqual((await store.readPage(0, 9)).intents, []);
  }, {
    strategy: {
      holdMs() {
        throw new PricingRefusedError("PRICE_MOVED", "It has moved");
      },
      recheck() {},
    },
  }));

Deno.test("Executor: a quote to the solver itself is never a bet, although its signature is both sides'", async () => {
  await withExecutor(unhedged, async ({ executor, exposure, clock, store, sent }) => {
    const { execution: { quote }, quoteHash } = signed(clock, { user: solver.address });
    const execution = { quote, userSignature: quote.signature };
    await assert.rejects(executor.execute(execution), {
      code: "INVALID_SIGNATURE",
      message: /that of the solver itself/,
    });
    assert.equal(await store.find(quoteHash), undefined);
    assert.deepEqual([sent, exposure.total], [[], 0n]);
    clock.jump(1_001);
    await assert.rejects(executor.execute(execution), { code: "DEADLINE_PASSED" });
  });
});

Deno.test("Executor: an unfinished execution of an earlier run is updated in the store before it continues", () => {
  const order: string[] = [];
  const noting = hedgeOf(() => Promise.resolve(void order.push("hedged")));
  return withExecutor(noting, async ({ executor, clock, store }) => {
    await insertReserved(store, recorded(clock));
    const recordAttempt = store.recordAttempt.bind(store);
    store.recordAttempt = (key, nowMs) => {
      order.push("written");
      return recordAttempt(key, nowMs);
    };
    const { execution } = signed(clock);
    // Once it has its result, nothing more is to be written.
    for (let time = 0; time < 2; time++) await executor.execute(execution);
    assert.deepEqual(order, ["written", "hedged"]);
  });
});

Deno.test("Executor: the outcome of a recorded execution that cannot be read is unknown", () =>
  withExecutor(hedgeOf(), async ({ executor, clock, store }) => {
    await insertReserved(store, recorded(clock));
    const { execution } = signed(clock);
    const { get, recordAttempt } = store;
    const fails = () => Promise.reject(new StoreError("Database failed: it is locked"));
    store.recordAttempt = fails;
    await assert.rejects(executor.execute(execution), OutcomeUnknownError);
    store.recordAttempt = recordAttempt;
    assert.equal((await executor.execute(execution)).status, "committed");
    store.get = fails;
    await assert.rejects(executor.execute(execution), OutcomeUnknownError);
    store.get = get;
    assert.equal((await executor.execute(execution)).status, "committed");
  }));

Deno.test("Executor: a bug in the hedge is reported as an internal error", () => {
  const bug = new TypeError("A bug");
  return withExecutor(
    hedgeOf(() => Promise.reject(bug)),
    async ({ executor, exposure, clock, store }) => {
      const { execution, quoteHash } = signed(clock);
      await assert.rejects(executor.execute(execution), (thrown) => thrown === bug);
      assert.equal((await store.find(quoteHash))?.state, "accepted");
      assert.equal(exposure.total, 10n);
    },
  );
});

Deno.test("Executor: a second request for the same quote joins the first", () =>
  withExecutor(hedgeOf(), async ({ executor, clock, store, sent }) => {
    const { execution } = signed(clock);
    const findState = store.findState.bind(store);
    let begun = 0;
    store.findState = (key) => {
      begun += 1;
      return findState(key);
    };
    const [one, two] = await Promise.all([1, 2].map(() => executor.execute(execution)));
    assert.deepEqual(one, two);
    assert.deepEqual([begun, sent.length], [1, 1]);
  }));

Deno.test("Executor: a transaction has its quote's terms and signatures, and the current time", () =>
  withExecutor(hedgeOf(), async ({ executor, clock, store, sent }) => {
    const { execution: { quote, userSignature }, quoteHash } = signed(clock);
    // A quote without a solver is treated as its own.
    const { solver: _own, ...unnamed } = quote;
    clock.jump(17);
    await executor.execute({ quote: unnamed, userSignature });
    const { signature: _, ...tx } = sent[0] ?? assert.fail("It is sent");
    assert.deepEqual(tx, {
      type: "RfqSubmit",
      timestamp: clock.now(),
      from: solver.address,
      user: user.address,
      ...betOf(quote),
      payout: quote.payout,
      deadline: quote.deadline,
      solverSignature: quote.signature,
      userSignature,
    });
    const intent = await store.find(quoteHash);
    assert.equal(intent?.transaction?.txHash, hashTransaction(tx, CHAIN_ID));
    assert.deepEqual(decodeExecution(intent?.payload ?? ""), { quote, userSignature });
  }));

Deno.test("Executor: who records an execution logs it as accepted; a refusal is logged with its code", () =>
  withExecutor(hedgeOf(), ({ executor, clock, store }) =>
    withLogs("info", async (records) => {
      const events = () => records.map(({ properties: { event, code } }) => [event, code]);
      const { execution } = signed(clock);
      // Another process records it between the look and the insertion.
      const findState = store.findState.bind(store);
      store.findState = async (key) => {
        store.findState = findState;
        const before = await findState(key);
        await store.insert(recorded(clock));
        return before;
      };
      await executor.execute(execution);
      assert.deepEqual(events(), [["execution_hedged", undefined]]);
      await executor.execute(signed(clock, { upperPrice: 3n }).execution);
      const risky = signed(clock, { payout: 151n });
      await assert.rejects(executor.execute(risky.execution), { code: "RISK_TOO_LARGE" });
      assert.deepEqual(events().slice(1), [
        ["execution_accepted", undefined],
        ["execution_hedged", undefined],
        ["execution_refused", "RISK_TOO_LARGE"],
      ]);
      store.insert = () => Promise.reject(new TypeError("A bug"));
      await assert.rejects(
        executor.execute(signed(clock, { upperPrice: 4n }).execution),
        TypeError,
      );
      store.insert = () => Promise.reject(new StoreConnectionLostError("test"));
      await assert.rejects(
        executor.execute(signed(clock, { upperPrice: 5n }).execution),
        StoreConnectionLostError,
      );
      assert.equal(records.length, 4, "a bug is no refusal, and it may be recorded");
    })));

Deno.test("Executor: an execution that another process records at the same time is verified before it is sent", () =>
  withExecutor(hedgeOf(), async ({ executor, clock, store, sent }) => {
    const { execution } = signed(clock);
    const { quote, userSignature } = execution;
    const changed = encodeExecution({ quote: { ...quote, payout: 111n }, userSignature });
    const insert = store.insert.bind(store);
    store.insert = async (intent, options) => {
      await insert({ ...intent, payload: changed });
      return await insert(intent, options);
    };
    await assert.rejects(executor.execute(execution), { code: "STORE_DAMAGED" });
    assert.deepEqual(sent, []);
  }));

Deno.test("Executor: before it refuses at the limit, it releases theses whose settlement was missed", async () => {
  const clock = new FakeClock();
  const first = signed(clock);
  const second = signed(clock, { upperPrice: 3n });
  await withExecutor(hedgeOf(), async ({ executor, options, store, exposure, released }) => {
    await executor.execute(first.execution);
    exposure.beginReading();
    exposure.endReading([]);
    await store.release(first.quoteHash);
    await insertReserved(store, { ...recorded(clock), key: quoteHashOf(7) });
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
    const failingWith = (cause: Error) =>
      new Executor({ ...options, releaseSettled: () => Promise.reject(cause) });
    const away = failingWith(new StoreError("The store is away"));
    await assert.rejects(away.execute(second.execution), { code: "EXPOSURE_TOO_LARGE" });
    assert.equal(attempts, 4, "a release that fails does not hide the bound");
    const bug = new TypeError("A bug");
    await assert.rejects(failingWith(bug).execute(second.execution), bug);
  }, { clock, exposure: completeBook(15n) });
});

for (const thrown of [new StoreError("The store is away"), new TypeError("A bug")]) {
  Deno.test(`Executor: after a ${thrown.name} of the store, nothing is released or retried`, () =>
    withExecutor(hedgeOf(), async ({ executor, clock, store, released }) => {
      released.push("one");
      store.insert = () => Promise.reject(thrown);
      await assert.rejects(executor.execute(signed(clock).execution), thrown);
      assert.deepEqual(released, ["one"]);
    }));
}

Deno.test("Executor: a late quote is refused for its deadline, even with an invalid user signature", async () => {
  const clock = new FakeClock();
  await withExecutor(hedgeOf(), async ({ executor }) => {
    const { execution } = signed(clock);
    const forged = { ...execution, userSignature: execution.quote.signature };
    await assert.rejects(executor.execute(forged), { code: "INVALID_SIGNATURE" });
    const { execution: done } = signed(clock, { upperPrice: 9n });
    await executor.execute(done);
    clock.jump(1_001);
    await assert.rejects(executor.execute(forged), { code: "DEADLINE_PASSED" });
    assert.equal((await executor.execute(done)).status, "committed", "it has its result");
  }, { clock });
});

Deno.test("Executor: a quote that was refused for its price is used up, one without a price is not", async () => {
  let refusal: PricingRefusal | undefined = "PRICE_MOVED";
  const strategy = {
    recheck() {
      if (refusal !== undefined) throw new PricingRefusedError(refusal, "It is refused");
    },
  };
  await withExecutor(hedgeOf(), async ({ executor, options, exposure, sent, store, clock }) => {
    const { execution, quoteHash } = signed(clock);
    const usedUp = { code: "PRICE_MOVED", details: { usedUp: true } };
    await assert.rejects(executor.execute(execution), usedUp);
    refusal = undefined;
    // The first request arrives late, at this process or at another one on the same database.
    await assert.rejects(executor.execute(execution), usedUp);
    await assert.rejects(new Executor(options).execute(execution), usedUp);
    assert.deepEqual([sent, exposure.total], [[], 0n]);
    assert.deepEqual((await store.find(quoteHash))?.state, "failed");
    refusal = "PRICE_UNAVAILABLE";
    const later = signed(clock, { upperPrice: 3n });
    await assert.rejects(executor.execute(later.execution), { details: {} });
    refusal = undefined;
    assert.equal((await executor.execute(later.execution)).status, "committed");
  }, { strategy });
});

Deno.test("Executor: a bet that was ended by solver reconcile fails, although its settlement is still remembered", () =>
  withExecutor(hedgeOf(), async ({ executor, clock, exposure, store }) => {
    const { execution, quoteHash } = signed(clock);
    const { thesisId } = await executor.execute(execution);
    exposure.apply(thesisOf(Number(thesisId), { quoteHash, status: "lost" }));
    const intent = await store.get(quoteHash);
    // As `solver reconcile` ends it. The proxy keeps the solver's socket open meanwhile.
    const failure = { code: "CHAIN_REWOUND", message: "It is gone" };
    const gone = {
      state: "failed",
      transaction: intent.transaction,
      receipt: null,
      failure,
    } as const;
    assert(await store.replaceResult(intent, gone, clock.now()));
    await assert.rejects(executor.execute(execution), { code: "CHAIN_REWOUND" });
  }));

for (const status of ["open", "won", "lost"] as const) {
  Deno.test(`Executor: a bet that is ${status} on the chain has its result, also if the store has lost it`, async () => {
    const strategy = {
      recheck() {
        throw new PricingRefusedError("PRICE_MOVED", "It is refused");
      },
    };
    await withExecutor(unhedged, async ({ executor, clock, exposure, store }) => {
      const { execution, quoteHash } = signed(clock);
      exposure.apply(thesisOf(7, { quoteHash, status }));
      const { txHash } = thesisOf(7);
      const result = await executor.execute(execution);
      assert.deepEqual(result, { txHash, status: "committed", thesisId: 7 });
      assert.equal(await store.find(quoteHash), undefined);
      const forged = { ...execution, userSignature: execution.quote.signature };
      await assert.rejects(executor.execute(forged), { code: "INVALID_SIGNATURE" });
    }, { strategy });
  });
}
