import type { Thesis } from "@rangemaker/client";
import { scaleLinear } from "d3-scale";
import { historyOf } from "../data/results.ts";
import { DAY_MS, formatDay, formatGain, formatTime, fromNumber, toNumber } from "../format.ts";
import { Plot } from "../plot.tsx";
import { timeTicks } from "../trade/chart_scales.ts";

/** Profit and loss over time, as steps: each value lasts until the next settlement, or now. */
export function ProfitChart({ theses, nowMs }: { theses: readonly Thesis[]; nowMs: number }) {
  const points = historyOf(theses);
  const fromMs = points[0]?.timeMs;
  if (fromMs === undefined) return <p class="note">No bet is settled yet.</p>;
  const profits = points.map(({ profit }) => toNumber(profit));
  const toX = scaleLinear([fromMs, Math.max(nowMs, fromMs + 1)], [0, 100]);
  const toY = scaleLinear([Math.min(0, ...profits), Math.max(0, ...profits)], [97, 3]).nice(4);
  const steps = points.map(({ timeMs }, index) => `H${toX(timeMs)} V${toY(profits[index] ?? 0)}`);
  const plot = { left: 0, right: 100, top: 0, bottom: 100 };
  const nameOf = nowMs - fromMs > DAY_MS ? formatDay : formatTime;
  return (
    <figure class="part">
      <h3>Profit and loss over time, USDC</h3>
      <Plot
        label={`Profit and loss from ${nameOf(fromMs)} to now, at last ` +
          `${formatGain(fromNumber(profits.at(-1) ?? 0))} USDC`}
        xTicks={timeTicks({ x: toX, y: toY, plot, nowMs }, 26)
          .filter((ms) => toX(ms) > 8 && toX(ms) < 92)
          .map((ms) => ({ at: toX(ms), text: nameOf(ms) }))}
        yTicks={toY.ticks(4).map((tick) => ({
          at: toY(tick),
          text: formatGain(fromNumber(tick)).replace(".00", ""),
        }))}
      >
        <path class="mark" d={`M0 ${toY(0)} H100`} />
        <path class="value" d={`M0 ${toY(0)} ${steps.join(" ")} H100`} />
      </Plot>
    </figure>
  );
}
