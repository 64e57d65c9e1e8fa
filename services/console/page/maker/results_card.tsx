import type { Thesis } from "@rangemaker/client";
import { useMemo } from "preact/hooks";
import { DAY_MS } from "../../../../lib/time.ts";
import { Card, download } from "../parts/parts.tsx";
import type { PageModel } from "../data/page_model.ts";
import { isDecided } from "../data/live_breaches.ts";
import { formatDay, formatProfit, formatTime } from "../parts/format.ts";
import { Table } from "../parts/table.tsx";
import { betsCsv } from "../trade/bet_list.ts";
import {
  COMPARED_NOTE,
  earnedText,
  type Earnings,
  earningsOf,
  makerGainOf,
  profitHistory,
  resultsText,
} from "./earnings.ts";
import { ProfitPlot } from "../parts/plot.tsx";

/** Results are compared this often while no bet is settled, because periods move on. */
const PERIOD_STEP_MS = 5_000;

interface ResultsProps {
  model: PageModel;
  theses: readonly Thesis[];
  /** Undefined while the solver is unknown. */
  probabilities: ReadonlyMap<string, number> | undefined;
  startedAtMs: number | undefined;
  nowMs: number;
}

const NONE: ReadonlyMap<string, number> = new Map();

/** What all settled bets brought, and beside it, what some were expected to bring. */
export function ResultsCard(props: ResultsProps) {
  const { model, theses, startedAtMs, nowMs } = props;
  const { probabilities = NONE } = props;
  const settled = theses.filter(isDecided);
  const isOver = ({ endTime }: Thesis) => endTime <= nowMs;
  // Compares all pairs of bets that overlap.
  const rows = useMemo(
    () => earningsOf(theses, { markets: model.markets.list, probabilities, startedAtMs, nowMs }),
    [
      ...[settled.length, probabilities.size, startedAtMs],
      Math.floor(nowMs / PERIOD_STEP_MS),
    ],
  );
  const [all] = rows;
  const csv = () => download(betsCsv(theses, model.markets, makerGainOf, probabilities));
  return (
    <Card
      title="Results"
      note={<button type="button" onClick={csv}>Download CSV</button>}
    >
      {all?.settled
        ? (
          <>
            <p>{probabilities === NONE ? earnedText(all) : resultsText([all, ...rows.slice(1)])}</p>
            <div class="columns">
              <EarningsTable rows={rows} />
              <ProfitChart theses={settled.filter(isOver)} nowMs={nowMs} />
            </div>
          </>
        )
        : <p>No bet is settled yet.</p>}
    </Card>
  );
}

const countText = (count: number) => count.toLocaleString("en-US");

const styleOf = (gain: bigint) => gain < 0n ? "lost" : gain > 0n ? "won" : undefined;

function EarningsTable({ rows }: { rows: readonly Earnings[] }) {
  return (
    <div class="part">
      <Table
        of="results"
        isCards
        rows={rows}
        keyOf={({ name }) => name}
        attributesOf={({ name }) => ({ class: name === "All" ? "total" : undefined })}
        columns={[
          { name: "Bets", text: ({ name }) => name },
          {
            name: "Users won",
            number: ({ settled, held }) => `${countText(held)} of ${countText(settled)}`,
          },
          {
            name: "Realised",
            number: ({ profit, early }) => (
              <span class={early === 0n ? styleOf(profit) : "note"}>{formatProfit(profit)}</span>
            ),
          },
          {
            name: "Window over",
            number: ({ compared, settled }) => {
              if (compared === undefined) return undefined;
              const profit = compared.expected + compared.difference;
              return (
                <>
                  <span class={styleOf(profit)}>{formatProfit(profit)}</span>
                  {compared.count !== settled && ` on\xa0${countText(compared.count)}`}
                </>
              );
            },
          },
          {
            name: "Expected",
            number: ({ compared }) => compared && formatProfit(compared.expected),
          },
          {
            name: "Difference",
            number: ({ compared }) =>
              compared && (
                <span class={compared.verdict === "off" ? "warning" : undefined}>
                  {compared.verdict === "off" && "▲ "}
                  {formatProfit(compared.difference)} ({Math.abs(compared.errors).toFixed(
                    1,
                  )}&nbsp;s.e.{compared.verdict === "dominated" &&
                    ", few bets"})
                </span>
              ),
          },
        ]}
      />
      {rows[0]?.compared && <p class="note">{COMPARED_NOTE}</p>}
    </div>
  );
}

/**
 * Profit and loss after each bet whose window is over, as equal steps: times without bets take no
 * space.
 */
function ProfitChart({ theses, nowMs }: { theses: readonly Thesis[]; nowMs: number }) {
  const points = profitHistory(theses);
  if (points.length === 0) return null;
  const fromMs = points[0]?.timeMs ?? nowMs;
  const last = points.length - 1;
  const toX = (index: number) => 100 * index / points.length;
  const nameOf = nowMs - fromMs > DAY_MS ? formatDay : formatTime;
  return (
    <figure class="part">
      <figcaption>Profit after each bet whose window is over, USDC</figcaption>
      <ProfitPlot
        label={`Profit and loss from ${nameOf(fromMs)} to now, at last ${
          formatProfit(points[last]?.profit ?? 0n)
        } USDC`}
        start={0n}
        steps={points.map(({ profit }, index) => ({ at: toX(index), profit }))}
        ticks={[...new Set([0, Math.floor(points.length / 2), last])].map((index) => ({
          at: toX(index === 0 ? 0 : index + 1),
          text: nameOf(points[index]?.timeMs ?? nowMs),
        }))}
        nameAt={(at) => nameOf(points[Math.floor(at * points.length / 100)]?.timeMs ?? nowMs)}
      />
    </figure>
  );
}
