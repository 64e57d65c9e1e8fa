import type { Thesis } from "@rangemaker/client";
import { scaleLinear } from "d3-scale";
import { useMemo } from "preact/hooks";
import { DAY_MS } from "../../../../lib/time.ts";
import { Card } from "../card.tsx";
import type { PageModel } from "../data/page_model.ts";
import { isDecided } from "../data/live_breaches.ts";
import {
  counted,
  formatChange,
  formatDay,
  formatGain,
  formatTime,
  fromNumber,
  toNumber,
} from "../format.ts";
import { Plot } from "../plot.tsx";
import { Table } from "../table.tsx";
import { makerCsv } from "../trade/history.ts";
import { download } from "../trade/positions.tsx";
import { comparedText, type Earnings, earningsOf, lateText, profitHistory } from "./earnings.ts";

const usdc = (amount: number) => formatGain(fromNumber(amount));

/** Results are compared this often while no bet is settled, because periods move on. */
const PERIOD_STEP_MS = 5_000;

interface ResultsProps {
  model: PageModel;
  theses: readonly Thesis[];
  /** Those whose window is over and that wait for prices. */
  late: readonly Thesis[];
  probabilities: ReadonlyMap<string, number>;
  startedAtMs: number | undefined;
  nowMs: number;
}

/** What all settled bets brought, and beside it, what some were expected to bring. */
export function ResultsCard(props: ResultsProps) {
  const { model, theses, late, probabilities, startedAtMs, nowMs } = props;
  const settled = theses.filter(isDecided);
  // Compares all pairs of bets that overlap.
  const rows = useMemo(
    () => earningsOf(theses, { markets: model.markets.list, probabilities, startedAtMs, nowMs }),
    [
      ...[settled.length, late.length, probabilities.size, startedAtMs],
      Math.floor(nowMs / PERIOD_STEP_MS),
    ],
  );
  const [all] = rows;
  const csv = () => download(makerCsv(theses, model.markets, probabilities));
  return (
    <Card
      title="Results"
      note={<button type="button" onClick={csv}>Download CSV</button>}
    >
      {late.length > 0 && <p class="warned">{lateText(late)}</p>}
      {all?.settled
        ? (
          <>
            <p>
              Realised profit: {formatGain(all.profit)} USDC on {counted(all.settled, "bet")}.
            </p>
            <p>{comparedText(all)}</p>
            <div class="columns">
              <EarningsTable rows={rows} />
              <ProfitChart theses={settled} nowMs={nowMs} />
            </div>
          </>
        )
        : <p>No bet is settled yet.</p>}
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
        { name: "Bets", text: ({ name }) => name },
        {
          name: "Realised profit",
          number: ({ profit }) => <span class={styleOf(profit)}>{formatGain(profit)}</span>,
        },
        {
          name: "Of the stakes",
          number: ({ settled, profit, turnover }) =>
            settled > 0 && formatChange(Number(profit) / Number(turnover)),
        },
        { name: "Users won", number: ({ settled, held }) => `${held} of ${settled}` },
        {
          name: "Compared",
          number: ({ compared }) =>
            compared && (
              <span class={compared.verdict === "off" ? "warning" : undefined}>
                {compared.verdict === "off" && "▲ "}
                {formatGain(compared.profit)} on {compared.count}
              </span>
            ),
        },
        {
          name: "Expected",
          number: ({ compared }) => compared && expectedText(compared),
        },
      ]}
    />
  );
}

function expectedText({ expected, hidden, verdict }: NonNullable<Earnings["compared"]>): string {
  const isJudged = verdict === "fits" || verdict === "off";
  return formatGain(expected) + (isJudged ? ` ± ${formatGain(hidden).replace("+", "")}` : "");
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
      <figcaption>Realised profit after each bet, USDC</figcaption>
      <Plot
        label={`Profit and loss from ${nameOf(fromMs)} to now, at last ${
          usdc(profits.at(-1) ?? 0)
        } USDC`}
        xTicks={[...new Set([0, Math.floor(points.length / 2), points.length - 1])].map((
          index,
        ) => ({
          at: index === 0 ? 0 : toX(index + 1),
          text: nameOf(points[index]?.timeMs ?? nowMs),
        }))}
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
