import assert from "node:assert/strict";
import fc from "fast-check";
import { Histogram, Registry } from "prom-client";
import { PresetHistogram } from "../../../services/proxy/shared/hot_metrics.ts";

const BUCKETS = [0.001, 0.01, 0.5, 2];

Deno.test("PresetHistogram: has the same output as prom-client's histogram", async () => {
  const observation = fc.record({
    target: fc.constantFrom("read", "write"),
    value: fc.oneof(fc.constantFrom(0, ...BUCKETS), fc.double({ min: 0, max: 3, noNaN: true })),
  });
  await fc.assert(fc.asyncProperty(fc.array(observation), async (observations) => {
    const scrapes = [new Registry(), new Registry()].map(async (registry, index) => {
      const options = {
        name: "took_seconds",
        help: "Time taken.",
        labelNames: ["target" as const],
        buckets: BUCKETS,
        registers: [registry],
      };
      const observe = index === 0 ? ours(options) : theirs(options);
      for (const { target, value } of observations) observe(target, value);
      return await registry.metrics();
    });
    const [own, model] = await Promise.all(scrapes);
    assert.equal(own, model);
  }));
});

type Options = ConstructorParameters<typeof PresetHistogram<"target">>[0];

function ours(options: Options) {
  const histogram = new PresetHistogram(options);
  const series = new Map<string, (value: number) => void>();
  return (target: string, value: number) => {
    if (!series.has(target)) series.set(target, histogram.series({ target }));
    series.get(target)?.(value);
  };
}

function theirs(options: Options) {
  const histogram = new Histogram({ ...options, buckets: [...options.buckets] });
  return (target: string, value: number) => histogram.observe({ target }, value);
}
