/** No quote is worth more than it costs under the model's own assumptions. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { findFreeBet, SCENARIOS } from "./no_free_bet.ts";

Deno.test("Pricing: no quote has an expected gain for the user", () => {
  fc.assert(
    fc.property(SCENARIOS, (scenario) => {
      const found = findFreeBet(scenario);
      assert.equal(found, undefined, JSON.stringify(found));
    }),
    { numRuns: 3_000 },
  );
});
