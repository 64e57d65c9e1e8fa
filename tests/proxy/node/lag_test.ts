import assert from "node:assert/strict";
import { blocksBehind } from "../../../services/proxy/node/read_node.ts";

const NOW_S = 1_000;
const head = (number: number, agoS = 0) => ({ number, timestampS: NOW_S - agoS });

Deno.test("blocksBehind: compares with the second-highest of three or more, of two also their times", () => {
  const rows: [own: [number, number?], others: [number, number?][], behind: number][] = [
    [[10], [], 0],
    [[10], [[12], [14]], 2],
    [[10], [[12], [1_000_000]], 2],
    [[14], [[12], [10]], -2],
    [[12], [[12], [10]], 0],
    [[10], [[11], [12], [13]], 2],
    [[10, 2], [[12]], 2],
    [[10, 1.9], [[12]], 0],
    [[10, 0], [[12]], 0],
    [[12], [[10, 9]], 0],
    // A time in the future counts as now.
    [[10, 1], [[12, -9]], 0],
    [[10, 2], [[12, -9]], 2],
  ];
  for (const [own, others, behind] of rows) {
    const heads = others.map((other) => head(...other));
    assert.equal(blocksBehind(head(...own), heads, NOW_S * 1_000), behind, `${own} ${others}`);
  }
});
