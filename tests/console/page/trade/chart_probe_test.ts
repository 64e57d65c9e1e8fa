import assert from "node:assert/strict";
import { signal } from "@preact/signals";
import { type Bet, MARKETS } from "../../../../lib/client/mod.ts";
import { PriceSeries } from "../../../../services/console/page/data/price_series.ts";
import type { PriceState } from "../../../../services/console/page/data/price_feed.ts";
import { ChartProbe } from "../../../../services/console/page/trade/chart_probe.ts";
import { EMPTY_FIELDS } from "../../../../services/console/page/trade/suggested_draft.ts";
import type { Stage } from "../../../../services/console/page/trade/stage.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { nextTurn } from "../../../support/eventually.ts";
import { estimateOf } from "../../support.ts";

const NOW_MS = 1_800_000_000_000;
const [market] = MARKETS;

function scene({ state = "fresh" as PriceState, amount = "" } = {}) {
  const series = new PriceSeries();
  series.append(NOW_MS - 1_000, 3_000);
  const age = { lastUpdate: NOW_MS, ageMs: 0, state: "fresh" } as const;
  const newest = { ...market, price: 3_000_000_000n, decimals: 6, ...age } as const;
  const asked: Bet[] = [];
  const estimate = estimateOf(10_000_000n, 25_000_000n);
  const probe = new ChartProbe({
    market,
    model: {
      client: {
        estimate(bet: Bet) {
          asked.push(bet);
          return bet.betAmount === 1n ? Promise.reject(new Error("no")) : Promise.resolve(estimate);
        },
      },
      feed: { latest: signal({ [market.symbol]: newest }), stateOf: () => state },
      serverClock: new FakeClock(NOW_MS),
    },
    slip: { stage: signal<Stage>({ name: "draft" }), fields: signal({ ...EMPTY_FIELDS, amount }) },
  });
  return { probe, series, asked };
}

const future = { time: NOW_MS + 10_000, price: 3_006 };
const END_MS = NOW_MS + 60_000;

Deno.test("ChartProbe: a point in the future shows the multiplier of a box that reaches as far from the price", async () => {
  const { probe, series, asked } = scene({ amount: "20" });
  probe.show(future, END_MS);
  await nextTurn();
  const [bet] = asked;
  assert.deepEqual([bet?.lowerPrice, bet?.upperPrice], [2_994_000_000n, 3_006_000_000n]);
  assert.deepEqual([bet?.startTime, bet?.endTime], [NOW_MS + 10_000, NOW_MS + 25_000]);
  assert.equal(bet?.betAmount, 20_000_000n);
  const text = probe.textAt(future, series, NOW_MS);
  assert.match(text, /^3,006\.00 at \d\d:\d\d:\d\d: staying this close for 15 s pays × 2\.50/);
  probe.show(future);
  assert.equal(probe.place.value, future);
  assert.match(probe.textAt(future, series, NOW_MS), /^3,006\.00 at [\d:]+$/, "a box is there now");
  probe.show(future, END_MS);
  series.append(NOW_MS + 10_000, 3_001);
  assert.match(
    probe.textAt(future, series, NOW_MS + 10_001),
    /^3,001\.00 at [\d:]+$/,
    "it is past",
  );
  probe.show(undefined);
  assert.equal(probe.place.value, undefined);
});

Deno.test("ChartProbe: no estimate is requested for a point in the past or on a box, or while prices are stale", async () => {
  const stale = scene({ state: "stale" });
  stale.probe.show(future, END_MS);
  const { probe, series, asked } = scene();
  const past = { time: NOW_MS - 1_000, price: 2_900 };
  probe.show(past, END_MS);
  probe.show(future);
  await nextTurn();
  assert.deepEqual([asked, stale.asked], [[], []]);
  assert.match(probe.textAt(past, series, NOW_MS), /^3,000\.00 at /);
});

Deno.test('ChartProbe: a box that the maker refuses is shown as "no bet up to here"', async () => {
  const { probe, series } = scene({ amount: "0.000001" });
  probe.show(future, END_MS);
  await nextTurn();
  assert.match(probe.textAt(future, series, NOW_MS), /: no bet up to here$/);
});
