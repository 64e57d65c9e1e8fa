import type { Thesis } from "@rangemaker/client";
import { Card } from "../card.tsx";
import { isDecided } from "../data/live_breaches.ts";
import type { PageModel } from "../data/page_model.ts";
import { pointsInside } from "../data/results.ts";
import {
  formatAmount,
  formatDuration,
  formatQuotePrice,
  formatRounded,
  shortAddress,
  toNumber,
} from "../format.ts";
import { Table } from "../table.tsx";
import { useNow } from "../use_now.ts";

/** Rows that are shown: those that may cost most. */
const ROWS_MAX = 50;

/** The open bets of a solver, each with its box against the price. */
export function OpenBoxes({ model, theses }: { model: PageModel; theses: readonly Thesis[] }) {
  const nowMs = useNow(model.serverClock, 500);
  const prices = model.feed.latest.peek(); // read twice a second, with the time
  const symbolOf = ({ base, quote }: Thesis) =>
    model.markets.find(base, quote)?.symbol ?? shortAddress(base);
  const priceOf = (thesis: Thesis) => {
    const known = prices[symbolOf(thesis)];
    return known?.state === "fresh" ? toNumber(known.price) : undefined;
  };
  const open = theses.filter((thesis) => !isDecided(model.withBreach(thesis)))
    .sort((a, b) => Number(lossOf(b) - lossOf(a)) || a.endTime - b.endTime);
  return (
    <Card
      title="Open boxes"
      note={open.length > ROWS_MAX && `The ${ROWS_MAX} of ${open.length} that may cost most`}
    >
      <Table
        of="open boxes"
        empty="None: nothing is at risk."
        rows={open.slice(0, ROWS_MAX)}
        keyOf={({ id }) => id}
        columns={[
          { name: "Bet", text: ({ id }) => id },
          { name: "Market", text: symbolOf },
          {
            name: "Price in the box",
            text: (thesis) => <Gauge price={priceOf(thesis)} {...sidesOf(thesis)} />,
          },
          {
            name: "Nearer bound",
            text: (thesis) => {
              const { low, high } = sidesOf(thesis);
              const price = priceOf(thesis);
              return price === undefined
                ? "no price"
                : describeDistance(pointsInside(price, low, high));
            },
          },
          { name: "Time", text: (thesis) => describeTime(thesis, nowMs) },
          { name: "Stake", number: ({ betAmount }) => formatAmount(betAmount) },
          { name: "You may lose", number: (thesis) => formatRounded(lossOf(thesis)) },
        ]}
      />
    </Card>
  );
}

const lossOf = ({ betAmount, payout }: Thesis) => payout - betAmount;

const sidesOf = ({ lowerPrice, upperPrice }: Thesis) => ({
  low: toNumber(lowerPrice),
  high: toNumber(upperPrice),
});

function describeDistance(points: number) {
  if (points < 0) return <span class="lost">✕ {(-points).toFixed(1)} bp outside</span>;
  return <span class="won">✓ {points.toFixed(1)} bp away</span>;
}

function describeTime({ status, startTime, endTime }: Thesis, nowMs: number): string {
  if (status === "needs_backfill") return "waits for missing prices";
  if (nowMs < startTime) return `starts in ${formatDuration(startTime - nowMs)}`;
  return nowMs < endTime ? `${formatDuration(endTime - nowMs)} left` : "being settled";
}

/** Where the price is in the range; the box fills the middle half of the drawing. */
function Gauge({ price, low, high }: { price: number | undefined; low: number; high: number }) {
  const x = price === undefined ? 0 : 25 + 50 * (price - low) / (high - low);
  return (
    <span class="gauge">
      {formatQuotePrice(low)}
      <svg viewBox="0 0 100 16" width="100" height="16" aria-hidden="true">
        <rect class="box" x="25" y="3" width="50" height="10" rx="2" />
        {price !== undefined && (
          <path class="price" d={`M${Math.min(98, Math.max(2, x)).toFixed(1)} 0 V16`} />
        )}
      </svg>
      {formatQuotePrice(high)}
    </span>
  );
}
