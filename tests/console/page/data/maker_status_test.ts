import assert from "node:assert/strict";
import type { SolverInfo } from "../../../../lib/client/mod.ts";
import { RangemakerError } from "../../../../lib/errors.ts";
import { MakerStatus } from "../../../../services/console/page/data/maker_status.ts";

Deno.test("MakerStatus: an answer replaces the info; a request without one means away, a refusal does not", async () => {
  const maker = new MakerStatus();
  const late = new RangemakerError("SERVICE_TIMEOUT", "the solver does not answer");
  const answer = { dryRun: false } as SolverInfo; // the status passes it on
  await maker.read(() => Promise.resolve(answer));
  assert.deepEqual([maker.info.value, maker.isAway.value], [answer, false]);
  await maker.read(() => Promise.reject(late));
  assert.deepEqual([maker.info.value, maker.isAway.value], [answer, true]);
  maker.report(new RangemakerError("BET_TOO_SMALL", "too small"));
  assert.equal(maker.isAway.value, false);
});
