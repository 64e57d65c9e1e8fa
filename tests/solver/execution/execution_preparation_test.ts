import assert from "node:assert/strict";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { IntentRefusedError } from "../../../lib/intents/errors.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import { decodeExecution, encodeExecution } from "../../../services/solver/execution/execution.ts";
import { ExecutionPreparation } from "../../../services/solver/execution/execution_preparation.ts";
import { type Hedge, SimulatedHedge } from "../../../services/solver/execution/hedge.ts";
import {
  type PricingRefusal,
  PricingRefusedError,
} from "../../../services/solver/pricing/strategy.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { noHedge, recorded, signed, withExecutor } from "./support.ts";

const HOLD_MS = 300;

/** What became of an execution. */
interface Found {
  /** Status of the result, or the message of the failure. */
  answer: string;
  /** Looks and hedges with their times. */
  steps: string[];
  /** Reported rechecks. */
  rechecks: string[];
  logged: unknown[];
  sent: number;
  risk: bigint;
}

/** Executes a quote; `refusals` are those of the checks: at its arrival, after hold and hedge. */
async function execute(...refusals: (PricingRefusal | undefined)[]): Promise<Found> {
  const clock = new FakeClock();
  const startMs = clock.now();
  const steps: string[] = [];
  const step = (name: string) => void steps.push(`${name} at ${clock.now() - startMs}`);
  const strategy = {
    holdMs: () => HOLD_MS,
    recheck(_bet: unknown, _payout: bigint, { isRecorded }: { isRecorded: boolean }) {
      step(isRecorded ? "recheck" : "first check");
      const code = refusals.shift();
      if (code !== undefined) throw new PricingRefusedError(code, `It is ${code}`);
    },
  };
  const hedge: Hedge = {
    expectedMs: 0,
    isSimulated: false,
    cover: () => Promise.resolve(step("hedge")),
  };
  const rechecks: string[] = [];
  const found: Found[] = [];
  await withLogs("info", (records) =>
    withExecutor(
      hedge,
      async ({ executor, preparationOptions, exposure, sent }) => {
        preparationOptions.onRecheck = (after, outcome) => rechecks.push(`${after}: ${outcome}`);
        const running = executor.execute(signed(clock).execution)
          .then(({ status }) => status, messageOf);
        const answered = running.then(() => true);
        await Promise.race([
          eventually("the hold", () => clock.pending > 0 || undefined),
          answered,
        ]);
        assert.deepEqual(sent, []);
        clock.advance(HOLD_MS);
        const answer = await running;
        const logged = records.map(({ properties: { event } }) => event);
        found.push({ answer, steps, rechecks, logged, sent: sent.length, risk: exposure.total });
      },
      { clock, strategy },
    ));
  return found[0] ?? assert.fail("It was executed");
}

Deno.test("ExecutionPreparation: an execution is held, rechecked, hedged, rechecked and sent", async () => {
  const { answer, steps, rechecks, sent, risk } = await execute();
  assert.deepEqual([answer, sent, risk], ["committed", 1, 10n]);
  assert.deepEqual(steps, [
    "first check at 0",
    "recheck at 300",
    "hedge at 300",
    "recheck at 300",
  ]);
  assert.deepEqual(rechecks, ["hold: passed", "hedge: passed"]);
});

Deno.test("ExecutionPreparation: if the price moved during the hold, the execution ends before the hedge", async () => {
  const { answer, steps, rechecks, logged, sent, risk } = await execute(undefined, "PRICE_MOVED");
  assert.deepEqual([answer, sent, risk], ["It is PRICE_MOVED", 0, 0n]);
  assert.deepEqual(steps, ["first check at 0", "recheck at 300"]);
  assert.deepEqual(rechecks, ["hold: PRICE_MOVED"]);
  assert.deepEqual(logged, ["execution_accepted"]);
});

Deno.test("ExecutionPreparation: if the price moved during the hedge, nothing is submitted and the unused hedge is logged", async () => {
  const found = await execute(undefined, undefined, "PRICE_IMPROVED");
  assert.deepEqual([found.answer, found.sent, found.risk], ["It is PRICE_IMPROVED", 0, 0n]);
  assert.deepEqual(found.rechecks, ["hold: passed", "hedge: PRICE_IMPROVED"]);
  assert.deepEqual(found.logged, ["execution_accepted", "execution_hedged", "hedge_unused"]);
});

Deno.test("ExecutionPreparation: without a price after the hedge the outcome is open, and the risk stays reserved", async () => {
  const found = await execute(undefined, undefined, "PRICE_UNAVAILABLE");
  assert.match(found.answer, /outcome|unknown/i);
  assert.deepEqual([found.sent, found.risk], [0, 10n]);
  assert.deepEqual(found.logged.includes("hedge_unused"), false);
});

Deno.test("ExecutionPreparation: after a restart, an execution is held only for the remaining time", async () => {
  const clock = new FakeClock();
  const strategy = { holdMs: () => HOLD_MS, recheck() {} };
  const hedge: Hedge = { expectedMs: 0, isSimulated: false, cover: () => Promise.resolve() };
  await withExecutor(
    hedge,
    async ({ preparation, store }) => {
      const { intent } = await store.insert(recorded(clock));
      clock.jump(100);
      let isHedged = false;
      const running = preparation.prepare(intent).then(() => isHedged = true);
      clock.advance(199);
      await Promise.resolve();
      assert.equal(isHedged, false);
      clock.advance(1);
      await running;
      await preparation.prepare(intent);
    },
    { clock, strategy },
  );
});

Deno.test("ExecutionPreparation: an execution whose hedge was refused reports no unused hedge", () =>
  withLogs("info", (records) =>
    withExecutor({
      expectedMs: 0,
      isSimulated: false,
      cover: () => Promise.reject(new RangemakerError("HEDGE_REFUSED", "no")),
    }, async ({ preparation, store, clock }) => {
      const { intent } = await store.insert(recorded(clock));
      await assert.rejects(preparation.prepare(intent), { code: "HEDGE_REFUSED" });
      preparation.onFailed(intent, decodeExecution(intent.payload).quote);
      assert.deepEqual(records.map(({ properties: { event } }) => event), []);
    })));

Deno.test("ExecutionPreparation: without a hedging service no hedge is reported as unused", () =>
  withLogs("info", (records) => {
    const clock = new FakeClock();
    const strategy = { holdMs: () => 0, recheck() {} };
    const hedge = new SimulatedHedge(clock, 0);
    return withExecutor(hedge, async ({ preparation, store }) => {
      const { intent } = await store.insert(recorded(clock));
      const prepared = preparation.prepare(intent);
      clock.advance(0);
      await prepared;
      preparation.onFailed(intent, decodeExecution(intent.payload).quote);
      assert.deepEqual(records.map(({ properties: { event } }) => event), ["execution_hedged"]);
    }, { clock, strategy });
  }));

Deno.test("ExecutionPreparation: a failed execution that may be hedged is reported as an unused hedge, once", () =>
  withLogs("info", (records) =>
    withExecutor(noHedge, async ({ preparation, store, clock }) => {
      const reports = (intent: Intent) => {
        const before = records.length;
        const { quote } = decodeExecution(intent.payload);
        for (let times = 0; times < 2; times++) preparation.onFailed(intent, quote);
        return records.slice(before).map(({ properties: { event } }) => event);
      };
      const { intent } = await store.insert(recorded(clock));
      preparation.onRecorded(intent, decodeExecution(intent.payload));
      assert.deepEqual(reports(intent), [], "this process has not asked for its hedge");
      await preparation.prepare(intent);
      assert.deepEqual(reports(intent), ["hedge_unused"]);
    })));

for (const [name, wait] of [["before", 1], ["after", -1]] as const) {
  Deno.test(`ExecutionPreparation: the hedge of a process that died is reported by another one, started ${name} the execution`, () =>
    withLogs(
      "info",
      (records) =>
        withExecutor(noHedge, async ({ preparation, preparationOptions, store, clock }) => {
          const other = new ExecutionPreparation(preparationOptions);
          clock.jump(wait);
          const { intent } = await store.insert(recorded(clock));
          const execution = decodeExecution(intent.payload);
          preparation.onRecorded(intent, execution);
          await preparation.prepare(intent);
          clock.jump(2_000);
          await assert.rejects(other.prepare(intent), { code: "DEADLINE_PASSED" });
          for (let times = 0; times < 2; times++) other.onFailed(intent, execution.quote);
          const events = records.map(({ properties: { event } }) => event);
          assert.deepEqual(events, ["execution_hedged", "hedge_unused"]);
        }),
    ));
}

Deno.test("ExecutionPreparation: an execution of another process that is refused after its hold has no hedge to report", () =>
  withLogs("info", (records) => {
    const clock = new FakeClock();
    const strategy = {
      holdMs: () => HOLD_MS,
      recheck() {
        throw new PricingRefusedError("PRICE_MOVED", "It has moved");
      },
    };
    return withExecutor(noHedge, async ({ preparation, store }) => {
      const { intent } = await store.insert(recorded(clock));
      const refused = assert.rejects(preparation.prepare(intent), { code: "PRICE_MOVED" });
      clock.advance(HOLD_MS);
      await refused;
      preparation.onFailed(intent, decodeExecution(intent.payload).quote);
      assert.deepEqual(records, []);
    }, { clock, strategy });
  }));

Deno.test("ExecutionPreparation: the hedge of a bet that an earlier transaction has placed is not reported as unused", () =>
  withLogs("info", (records) =>
    withExecutor(noHedge, async ({ preparation, store, clock }) => {
      const { intent } = await store.insert(recorded(clock));
      const { quote } = decodeExecution(intent.payload);
      await preparation.prepare(intent);
      const failure = { code: "QUOTE_ALREADY_USED", message: "Quote has already opened a thesis" };
      const failed = { ...intent, state: "failed" as const, failure };
      preparation.onFailed(failed, quote);
      preparation.onFailedElsewhere(failed, quote);
      assert.deepEqual(records.map(({ properties: { event } }) => event), ["execution_hedged"]);
    })));

Deno.test("ExecutionPreparation: a hedge for an execution that another process has failed meanwhile is reported", () =>
  withLogs("info", (records) =>
    withExecutor(noHedge, async ({ preparation, store, clock }) => {
      const { intent } = await store.insert(recorded(clock));
      const { quote } = decodeExecution(intent.payload);
      preparation.onFailedElsewhere(intent, quote);
      await preparation.prepare(intent);
      for (let times = 0; times < 2; times++) preparation.onFailedElsewhere(intent, quote);
      const events = records.map(({ properties: { event } }) => event);
      assert.deepEqual(events, ["execution_hedged", "hedge_unused"]);
    })));

Deno.test("ExecutionPreparation: an execution of another process is reserved before its hedge, and refused after its deadline", async () => {
  await withExecutor(noHedge, async ({ preparation, exposure, clock, store }) => {
    const { intent } = await store.insert(recorded(clock));
    await preparation.prepare(intent);
    assert.equal(exposure.reservedKeys.length, 1);
    clock.jump(2_000);
    await assert.rejects(preparation.prepare(intent), IntentRefusedError);
  });
});

Deno.test("ExecutionPreparation: an unfinished execution is checked again before it is hedged and signed", async () => {
  const hedged: string[] = [];
  const counting: Hedge = {
    expectedMs: 0,
    isSimulated: false,
    cover: (quoteHash) => Promise.resolve(void hedged.push(quoteHash)),
  };
  const clock = new FakeClock();
  await withExecutor(counting, async ({ preparation, submitter, store, sent }) => {
    // Recorded by a run that was allowed to risk more.
    const { quoteHash, execution } = signed(clock, {
      payout: 151n,
      deadline: clock.now() + 600_000,
    });
    const old = { ...recorded(clock), key: quoteHash, payload: encodeExecution(execution) };
    const { intent } = await store.insert({ ...old, expiresAtMs: clock.now() + 600_000 });
    clock.jump(60_000);
    await assert.rejects(preparation.prepare(intent), /would risk 0.000051 USDC/);
    assert.deepEqual((await submitter.submit(intent)).failure?.code, "RISK_TOO_LARGE");
    assert.deepEqual([hedged, sent], [[], []]);
  }, { clock });
});

Deno.test("ExecutionPreparation: an execution whose strategy cannot tell its hold ends by its deadline", async () => {
  const clock = new FakeClock();
  const thrown: Error[] = [];
  const strategy = {
    holdMs() {
      throw thrown[0] ?? new TypeError("No window");
    },
    recheck() {},
  };
  await withExecutor(noHedge, async ({ submitter, store, exposure }) => {
    const { intent } = await store.insert(recorded(clock));
    thrown.push(new PricingRefusedError("PRICE_UNAVAILABLE", "No price yet"));
    await assert.rejects(submitter.submit(intent), { code: "OUTCOME_UNKNOWN" });
    thrown[0] = new TypeError("No window");
    await assert.rejects(submitter.submit(intent), TypeError);
    clock.jump(2_000);
    assert.equal((await submitter.submit(intent)).failure?.code, "DEADLINE_PASSED");
    assert.equal(exposure.total, 0n);
  }, { clock, strategy });
});

Deno.test("ExecutionPreparation: a refusal of the strategy, asked for the hold, is final", async () => {
  const clock = new FakeClock();
  const strategy = {
    holdMs() {
      throw new PricingRefusedError("PRICE_MOVED", "It has moved");
    },
    recheck() {},
  };
  await withExecutor(noHedge, async ({ submitter, store }) => {
    const { intent } = await store.insert(recorded(clock));
    assert.equal((await submitter.submit(intent)).failure?.code, "PRICE_MOVED");
  }, { clock, strategy });
});
