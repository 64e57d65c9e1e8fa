import type { Thesis } from "@rangemaker/client";
import { Card } from "../card.tsx";
import { Curve, rangeOf } from "../curve.tsx";
import { historyOf } from "../data/results.ts";
import { formatGain, formatTime } from "../format.ts";

const usdc = (amount: number) => formatGain(BigInt(Math.round(amount * 1e6)));

/** Profit and loss after each settlement, until now. */
export function ProfitChart({ theses, nowMs }: { theses: readonly Thesis[]; nowMs: number }) {
  const settlements = historyOf(theses).map(({ timeMs, profit }) => ({
    x: timeMs,
    y: Number(profit) / 1e6,
  }));
  const [first, last] = [settlements[0], settlements.at(-1)];
  const points = last === undefined ? [] : [...settlements, { x: nowMs, y: last.y }];
  const [low, high] = rangeOf(points, 0);
  return (
    <Card title="Profit and loss over time">
      {first === undefined
        ? <p class="note">No bet is settled yet.</p>
        : (
          <figure class="line-chart">
            <div class="plot">
              <Curve
                points={points}
                mark={0}
                label={`Profit and loss between ${usdc(low)} and ${usdc(high)} USDC`}
              />
              <div class="scale" aria-hidden="true">
                <span>{usdc(high)}</span>
                <span>{high === low ? "" : usdc(low)}</span>
              </div>
            </div>
            <p class="note row">
              <span>{formatTime(first.x)}</span>
              <span>Dashed: neither profit nor loss</span>
              <span>now</span>
            </p>
          </figure>
        )}
    </Card>
  );
}
