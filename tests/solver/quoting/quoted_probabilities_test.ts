import assert from "node:assert/strict";
import { QuotedProbabilities } from "../../../services/solver/quoting/quoted_probabilities.ts";

Deno.test("QuotedProbabilities: knows the newest quotes, and none of a strategy without probabilities", () => {
  const probabilities = new QuotedProbabilities(2);
  const known = () => (["0x01", "0x02", "0x03", "0x04"] as const).map(probabilities.of);
  probabilities.add("0x01", 0);
  probabilities.add("0x02", 0.2);
  probabilities.add("0x03", undefined);
  assert.deepEqual(known(), [0, 0.2, undefined, undefined]);
  probabilities.add("0x04", 0.4);
  assert.deepEqual(known(), [undefined, 0.2, undefined, 0.4]);
});
