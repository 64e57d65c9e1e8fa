import assert from "node:assert/strict";
import { RangemakerError } from "../../../../lib/errors.ts";
import { MakerStatus } from "../../../../services/console/page/data/maker_status.ts";

Deno.test("MakerStatus: a request without an answer means away, a refusal does not", () => {
  const maker = new MakerStatus();
  maker.report(new RangemakerError("SERVICE_TIMEOUT", "the solver does not answer"));
  assert.equal(maker.isAway.value, true);
  maker.report(new RangemakerError("BET_TOO_SMALL", "too small"));
  assert.equal(maker.isAway.value, false);
});
