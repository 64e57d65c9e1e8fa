import assert from "node:assert/strict";
import fc from "fast-check";
import { Histogram, Registry } from "prom-client";
import { HotHistogram } from "../../../services/proxy/shared/hot_metrics.ts";

const NAME = "took_seconds";
const HELP = "Time taken.";
const BUCKETS = [0.001, 0.01, 0.5, 2];

Deno.test("HotHistogram: has the same output as prom-client's histogram", async () => {
  const observation = fc.record({
    target: fc.constantFrom("read", "write"),
    value: fc.oneof(fc.constantFrom(0, ...BUCKETS), fc.double({ min: 0, max: 3, noNaN: true })),
  });
  await fc.assert(fc.asyncProperty(fc.array(observation), async (observations) => {
    const scrapes = [ours, theirs].map(async (observerIn) => {
      const registry = new Registry();
      const observe = observerIn(registry);
      for (const { target, value } of observations) observe(target, value);
      return await registry.metrics();
    });
    const [own, model] = await Promise.all(scrapes);
    assert.equal(own, model);
  }));
});

function ours(registry: Registry) {
  const histogram = new HotHistogram(registry, NAME, HELP, BUCKETS, "target");
  const series = new Map<string, (value: number) => void>();
  return (target: string, value: number) => {
    if (!series.has(target)) series.set(target, histogram.createSeries({ target }));
    series.get(target)?.(value);
  };
}

function theirs(registry: Registry) {
  const labelNames = ["target"] as const;
  const options = { name: NAME, help: HELP, labelNames, buckets: BUCKETS, registers: [registry] };
  const histogram = new Histogram(options);
  return (target: string, value: number) => histogram.observe({ target }, value);
}
