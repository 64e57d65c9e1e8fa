import assert from "node:assert/strict";
import { QuotedProbabilities } from "../../../services/solver/quoting/quoted_probabilities.ts";

Deno.test("QuotedProbabilities: knows the newest quotes, and none of a strategy without probabilities", () => {
  const probabilities = new QuotedProbabilities(2);
  probabilities.add("0x01", 0.1);
  probabilities.add("0x02", undefined);
  probabilities.add("0x03", 0.3);
  probabilities.add("0x04", 0.4);
  const known = (["0x01", "0x02", "0x03", "0x04"] as const).map(probabilities.of);
  assert.deepEqual(known, [undefined, undefined, 0.3, 0.4]);
});
