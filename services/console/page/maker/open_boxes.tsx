import { useSignal } from "@preact/signals";
import type { Thesis } from "@rangemaker/client";
import { Card } from "../card.tsx";
import { isDecided } from "../data/live_breaches.ts";
import type { PageModel } from "../data/page_model.ts";
import { pointsInside } from "../data/results.ts";
import {
  formatAmount,
  formatQuotePrice,
  formatRounded,
  formatTime,
  shortAddress,
  toNumber,
} from "../format.ts";
import { type Sort, Table } from "../table.tsx";
import { labelOf } from "../trade/chart_spans.ts";
import { useNow } from "../use_now.ts";

/** Rows that are shown at first: those that may cost most. */
const ROWS_FIRST = 10;

/** Below this distance to a bound, a price may leave the box at any moment. */
const NEAR_POINTS = 10;

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
  const pointsOf = (thesis: Thesis) => {
    if (thesis.endTime <= nowMs) return undefined; // no price to come decides it
    const { low, high } = sidesOf(thesis);
    const price = priceOf(thesis);
    return price === undefined ? undefined : pointsInside(price, low, high);
  };
  const sort = useSignal<Sort>({ by: "You may lose", isDescending: true });
  const isWhole = useSignal(false);
  /** What each column sorts by. */
  const keys: Record<string, (thesis: Thesis) => number | string> = {
    "Market": symbolOf,
    "Price in the box": (thesis) => sidesOf(thesis).low,
    "Nearer bound": (thesis) => pointsOf(thesis) ?? Infinity,
    "Time": ({ endTime }) => endTime,
    "Stake": ({ betAmount }) => toNumber(betAmount),
    "You may lose": (thesis) => toNumber(lossOf(thesis)),
  };
  const { by, isDescending } = sort.value;
  const compare = (a: number | string, b: number | string) => a < b ? -1 : a > b ? 1 : 0;
  const open = theses.filter((thesis) => !isDecided(model.withBreach(thesis))).sort((a, b) =>
    compare(keys[by]!(a), keys[by]!(b)) * (isDescending ? -1 : 1) || a.endTime - b.endTime
  );
  return (
    <Card title="Open boxes" note={open.length > 0 && `${open.length} open`}>
      <Table
        of="open boxes"
        isCards
        empty="None: nothing is at risk."
        rows={isWhole.value ? open : open.slice(0, ROWS_FIRST)}
        sort={sort}
        keyOf={({ id }) => id}
        columns={[
          {
            name: "Market",
            text: (thesis) => (
              <>
                {symbolOf(thesis)} <span class="note">bet {thesis.id}</span>
              </>
            ),
          },
          { name: "You may lose", number: (thesis) => formatRounded(lossOf(thesis)) },
          {
            name: "Price in the box",
            text: (thesis) => <Gauge price={priceOf(thesis)} {...sidesOf(thesis)} />,
          },
          { name: "Nearer bound", text: (thesis) => describeDistance(pointsOf(thesis)) },
          {
            name: "Time",
            text: (thesis) => (
              <>
                {describeTime(thesis, nowMs)}
                <span class="detail">ends {formatTime(thesis.endTime)}</span>
              </>
            ),
          },
          { name: "Stake", number: ({ betAmount }) => formatAmount(betAmount) },
        ]}
      />
      {open.length > ROWS_FIRST && (
        <p>
          <button type="button" onClick={() => isWhole.value = !isWhole.value}>
            {isWhole.value ? `Show the first ${ROWS_FIRST}` : `Show all ${open.length}`}
          </button>
        </p>
      )}
    </Card>
  );
}

const lossOf = ({ betAmount, payout }: Thesis) => payout - betAmount;

const sidesOf = ({ lowerPrice, upperPrice }: Thesis) => ({
  low: toNumber(lowerPrice),
  high: toNumber(upperPrice),
});

function describeDistance(points: number | undefined) {
  if (points === undefined) return "–";
  const text = `${Math.abs(points).toFixed(1)} bp ${points < 0 ? "outside" : "away"}`;
  return Math.abs(points) < NEAR_POINTS ? <span class="warning">▲ {text}</span> : text;
}

function describeTime({ status, startTime, endTime }: Thesis, nowMs: number): string {
  if (status === "needs_backfill") return "ended, waits for missing prices";
  if (nowMs < startTime) return `in ${labelOf(startTime - nowMs)}`;
  return nowMs < endTime ? `${labelOf(endTime - nowMs)} left` : "being settled";
}

/** Where the price is in the range; beside the box is room for prices outside. */
function Gauge({ price, low, high }: { price: number | undefined; low: number; high: number }) {
  const x = price === undefined ? 0 : 12 + 76 * (price - low) / (high - low);
  return (
    <span class="gauge">
      <span>{formatQuotePrice(low)}</span>
      <svg viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">
        <rect class="box" x="12" y="3" width="76" height="10" rx="2" />
        {price !== undefined && (
          <path class="price" d={`M${Math.min(98, Math.max(2, x)).toFixed(1)} 0 V16`} />
        )}
      </svg>
      {formatQuotePrice(high)}
    </span>
  );
}
