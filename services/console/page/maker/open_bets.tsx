import { useSignal } from "@preact/signals";
import type { Thesis } from "@rangemaker/client";
import { riskOf } from "../../../../lib/protocol/bet.ts";
import { isDecided } from "../data/live_breaches.ts";
import type { PageModel } from "../data/page_model.ts";
import {
  clamp,
  formatAmount,
  formatLoss,
  formatRange,
  shortAddress,
  toNumber,
} from "../parts/format.ts";
import { type Sort, Table } from "../parts/table.tsx";
import { multiplierOf } from "../trade/odds.ts";
import { useNow } from "../parts/hooks.ts";
import { decidingPrice, timeTexts } from "./exposure.ts";

/** The price of a market of now; undefined if it is missing or old. A view is not redrawn with it. */
export function freshPrice({ feed }: PageModel, symbol: string): number | undefined {
  const known = feed.latest.peek()[symbol];
  return known?.state === "fresh" ? toNumber(known.price) : undefined;
}

interface OpenBetsProps {
  model: PageModel;
  theses: readonly Thesis[];
}

/** The open bets of a solver, each with the price's position in its box. */
export function OpenBets({ model, theses }: OpenBetsProps) {
  const nowMs = useNow(model.serverClock, 500);
  const symbolOf = ({ base, quote }: Thesis) =>
    model.markets.find(base, quote)?.symbol ?? shortAddress(base);
  const sort = useSignal<Sort>({ by: "You may lose", isDescending: true });
  return (
    <Table
      of="open bets"
      isCards
      empty="No bet is open: nothing is at risk."
      rows={theses.filter((thesis) => !isDecided(thesis))}
      first={6}
      sort={sort}
      keyOf={({ id }) => id}
      columns={[
        {
          name: "Market",
          sortBy: symbolOf,
          text: (thesis) => (
            <>
              {symbolOf(thesis)}
              <span class="detail">bet {thesis.id}</span>
            </>
          ),
        },
        {
          name: "Price in the box",
          sortBy: ({ lowerPrice }) => toNumber(lowerPrice),
          text: (thesis) => {
            const price = decidingPrice(thesis, freshPrice(model, symbolOf(thesis)), nowMs);
            return (
              <>
                {formatRange(thesis)}
                {price !== undefined && <Gauge price={price} thesis={thesis} />}
              </>
            );
          },
        },
        {
          name: "You may lose",
          sortBy: (thesis) => toNumber(riskOf(thesis)),
          number: (thesis) => formatLoss(riskOf(thesis)),
        },
        {
          name: "Time left",
          sortBy: ({ endTime }) => endTime,
          // A text, so that the first press sorts the soonest first.
          text: (thesis) => {
            const [text, detail] = timeTexts(thesis, nowMs);
            return (
              <>
                {text}
                <span class="detail">{detail}</span>
              </>
            );
          },
        },
        {
          name: "Stake",
          sortBy: ({ betAmount }) => toNumber(betAmount),
          number: (thesis) => (
            <>
              {formatAmount(thesis.betAmount)} {multiplierOf(thesis)}
              <span class="detail">pays {formatLoss(thesis.payout)}</span>
            </>
          ),
        },
        {
          name: "User",
          sortBy: ({ user }) => user,
          text: ({ user }) => <code title={user}>{shortAddress(user)}</code>,
        },
      ]}
    />
  );
}

/** The price's position in the range, with space beside the box for prices outside. */
function Gauge({ price, thesis }: { price: number; thesis: Thesis }) {
  const [low, high] = [toNumber(thesis.lowerPrice), toNumber(thesis.upperPrice)];
  const x = clamp(4 + 92 * (price - low) / (high - low), 1, 99);
  return (
    <svg class="gauge" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect x="4" y="2" width="92" height="6" />
      <path d={`M${x.toFixed(1)} 0 V10`} />
    </svg>
  );
}
