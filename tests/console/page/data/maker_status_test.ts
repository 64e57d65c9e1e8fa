import assert from "node:assert/strict";
import type { SolverInfo } from "../../../../lib/client/mod.ts";
import { RangemakerError } from "../../../../lib/errors.ts";
import { MakerStatus } from "../../../../services/console/page/data/maker_status.ts";

Deno.test("MakerStatus: a request without an answer means away, a refusal does not", () => {
  const maker = new MakerStatus();
  maker.report(new RangemakerError("SERVICE_TIMEOUT", "the solver does not answer"));
  assert.equal(maker.isAway.value, true);
  maker.report(new RangemakerError("BET_TOO_SMALL", "too small"));
  assert.equal(maker.isAway.value, false);
});

Deno.test("MakerStatus: an answer replaces the info, a lost one leaves the last and means away", async () => {
  const maker = new MakerStatus();
  const answer = { dryRun: false } as SolverInfo; // the status passes it on
  await maker.read(() => Promise.resolve(answer));
  assert.deepEqual([maker.info.value, maker.isAway.value], [answer, false]);
  await maker.read(() => Promise.reject(new RangemakerError("SERVICE_TIMEOUT", "Late")));
  assert.deepEqual([maker.info.value, maker.isAway.value], [answer, true]);
  await maker.read(() => Promise.resolve(answer));
  assert.equal(maker.isAway.value, false);
});
