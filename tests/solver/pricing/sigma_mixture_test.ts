import assert from "node:assert/strict";
import { sigmaNodes, spreadOver } from "../../../services/solver/pricing/sigma_mixture.ts";

const DAY_MS = 86_400_000;

Deno.test("Mixture: the logarithm of the volatility has its mean, variance and fourth moment", () => {
  const nodes = sigmaNodes({ volatility: 0.5, spread: 0.4 });
  const moment = (power: number) =>
    nodes.reduce(
      (sum, { volatility, weight }) => sum + weight * Math.log(volatility / 0.5) ** power,
      0,
    );
  const expected = [1, 0, 0.4 ** 2, 0, 3 * 0.4 ** 4];
  expected.forEach((value, power) => assert.ok(Math.abs(moment(power) - value) < 1e-12));
  assert.deepEqual(sigmaNodes({ volatility: 0.5, spread: 0 }), [{ volatility: 0.5, weight: 1 }]);
});

Deno.test("Mixture: the spread grows with the horizon, and where history is shorter than it", () => {
  const long = 30 * DAY_MS;
  assert.equal(spreadOver(300_000, long), 0.35);
  assert.equal(spreadOver(1_000, long), 0.25);
  assert.ok(Math.abs(spreadOver(DAY_MS, long) - 0.633) < 0.001);
  assert.ok(spreadOver(DAY_MS, DAY_MS / 10) > spreadOver(DAY_MS, DAY_MS) + 0.2);
  assert.equal(spreadOver(DAY_MS, 1), 1);
});
