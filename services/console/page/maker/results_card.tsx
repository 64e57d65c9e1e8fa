import type { Thesis } from "@rangemaker/client";
import { DAY_MS } from "../../../../lib/time.ts";
import { Card, download } from "../parts/parts.tsx";
import { betsCsv } from "../data/bets_csv.ts";
import type { PageModel } from "../data/page_model.ts";
import { isDecided } from "../data/outcome.ts";
import { formatCount, formatDay, formatProfit, formatTime } from "../parts/format.ts";
import { Table } from "../parts/table.tsx";
import { earnedText, type Earnings, earningsOf, makerGainOf, profitHistory } from "./earnings.ts";
import { ProfitPlot } from "../parts/plot.tsx";

interface ResultsProps {
  model: PageModel;
  theses: readonly Thesis[];
  nowMs: number;
}

/** What the settled bets brought. */
export function ResultsCard({ model, theses, nowMs }: ResultsProps) {
  const rows = earningsOf(theses, model.markets.list, nowMs);
  const [all] = rows;
  const over = theses.filter((thesis) => isDecided(thesis) && thesis.endTime <= nowMs);
  const csv = () => download(betsCsv(theses, model.markets, makerGainOf));
  return (
    <Card
      title="Results"
      note={<button type="button" onClick={csv}>Download CSV</button>}
    >
      {all.settled > 0
        ? (
          <>
            <p>{earnedText(all)}</p>
            <div class="columns">
              <EarningsTable rows={rows} />
              <ProfitChart theses={over} nowMs={nowMs} />
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
            number: ({ settled, held }) => `${formatCount(held)} of ${formatCount(settled)}`,
          },
          {
            name: "Realised",
            number: ({ profit }) => <span class={styleOf(profit)}>{formatProfit(profit)}</span>,
          },
        ]}
      />
      <p class="note">
        A bet that its user loses is settled when the price leaves its box; one that its user wins,
        at its end.
      </p>
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
        ticks={[
          { at: 0, text: nameOf(fromMs) },
          { at: 100, text: nameOf(points[last]?.timeMs ?? nowMs) },
        ]}
        nameAt={(at) => nameOf(points[Math.floor(at * points.length / 100)]?.timeMs ?? nowMs)}
      />
    </figure>
  );
}
