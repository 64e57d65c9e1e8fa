import assert from "node:assert/strict";
import { parseTape, TAPE_HEADER } from "../../lib/prices/tape.ts";
import { Tape } from "../../services/exchanges/playback.ts";

const ROWS = [
  "1675329600138,1206419187,buy,1666.8,26.062",
  "1675329600214,1206419188,sell,1666.79,0.152",
  "1675329600214,1206419189,buy,1666.8,0.226",
];

const text = [TAPE_HEADER, ...ROWS, ""].join("\n");

Deno.test("Tape: plays from the start on, at every venue, again and again", () => {
  const rows = parseTape(text);
  const tape = new Tape(rows, "ETH/USDT", 5_000_000);
  const trades = Array.from({ length: 2 * 4 * rows.length }, () => tape.next());
  assert.deepEqual(trades.slice(0, 4).map((trade) => [trade.provider, trade.timeMs]), [
    ["provider_a", 5_000_000],
    ["provider_b", 5_000_000],
    ["provider_c", 5_000_000],
    ["provider_d", 5_000_000],
  ]);
  const atBinance = trades.filter((trade) => trade.provider === "provider_a");
  // The second round begins one mean gap, 38 ms, after the last trade of the first.
  assert.deepEqual(atBinance.map((trade) => trade.timeMs - 5_000_000), [0, 76, 76, 114, 190, 190]);
  assert.deepEqual(atBinance.map((trade) => trade.price).slice(3), rows.map((row) => row.price));
});
