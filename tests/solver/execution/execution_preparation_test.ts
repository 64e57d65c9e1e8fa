import assert from "node:assert/strict";
import { errorCodeOf } from "../../../lib/errors.ts";
import { IntentRefusedError } from "../../../lib/intents/errors.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import { SignatureError } from "../../../lib/protocol/signature.ts";
import { decodeExecution, encodeExecution } from "../../../services/solver/execution/execution.ts";
import {
  type PricingRefusal,
  PricingRefusedError,
} from "../../../services/solver/pricing/strategy.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { hedgeOf, type Overrides, recorded, type Scene, signed, withExecutor } from "./support.ts";

const HOLD_MS = 300;

/** What became of an execution. */
interface Found {
  /** Status of the result, or the code of the failure. */
  answer: string;
  /** Looks and hedges with their times. */
  steps: string[];
  logged: unknown[];
  sent: number;
  risk: bigint;
}

/** Executes a quote; `refusals` are those of the checks: at its arrival, after hold and hedge. */
async function execute(refusals: (PricingRefusal | undefined)[]): Promise<Found> {
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
  const hedge = hedgeOf(() => Promise.resolve(step("hedge")));
  const found: Found[] = [];
  await withLogs("info", (records) =>
    withExecutor(hedge, async ({ executor, exposure, sent }) => {
      const running = executor.execute(signed(clock).execution)
        .then(({ status }) => status, errorCodeOf);
      const answered = running.then(() => true);
      await Promise.race([eventually("the hold", () => clock.pending > 0), answered]);
      assert.deepEqual(sent, []);
      clock.advance(HOLD_MS);
      const answer = await running;
      const logged = records.map(({ properties: { event } }) => event);
      found.push({ answer, steps, logged, sent: sent.length, risk: exposure.total });
    }, { clock, strategy }));
  return found[0] ?? assert.fail("It was executed");
}

const runs: [name: string, refusals: (PricingRefusal | undefined)[], expected: Partial<Found>][] = [
  ["an execution is held, rechecked, hedged, rechecked and sent", [], {
    answer: "committed",
    steps: ["first check at 0", "recheck at 300", "hedge at 300", "recheck at 300"],
    sent: 1,
    risk: 10n,
  }],
  ["if the price moved during the hold, it ends before the hedge", [undefined, "PRICE_MOVED"], {
    answer: "PRICE_MOVED",
    steps: ["first check at 0", "recheck at 300"],
    logged: ["execution_accepted"],
    sent: 0,
    risk: 0n,
  }],
  [
    "if the price moved during the hedge, nothing is submitted",
    [undefined, undefined, "PRICE_IMPROVED"],
    {
      answer: "PRICE_IMPROVED",
      steps: ["first check at 0", "recheck at 300", "hedge at 300", "recheck at 300"],
      logged: ["execution_accepted", "execution_hedged"],
      sent: 0,
      risk: 0n,
    },
  ],
  [
    "without a price after the hedge the outcome is open, and the risk stays reserved",
    [undefined, undefined, "PRICE_UNAVAILABLE"],
    {
      answer: "OUTCOME_UNKNOWN",
      logged: ["execution_accepted", "execution_hedged"],
      sent: 0,
      risk: 10n,
    },
  ],
];

for (const [name, refusals, expected] of runs) {
  Deno.test(`ExecutionPreparation: ${name}`, async () => {
    const found = await execute(refusals);
    assert.deepEqual({ ...found, ...expected }, found);
  });
}

interface Recorded extends Scene {
  /** An execution that was recorded, perhaps by another process. */
  intent: Intent;
}

/** Runs a test with a recorded execution. */
function withRecorded(
  test: (scene: Recorded) => Promise<void>,
  overrides: Overrides = {},
): Promise<void> {
  return withExecutor(hedgeOf(), async (scene) => {
    const { intent } = await scene.store.insert(recorded(scene.clock));
    await test({ ...scene, intent });
  }, overrides);
}

Deno.test("ExecutionPreparation: after a restart, an execution is held only for the remaining time", () =>
  withRecorded(async ({ preparation, intent, clock }) => {
    clock.jump(100);
    let isHedged = false;
    const running = preparation.prepare(intent).then(() => isHedged = true);
    clock.advance(199);
    await Promise.resolve();
    assert.equal(isHedged, false);
    clock.advance(1);
    await running;
    await preparation.prepare(intent);
  }, { strategy: { holdMs: () => HOLD_MS, recheck() {} } }));

Deno.test("ExecutionPreparation: an execution recorded by a clock that is ahead is held no longer", () =>
  withRecorded(async ({ preparation, intent, clock }) => {
    let isHedged = false;
    const running = preparation.prepare({ ...intent, createdAtMs: intent.createdAtMs + 500 })
      .then(() => isHedged = true);
    clock.advance(HOLD_MS);
    await eventually("its hedge", () => isHedged);
    await running;
  }, { strategy: { holdMs: () => HOLD_MS, recheck() {} } }));

Deno.test("ExecutionPreparation: a recorded execution that solver or user did not sign gets no transaction", () =>
  withRecorded(({ preparation, intent }) => {
    const { quote, userSignature } = decodeExecution(intent.payload);
    assert.ok(preparation.termsOf(intent));
    for (
      const execution of [
        { quote: { ...quote, signature: userSignature }, userSignature },
        { quote, userSignature: quote.signature },
      ]
    ) {
      const payload = encodeExecution(execution);
      assert.throws(() => preparation.termsOf({ ...intent, payload }), SignatureError);
    }
    return Promise.resolve();
  }));

Deno.test("ExecutionPreparation: an execution of another process is reserved, and refused after its deadline, unless the clock is known to be wrong", () =>
  withRecorded(async ({ executor, preparation, intent, exposure, clock, clocks }) => {
    await preparation.prepare(intent);
    assert.equal(exposure.reservedKeys.length, 1);
    const late = signed(clock, { payout: 109n }).execution;
    clock.jump(2_000);
    // A clock that is known to be wrong proves nothing: another solver may execute both.
    clocks.recordDifference("it is an hour ahead");
    await assert.rejects(preparation.prepare(intent), { code: "OUTCOME_UNKNOWN" });
    await assert.rejects(executor.execute(late), { code: "CLOCKS_DIFFER" });
    clocks.recordAgreement();
    await assert.rejects(executor.execute(late), { code: "DEADLINE_PASSED" });
    await assert.rejects(preparation.prepare(intent), IntentRefusedError);
  }));

Deno.test("ExecutionPreparation: an execution whose strategy cannot tell its hold ends by its deadline", () => {
  let thrown: Error = new PricingRefusedError("PRICE_UNAVAILABLE", "No price yet");
  const strategy = {
    holdMs() {
      throw thrown;
    },
    recheck() {},
  };
  return withRecorded(async ({ submitter, intent, exposure, clock }) => {
    await assert.rejects(submitter.submit(intent), { code: "OUTCOME_UNKNOWN" });
    thrown = new TypeError("No window");
    await assert.rejects(submitter.submit(intent), TypeError);
    clock.jump(2_000);
    assert.equal((await submitter.submit(intent)).failure?.code, "DEADLINE_PASSED");
    assert.equal(exposure.total, 0n);
  }, { strategy });
});

Deno.test("ExecutionPreparation: a refusal of the strategy, asked for the hold, is final", () => {
  const strategy = {
    holdMs() {
      throw new PricingRefusedError("PRICE_MOVED", "It has moved");
    },
    recheck() {},
  };
  return withRecorded(async ({ submitter, intent }) => {
    assert.equal((await submitter.submit(intent)).failure?.code, "PRICE_MOVED");
  }, { strategy });
});
