import type { Thesis } from "@rangemaker/client";
import { scaleLinear } from "d3-scale";
import { historyOf, labelIndices, LABELS } from "../data/results.ts";
import { DAY_MS } from "../../../../lib/time.ts";
import { formatDay, formatGain, formatTime, fromNumber, toNumber } from "../format.ts";
import { Plot } from "../plot.tsx";

/** Profit and loss after each settlement, as equal steps: times without bets take no space. */
export function ProfitChart({ theses, nowMs }: { theses: readonly Thesis[]; nowMs: number }) {
  const points = historyOf(theses);
  const fromMs = points[0]?.timeMs;
  if (fromMs === undefined) return <p class="note">No bet is settled yet.</p>;
  const profits = points.map(({ profit }) => toNumber(profit));
  const toX = scaleLinear([0, points.length], [0, 100]);
  const toY = scaleLinear([Math.min(0, ...profits), Math.max(0, ...profits)], [97, 3]).nice(4);
  const steps = profits.map((profit, index) => `V${toY(profit)} H${toX(index + 1)}`);
  const [nameOf, shares] = nowMs - fromMs > DAY_MS
    ? [formatDay, LABELS.day]
    : [formatTime, LABELS.time];
  return (
    <figure class="part">
      <h3>Profit and loss after each bet, USDC</h3>
      <Plot
        label={`Profit and loss from ${nameOf(fromMs)} to now, at last ` +
          `${formatGain(fromNumber(profits.at(-1) ?? 0))} USDC`}
        xTicks={labelIndices(points.length, shares)
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
