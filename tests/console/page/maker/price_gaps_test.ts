import assert from "node:assert/strict";
import { type PriceHistory, SLOT_MS } from "../../../../lib/client/mod.ts";
import { SPEC_MARKETS } from "../../../../lib/protocol/markets.ts";
import { PriceGaps } from "../../../../services/console/page/maker/price_gaps.ts";
import { thesisOf } from "../../support.ts";

const { base, quote } = SPEC_MARKETS.list[0]!; // it has three

Deno.test("PriceGaps: finds the bets with a gap in their window until it is filled, and reads no price twice", async () => {
  let missing = [{ from: 20_000, to: 25_000 }];
  const asked: (readonly [number, number])[] = [];
  const history = (_: string, from: number, to: number) => {
    asked.push([from, to]);
    const found = missing.map((gap) => ({
      from: Math.max(gap.from, from),
      to: Math.min(gap.to, to),
    }));
    return Promise.resolve({ prices: [], missing: found.filter(({ from, to }) => from < to) });
  };
  const gaps = new PriceGaps({ history }, SPEC_MARKETS);
  const bets = [[10_000, 20_000], [10_000, 90_000], [25_000, 90_000], [15_000, 21_000]].map(
    ([startTime, endTime], id) => thesisOf(id, { base, quote, startTime, endTime }),
  );
  const idsAt = async (nowMs: number) => [...await gaps.read(bets, nowMs)];
  assert.deepEqual(await idsAt(23_000), [], "the newest prices may be on their way");
  assert.deepEqual(await idsAt(33_000), [1, 3]);
  assert.deepEqual(await idsAt(34_000), [1, 3]);
  missing = [];
  assert.deepEqual(await idsAt(35_000), []);
  assert.deepEqual(asked, [
    ...[[10_000, 20_000], [20_000, 30_000]],
    ...[[20_000, 25_000], [30_000, 31_000]],
    ...[[20_000, 25_000], [31_000, 32_000]],
  ]);
});

Deno.test("PriceGaps: many gaps are read again in few requests, and only those that are filled end", async () => {
  let requests = 0;
  let isMissing = (time: number) => time % (2 * SLOT_MS) === 0;
  const client = {
    history(_symbol: string, from: number, to: number): Promise<PriceHistory> {
      requests += 1;
      const missing: PriceHistory["missing"] = [];
      for (let time = from; time < to; time += SLOT_MS) {
        if (isMissing(time)) missing.push({ from: time, to: time + SLOT_MS });
      }
      return Promise.resolve({ prices: [], missing });
    },
  };
  const bets = [[0, 600_000], [600_000, 1_200_000]].map(([startTime, endTime], index) =>
    thesisOf(index + 1, { base, quote, startTime, endTime, status: "open" })
  );
  const gaps = new PriceGaps(client, SPEC_MARKETS);
  assert.deepEqual(await gaps.read(bets, 900_000), new Set([1, 2]));
  requests = 0;
  assert.deepEqual(await gaps.read(bets, 901_000), new Set([1, 2]));
  assert(requests < 20, `${requests} requests`);
  isMissing = (time) => time === 700_000;
  assert.deepEqual(await gaps.read(bets, 902_000), new Set([2]));
  isMissing = () => false;
  assert.deepEqual(await gaps.read(bets, 903_000), new Set());
});
