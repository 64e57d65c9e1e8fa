import type { Thesis } from "@rangemaker/client";
import { Card } from "../card.tsx";
import { historyOf } from "../data/results.ts";
import { formatGain, formatTime } from "../format.ts";

/** Profit and loss after each settlement: each value lasts until the next one, the last until now. */
export function ProfitChart({ theses, nowMs }: { theses: readonly Thesis[]; nowMs: number }) {
  const points = historyOf(theses);
  const fromMs = points[0]?.timeMs;
  const profits = points.map(({ profit }) => Number(profit));
  const [low, high] = [Math.min(0, ...profits), Math.max(0, ...profits)];
  const [lowText, highText] = [low, high].map((profit) => formatGain(BigInt(profit)));
  const toY = (profit: number) =>
    high === low ? "50" : (100 * (high - profit) / (high - low)).toFixed(1);
  const toX = (timeMs: number) =>
    (100 * (timeMs - (fromMs ?? 0)) / Math.max(1, nowMs - (fromMs ?? 0))).toFixed(1);
  const steps = points.map(({ timeMs, profit }) => `H${toX(timeMs)} V${toY(Number(profit))}`);
  return (
    <Card title="Profit and loss over time">
      {fromMs === undefined
        ? <p class="note">No bet is settled yet.</p>
        : (
          <figure class="line-chart">
            <div class="plot">
              <svg
                viewBox="0 -4 100 108"
                preserveAspectRatio="none"
                role="img"
                aria-label={`Profit and loss between ${lowText} and ${highText} USDC`}
              >
                <path class="mark" d={`M0 ${toY(0)} H100`} />
                <path class="value" d={`M0 ${toY(0)} ${steps.join(" ")} H100`} />
              </svg>
              <div class="scale" aria-hidden="true">
                <span>{highText}</span>
                <span>{high === low ? "" : lowText}</span>
              </div>
            </div>
            <p class="note row">
              <span>{formatTime(fromMs)}</span>
              <span>Dashed: neither profit nor loss</span>
              <span>now</span>
            </p>
          </figure>
        )}
    </Card>
  );
}
