import assert from "node:assert/strict";
import { seededRandom } from "../../../lib/random.ts";
import { BacktestError } from "../../../services/solver/backtest/slots.ts";
import type { Candle } from "../../../services/solver/pricing/candle.ts";
import { openCandles } from "../../../services/solver/backtest/candle_file.ts";
import { candlesText, START_MS } from "./support.ts";
import { withFile } from "../../support/files.ts";

async function readAll(path: string): Promise<Candle[]> {
  const all: Candle[] = [];
  for await (const candles of (await openCandles(path)).candles()) all.push(...candles);
  return all;
}

Deno.test("Candle file: reads every row, wherever the chunks of the file end", () =>
  withFile(candlesText(seededRandom(1), { volatility: 0.5, minutes: 5_000 }), async (path) => {
    const source = await openCandles(path);
    assert.deepEqual(
      [source.durationMs, source.fromMs, source.toMs],
      [60_000, START_MS, START_MS + 5_000 * 60_000],
    );
    const bars = await readAll(path);
    assert.equal(bars.length, 5_000);
    assert.ok(bars.every(({ timeMs }, index) => timeMs === START_MS + index * 60_000));
  }));

Deno.test("Candle file: prices are integers with 6 decimals; the last line break is optional", () =>
  withFile(
    "time_ms,open,high,low,close\r\n0,1.5,2,1,1.25\r\n60000,1,1.000001,1,1",
    async (path) => {
      const bars = await readAll(path);
      assert.deepEqual(bars.map(({ open, high, low, close }) => [open, high, low, close]), [
        [1_500_000, 2_000_000, 1_000_000, 1_250_000],
        [1_000_000, 1_000_001, 1_000_000, 1_000_000],
      ]);
    },
  ));

Deno.test("Candle file: blank lines are skipped and counted", async () => {
  const rows = "time_ms,open,high,low,close\n0,1,2,1,2\n\n60000,2,2,2,2\n";
  for (const end of ["\n", "\r\n \n", " "]) {
    await withFile(rows + end, async (path) => {
      assert.deepEqual([(await openCandles(path)).toMs, (await readAll(path)).length], [
        120_000,
        2,
      ]);
    });
  }
  await withFile(`${rows}\n0,1,1,1,1`, async (path) => {
    await assert.rejects(readAll(path), /above in line 6$/);
  });
});

Deno.test("Candle file: an error names its line", async () => {
  const good = "time_ms,open,high,low,close\n0,1,2,1,2\n60000,2,2,2,2\n";
  const cases: [string, RegExp][] = [
    ["", /at least two/],
    ["time,open\n1,2\n", /expected time_ms,open,high,low,close in line 1/],
    [`${good}120000,x,2,1,1\n`, /expected numbers as in .* in line 4/],
    ["time_ms,open,high,low,close\n60000,1,2,1,2\n\n0,2,2,2,2\n", /oldest .* first, in line 4$/],
    ["time_ms,open,high,low,close\n0,1,2,1,2\n0,2,2,2,2\n", /a later time .* in line 3$/],
    [`${good}60000,1,2,1,1\n`, /at least 60000 ms after the one above in line 4/],
    [`${good}120000,1,1,1,1.5\n`, /none above the high or below the low in line 4/],
    [`${good}120000,0,2,0,1\n`, /prices above 0.* in line 4/],
  ];
  for (const [text, words] of cases) {
    await withFile(text, async (path) => {
      await assert.rejects(readAll(path), (thrown) => {
        assert.ok(thrown instanceof BacktestError);
        assert.match(thrown.message, words);
        return true;
      });
    });
  }
  await assert.rejects(openCandles("nowhere.csv"), /nowhere.csv cannot be read/);
});
