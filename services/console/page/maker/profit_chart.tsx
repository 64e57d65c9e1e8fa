import type { Thesis } from "@rangemaker/client";
import { scaleLinear } from "d3-scale";
import { historyOf } from "../data/results.ts";
import { DAY_MS } from "../../../../lib/time.ts";
import { formatDay, formatGain, formatTime, fromNumber, toNumber } from "../format.ts";
import { Plot } from "../plot.tsx";

/** Ticks of the axis: the longer texts of days need more space. */
const TICKS = { day: 3, time: 4 };

/** Profit and loss after each settlement, as equal steps: times without bets take no space. */
export function ProfitChart({ theses, nowMs }: { theses: readonly Thesis[]; nowMs: number }) {
  const points = historyOf(theses);
  const fromMs = points[0]?.timeMs;
  if (fromMs === undefined) return <p class="note">No bet is settled yet.</p>;
  const profits = points.map(({ profit }) => toNumber(profit));
  const toX = scaleLinear([0, points.length], [0, 100]);
  const toY = scaleLinear([Math.min(0, ...profits), Math.max(0, ...profits)], [97, 3]).nice(4);
  const steps = profits.map((profit, index) => `V${toY(profit)} H${toX(index + 1)}`);
  const [nameOf, ticks] = nowMs - fromMs > DAY_MS
    ? [formatDay, TICKS.day]
    : [formatTime, TICKS.time];
  return (
    <figure class="part">
      <h3>Profit and loss after each bet, USDC</h3>
      <Plot
        label={`Profit and loss from ${nameOf(fromMs)} to now, at last ` +
          `${formatGain(fromNumber(profits.at(-1) ?? 0))} USDC`}
        xTicks={tickIndices(points.length, ticks)
          .map((index) => ({ at: toX(index), text: nameOf(points[index]?.timeMs ?? fromMs) }))}
        yTicks={toY.ticks(4).map((tick) => ({
          at: toY(tick),
          text: formatGain(fromNumber(tick)).replace(".00", ""),
        }))}
      >
        <path class="mark" d={`M0 ${toY(0)} H100`} />
        <path class="value" d={`M0 ${toY(0)} ${steps.join(" ")}`} />
      </Plot>
    </figure>
  );
}

/** Indices from the first one on, at equal distances. */
function tickIndices(length: number, ticks: number): number[] {
  const count = Math.min(length, ticks);
  return Array.from({ length: count }, (_, index) => Math.floor(index * length / count));
}
