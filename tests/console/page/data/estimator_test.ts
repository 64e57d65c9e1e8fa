import assert from "node:assert/strict";
import type { Bet, Estimate } from "../../../../lib/client/mod.ts";
import { Estimator } from "../../../../services/console/page/data/estimator.ts";
import { explain } from "../../../../services/console/page/data/explain.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { nextTurn } from "../../../support/eventually.ts";
import { BET, estimateOf } from "../../support.ts";

interface Request {
  bet: Bet;
  signal: AbortSignal;
  answer: PromiseWithResolvers<Estimate>;
}

function scene() {
  const clock = new FakeClock(0);
  const requests: Request[] = [];
  const estimator = new Estimator({
    estimate(bet, signal = assert.fail()) {
      const answer = Promise.withResolvers<Estimate>();
      signal.addEventListener("abort", () => answer.reject(signal.reason));
      requests.push({ bet, signal, answer });
      return answer.promise;
    },
  }, clock);
  return { clock, requests, estimator };
}

const betOf = (betAmount: bigint): Bet => ({ ...BET, betAmount });

Deno.test("Estimator: sends one request at a time, and then one for the newest bet", async () => {
  const { clock, requests, estimator } = scene();
  for (const amount of [1n, 2n, 3n]) estimator.ask(betOf(amount));
  assert.deepEqual(requests.map(({ bet }) => bet.betAmount), [1n]);
  requests[0]?.answer.resolve(estimateOf(1n, 2n));
  await nextTurn();
  clock.advance(120);
  assert.deepEqual(requests.map(({ bet }) => bet.betAmount), [1n, 3n]);
  requests[1]?.answer.resolve(estimateOf(3n, 6n));
  await nextTurn();
  const state = estimator.state.value;
  assert(state !== undefined && "estimate" in state);
  assert.equal(state.estimate.payout, 6n);
});

Deno.test("Estimator: requests are 120 ms apart, also after the clock was set back", async () => {
  for (const setByMs of [0, -3_600_000]) {
    const { clock, requests, estimator } = scene();
    clock.advance(3_600_000);
    estimator.ask(betOf(1n));
    requests[0]?.answer.resolve(estimateOf(1n, 2n));
    await nextTurn();
    clock.setBy(setByMs);
    estimator.ask(betOf(2n));
    clock.advance(119);
    assert.equal(requests.length, 1);
    clock.advance(1);
    assert.equal(requests.length, 2);
    estimator.clear();
    await nextTurn();
  }
});

Deno.test("Estimator: clear aborts a pending request, and its answer is never shown", async () => {
  const { requests, estimator } = scene();
  estimator.ask(betOf(1n));
  estimator.clear();
  assert.equal(requests[0]?.signal.aborted, true);
  requests[0]?.answer.resolve(estimateOf(1n, 2n));
  await nextTurn();
  assert.equal(estimator.state.value, undefined);
});

Deno.test("Estimator: a refusal becomes the state, and a request without an answer is aborted after 3 s", async () => {
  const { clock, requests, estimator } = scene();
  estimator.ask(betOf(1n));
  clock.advance(3_000);
  await nextTurn();
  const state = estimator.state.value;
  assert(state !== undefined && "failure" in state);
  assert.equal(explain(state.failure).code, "SERVICE_TIMEOUT");
  estimator.ask(betOf(2n));
  clock.advance(120);
  requests[1]?.answer.reject(new Error("no"));
  await nextTurn();
  assert.deepEqual(estimator.state.value, { failure: new Error("no"), bet: betOf(2n) });
});

Deno.test("Estimator: while it is paused, it requests nothing, and drops a request that was waiting", async () => {
  const { clock, requests, estimator } = scene();
  estimator.ask(betOf(1n));
  estimator.ask(betOf(2n));
  estimator.isPaused = true;
  requests[0]?.answer.resolve(estimateOf(1n, 2n));
  await nextTurn();
  estimator.ask(betOf(3n));
  clock.advance(1_000);
  assert.equal(requests.length, 1);
  estimator.isPaused = false;
  estimator.ask(betOf(4n));
  assert.equal(requests[1]?.bet.betAmount, 4n);
  estimator.clear();
  await nextTurn();
});
