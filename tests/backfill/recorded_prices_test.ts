import assert from "node:assert/strict";
import type { CoreClient } from "../../lib/net/core_client.ts";
import type { PricePoint } from "../../lib/prices/price_slots.ts";
import { MINUTE_MS } from "../../lib/time.ts";
import { findDistantPrice, readNeighbours } from "../../services/backfill/recorded_prices.ts";
import { ETH } from "../node/support/actors.ts";
import { nodePrice } from "../solver/support.ts";
import { START } from "./fake_history.ts";

const PAGE_MS = 10 * MINUTE_MS;

/** A node that has these prices, in pages of ten minutes, and a newest price. */
function nodeWith(points: readonly PricePoint[], newest?: bigint) {
  let asked = 0;
  const getPriceHistory: CoreClient["getPriceHistory"] = ({ from, to, cursor }) => {
    asked += 1;
    const start = Number(cursor ?? from);
    const end = Math.min(to, start + PAGE_MS);
    const prices = points.filter(({ time }) => time >= start && time < end);
    return Promise.resolve({ prices, missing: [], nextCursor: end < to ? `${end}` : null });
  };
  const getPrices: CoreClient["getPrices"] = () =>
    Promise.resolve(newest === undefined ? {} : { [ETH.symbol]: nodePrice({ price: newest }) });
  return { getPriceHistory, getPrices, asked: () => asked };
}

Deno.test("readNeighbours: finds the prices on both sides of an outage of hours", async () => {
  const gap = { from: START, to: START + 1_000 };
  const node = nodeWith([
    { time: START - 101 * MINUTE_MS, price: 2_000n },
    { time: START - 100 * MINUTE_MS, price: 3_000n },
    { time: START + 95 * MINUTE_MS, price: 3_200n },
    { time: START + 96 * MINUTE_MS, price: 9_000n },
  ]);
  const neighbours = await readNeighbours(ETH, gap, node);
  assert.deepEqual(neighbours.map(({ price }) => price), [3_000n, 3_200n]);
  assert.match(
    findDistantPrice([3_300n, 3_301n], neighbours) ?? "",
    /0\.003301 .* last one before/,
  );
  assert.match(findDistantPrice([2_879n], neighbours) ?? "", /0\.002879 .* first one after/);
  assert.equal(findDistantPrice([2_880n, 3_300n], neighbours), undefined);
});

Deno.test("readNeighbours: asks for the page beside a gap first, and not beyond what a node keeps", async () => {
  const gap = { from: START, to: START + 1_000 };
  const near = nodeWith([{ time: START - 100, price: 1n }, { time: START + 1_000, price: 2n }]);
  assert.equal((await readNeighbours(ETH, gap, near)).length, 2);
  assert.equal(near.asked(), 2);
  const empty = nodeWith([]);
  assert.deepEqual(await readNeighbours(ETH, gap, empty), []);
  assert.equal(empty.asked(), 22); // 65,536 slots in each direction
});

Deno.test("readNeighbours: a gap that is older than what the node keeps is compared with the newest price", async () => {
  const gap = { from: START, to: START + 1_000 };
  const neighbours = await readNeighbours(ETH, gap, nodeWith([], 3_000n));
  assert.match(
    findDistantPrice([30_000n], neighbours) ?? "",
    /10 % from 0\.003, the newest one$/,
  );
  assert.equal(findDistantPrice([3_300n], neighbours), undefined);
});
