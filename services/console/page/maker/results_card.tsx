import type { Market, Thesis } from "@rangemaker/client";
import { scaleLinear } from "d3-scale";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { DAY_MS } from "../../../../lib/time.ts";
import { Card } from "../card.tsx";
import {
  formatChange,
  formatDay,
  formatGain,
  formatTime,
  fromNumber,
  toNumber,
} from "../format.ts";
import { Plot } from "../plot.tsx";
import { Table } from "../table.tsx";
import {
  chanceText,
  earnedText,
  type Earnings,
  earningsOf,
  leftOutText,
  profitHistory,
} from "./earnings.ts";

const usdc = (amount: number) => formatGain(fromNumber(amount));

/** Results are compared this often while no window ends, because periods move on. */
const PERIOD_STEP_MS = 10_000;

interface ResultsProps {
  theses: readonly Thesis[];
  /** Those that are compared. */
  compared: readonly Thesis[];
  markets: readonly Market[];
  probabilities: ReadonlyMap<string, number>;
  nowMs: number;
  /** A button beside the heading. */
  action: ComponentChildren;
}

/** What the bets brought, beside what was expected of the same bets. */
export function ResultsCard(props: ResultsProps) {
  const { theses, compared, markets, probabilities, nowMs, action } = props;
  // Compares all pairs of bets that overlap.
  const rows = useMemo(
    () => earningsOf(compared, markets, probabilities, nowMs),
    [compared.length, probabilities.size, Math.floor(nowMs / PERIOD_STEP_MS)],
  );
  const [all] = rows;
  const leftOut = leftOutText(theses, compared, nowMs);
  return (
    <Card title="Results" note={action}>
      <p>{all?.settled ? earnedText(all) : "No bet’s window is over yet."}</p>
      {compared.length > 0 && (
        <div class="columns">
          <EarningsTable rows={rows} />
          <ProfitChart theses={compared} nowMs={nowMs} />
        </div>
      )}
      {all && chanceText(all) && (
        <p class="note">
          By chance: where the profit lies in 19 of 20 cases if the forecasts are right. Boxes of a
          market that overlap count as ending alike for the time that they share.
        </p>
      )}
      {leftOut && <p class="note">{leftOut}</p>}
    </Card>
  );
}

const styleOf = (gain: bigint) => gain < 0n ? "lost" : gain > 0n ? "won" : undefined;

function EarningsTable({ rows }: { rows: readonly Earnings[] }) {
  return (
    <Table
      of="results"
      rows={rows}
      keyOf={({ name }) => name}
      attributesOf={({ name }) => ({ class: name === "All" ? "total" : undefined })}
      columns={[
        { name: "Market or period", text: ({ name }) => name },
        { name: "Expected", number: ({ expected }) => expected !== undefined && usdc(expected) },
        {
          name: "Profit",
          number: ({ settled, profit }) =>
            settled > 0 && <span class={styleOf(profit)}>{formatGain(profit)}</span>,
        },
        {
          name: "By chance",
          number: (row) => {
            const text = chanceText(row);
            return text && <span class={text.startsWith("▲") ? "warning" : undefined}>{text}</span>;
          },
        },
        {
          name: "Of the stakes",
          number: ({ settled, profit, turnover }) =>
            settled > 0 && formatChange(Number(profit) / Number(turnover)),
        },
        {
          name: "Users won",
          number: ({ settled, held }) => settled > 0 && `${held} of ${settled}`,
        },
      ]}
    />
  );
}

/** Profit and loss after each bet, as equal steps: times without bets take no space. */
function ProfitChart({ theses, nowMs }: { theses: readonly Thesis[]; nowMs: number }) {
  const points = profitHistory(theses);
  const fromMs = points[0]?.timeMs ?? nowMs;
  const profits = points.map(({ profit }) => toNumber(profit));
  const toX = scaleLinear([0, points.length], [0, 100]);
  const toY = scaleLinear([Math.min(0, ...profits), Math.max(0, ...profits)], [97, 3]).nice(4);
  const steps = profits.map((profit, index) => `V${toY(profit)} H${toX(index + 1)}`);
  const nameOf = nowMs - fromMs > DAY_MS ? formatDay : formatTime;
  return (
    <figure class="part">
      <figcaption>Profit after each bet, USDC</figcaption>
      <Plot
        label={`Profit and loss from ${nameOf(fromMs)} to now, at last ${
          usdc(profits.at(-1) ?? 0)
        } USDC`}
        xTicks={[0, Math.ceil(points.length / 2)].flatMap((index) => {
          const point = points[index];
          return point ? [{ at: toX(index), text: nameOf(point.timeMs) }] : [];
        })}
        yTicks={toY.ticks(4).map((tick) => ({
          at: toY(tick),
          text: usdc(tick).replace(".00", ""),
        }))}
      >
        <path class="mark" d={`M0 ${toY(0)} H100`} />
        <path class="value" d={`M0 ${toY(0)} ${steps.join(" ")}`} />
      </Plot>
    </figure>
  );
}
