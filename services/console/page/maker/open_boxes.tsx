import type { Markets, NodePrice, Thesis } from "@rangemaker/client";
import { isDecided } from "../data/live_breaches.ts";
import type { PageModel } from "../data/page_model.ts";
import { roomOf } from "../data/results.ts";
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
  const nowMs = useNow(() => model.serverClock.now(), 500);
  const prices = model.feed.latest.peek(); // read twice a second, with the time
  const open = theses.filter((thesis) => !isDecided(model.seen(thesis)))
    .sort((a, b) => Number(lossOf(b) - lossOf(a)) || a.endTime - b.endTime);
  return (
    <section class="card" aria-label="Open boxes">
      <div class="row">
        <h2>Open boxes</h2>
        {open.length > ROWS_MAX && (
          <p class="note">The {ROWS_MAX} of {open.length} that may cost most</p>
        )}
      </div>
      {open.length === 0 ? <p class="note">None: nothing is at risk.</p> : (
        <Table
          of="open boxes"
          columns={["Bet", "Market", "Price in the box", "Nearer bound", "Time", {
            number: "Stake",
          }, { number: "You may lose" }]}
        >
          {open.slice(0, ROWS_MAX).map((thesis) => (
            <Row
              key={thesis.id}
              thesis={thesis}
              markets={model.markets}
              prices={prices}
              nowMs={nowMs}
            />
          ))}
        </Table>
      )}
    </section>
  );
}

const lossOf = ({ betAmount, payout }: Thesis) => payout - betAmount;

interface RowProps {
  thesis: Thesis;
  markets: Markets;
  prices: Readonly<Record<string, NodePrice>>;
  nowMs: number;
}

function Row({ thesis, markets, prices, nowMs }: RowProps) {
  const { id, base, quote, betAmount } = thesis;
  const symbol = markets.find(base, quote)?.symbol ?? shortAddress(base);
  const known = prices[symbol];
  const price = known?.state === "fresh" ? toNumber(known.price) : undefined;
  const [lower, upper] = [toNumber(thesis.lowerPrice), toNumber(thesis.upperPrice)];
  return (
    <tr data-box={id}>
      <td>{id}</td>
      <td>{symbol}</td>
      <td>
        <span class="gauge">
          {formatQuotePrice(lower)}
          <Gauge price={price} lower={lower} upper={upper} />
          {formatQuotePrice(upper)}
        </span>
      </td>
      <td>{price === undefined ? "no price" : describeRoom(roomOf(price, lower, upper))}</td>
      <td>{describeTime(thesis, nowMs)}</td>
      <td class="number">{formatAmount(betAmount)}</td>
      <td class="number">{formatRounded(lossOf(thesis))}</td>
    </tr>
  );
}

function describeRoom(points: number) {
  if (points < 0) return <span class="lost">✕ {(-points).toFixed(1)} bp outside</span>;
  return <span class="won">✓ {points.toFixed(1)} bp away</span>;
}

function describeTime({ status, startTime, endTime }: Thesis, nowMs: number): string {
  if (status === "needs_backfill") return "waits for missing prices";
  if (nowMs < startTime) return `starts in ${formatDuration(startTime - nowMs)}`;
  return nowMs < endTime ? `${formatDuration(endTime - nowMs)} left` : "being settled";
}

/** Where the price is in the range; the box fills the middle half of the drawing. */
function Gauge(
  { price, lower, upper }: { price: number | undefined; lower: number; upper: number },
) {
  const share = price === undefined ? 0 : (price - lower) / (upper - lower);
  const x = 25 + 50 * share;
  return (
    <svg class="gauge-drawing" viewBox="0 0 100 16" width="100" height="16" aria-hidden="true">
      <rect class="box" x="25" y="3" width="50" height="10" rx="2" />
      {price !== undefined && (
        <path class="price" d={`M${Math.min(98, Math.max(2, x)).toFixed(1)} 0 V16`} />
      )}
    </svg>
  );
}
