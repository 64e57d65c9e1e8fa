import assert from "node:assert/strict";
import { DecayedMean } from "../../../services/solver/pricing/decayed_mean.ts";

Deno.test("DecayedMean: a value has half the weight after each half-life", () => {
  const mean = new DecayedMean(1_000);
  assert.deepEqual([mean.mean, mean.weight], [undefined, 0]);
  mean.add(10);
  assert.deepEqual([mean.mean, mean.weight], [10, 1]);
  mean.decay(2_000);
  assert.deepEqual([mean.mean, mean.weight], [10, 0.25]);
  mean.add(20, 0.75);
  assert.deepEqual([mean.mean, mean.weight], [17.5, 1]);
  const restored = new DecayedMean(1_000, JSON.parse(JSON.stringify(mean)));
  assert.deepEqual([restored.mean, restored.weight, restored.halfLifeMs], [17.5, 1, 1_000]);
});
