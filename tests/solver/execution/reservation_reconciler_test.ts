import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { type Intent, type IntentState, StoreError } from "../../../lib/intents/intent.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import { reservationReconciler } from "../../../services/solver/execution/reservation_reconciler.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { stakeOf } from "../theses.ts";

const HALF_MINUTE_MS = 30_000;

function setUp(states: Record<string, IntentState>) {
  const clock = new FakeClock();
  const exposure = new ExposureBook(undefined);
  for (const key of Object.keys(states)) exposure.reserve(key, stakeOf(10n));
  exposure.reserve("0xunrecorded", stakeOf(10n));
  const reconciled = { times: 0 };
  let isAway = false;
  let gate = Promise.resolve();
  const review = reservationReconciler({
    store: {
      async find(key) {
        await gate;
        if (isAway) throw new StoreError("The store is away");
        const state = states[key];
        return state && { key, state } as Intent; // all that is looked at here
      },
    },
    exposure,
    executor: {
      ended: ({ key, state }) =>
        state === "committed" ? exposure.committed(key) : exposure.release(key),
    },
    settled: {
      reconcile() {
        reconciled.times += 1;
        return Promise.resolve(0);
      },
    },
    clock,
  });
  const pass = async () => {
    clock.advance(HALF_MINUTE_MS);
    while (clock.pending === 0) await setImmediate();
  };
  /** Keeps the store from answering. @returns What lets it answer. */
  const holdStore = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return resolve;
  };
  return {
    clock,
    exposure,
    review,
    reconciled,
    pass,
    holdStore,
    setAway: (value: boolean) => isAway = value,
  };
}

Deno.test("Reservations: what another process ended is released, or is a thesis", async () => {
  const states: Record<string, IntentState> = {
    "0xa": "failed",
    "0xb": "committed",
    "0xc": "submitted",
  };
  const { exposure, review, reconciled, pass } = setUp(states);
  review.start();
  await pass();
  assert.deepEqual(exposure.reservedQuotes, ["0xc", "0xunrecorded"]);
  assert.deepEqual([exposure.total, exposure.reservedQuotes.length], [30n, 2]);
  states["0xc"] = "failed";
  await pass();
  assert.deepEqual(exposure.reservedQuotes, ["0xunrecorded"]);
  assert.equal(reconciled.times, 2, "settled theses are looked for in every pass");
  await review.stop();
});

Deno.test("Reservations: a store that is away is logged, and asked again half a minute later", () =>
  withLogs("warning", async (records) => {
    const { exposure, review, pass, setAway } = setUp({ "0xa": "failed" });
    review.start();
    setAway(true);
    await pass();
    assert.equal(exposure.total, 20n);
    const logged = records.map(({ category, properties }) => [category[1], properties.reason]);
    assert.deepEqual(logged, [["solver", "The store is away"]]);
    setAway(false);
    await pass();
    assert.equal(exposure.total, 10n);
    await review.stop();
  }));

for (const isAway of [false, true]) {
  const how = isAway ? "fails" : "answers";
  Deno.test(`Reservations: a stop waits for the store, which ${how}, and looks no further`, async () => {
    const { clock, exposure, review, holdStore, setAway } = setUp({
      "0xa": "failed",
      "0xb": "failed",
    });
    review.start();
    setAway(isAway);
    const answer = holdStore();
    clock.advance(HALF_MINUTE_MS);
    let stopped = false;
    const stop = review.stop().then(() => stopped = true);
    await setImmediate();
    assert.equal(stopped, false);
    answer();
    await stop;
    assert.equal(exposure.total, isAway ? 30n : 20n, "one at most was looked at");
    assert.equal(clock.pending, 0);
  });
}
