import assert from "node:assert/strict";
import { Backoff } from "../../../lib/net/backoff.ts";
import { withSeed } from "../../support/random.ts";

Deno.test("Backoff: doubles from the first wait to the longest", () => {
  const backoff = new Backoff({ initialMs: 100, maxMs: 1_000, random: () => 1 });
  const waits = Array.from({ length: 6 }, () => backoff.nextMs());
  assert.deepEqual(waits, [100, 200, 400, 800, 1_000, 1_000]);
  assert.equal(backoff.attempts, 6);
});

Deno.test("Backoff: jitter keeps each wait between half and all of its value", () =>
  withSeed((random) => {
    const backoff = new Backoff({ initialMs: 100, maxMs: 10_000, random });
    for (let attempt = 0; attempt < 2_000; attempt += 1) {
      const fullMs = Math.min(10_000, 100 * 2 ** attempt);
      const waitMs = backoff.nextMs();
      assert(waitMs >= fullMs / 2 && waitMs <= fullMs, `attempt ${attempt} waits ${waitMs}`);
    }
  }));

Deno.test("Backoff: starts again after a reset", () => {
  const backoff = new Backoff({ initialMs: 100, maxMs: 1_000, random: () => 1 });
  backoff.nextMs();
  backoff.nextMs();
  backoff.reset();
  assert.equal(backoff.nextMs(), 100);
});

Deno.test("Backoff: options that make no sense are refused with what was received", () => {
  for (const [initialMs, maxMs] of [[0, 10], [-1, 10], [20, 10], [NaN, 10]] as const) {
    assert.throws(() => new Backoff({ initialMs, maxMs, random: Math.random }), RangeError);
  }
});
