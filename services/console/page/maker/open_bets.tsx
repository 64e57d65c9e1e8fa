import type { Thesis } from "@rangemaker/client";
import { riskOf } from "../../../../lib/protocol/bet.ts";
import { openOf } from "../data/outcome.ts";
import type { PageModel } from "../data/page_model.ts";
import {
  clamp,
  formatAmount,
  formatLoss,
  formatRange,
  shortAddress,
  toNumber,
} from "../parts/format.ts";
import { Table } from "../parts/table.tsx";
import { multiplierOf } from "../data/odds.ts";
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

/** The open bets of a solver, the largest losses first, each with the price's position in its box. */
export function OpenBets({ model, theses }: OpenBetsProps) {
  const nowMs = useNow(model.serverClock, 500);
  const symbolOf = ({ base, quote }: Thesis) =>
    model.markets.find(base, quote)?.symbol ?? shortAddress(base);
  return (
    <Table
      of="open bets"
      isCards
      empty="No bet is open: nothing is at risk."
      rows={openOf(theses).sort((a, b) => Number(riskOf(b) - riskOf(a)))}
      first={6}
      keyOf={({ id }) => id}
      columns={[
        {
          name: "Market",
          text: (thesis) => (
            <>
              {symbolOf(thesis)}
              <span class="detail">bet {thesis.id}</span>
            </>
          ),
        },
        {
          name: "Price in the box",
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
          number: (thesis) => formatLoss(riskOf(thesis)),
        },
        {
          name: "Time left",
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
          number: (thesis) => (
            <>
              {formatAmount(thesis.betAmount)} {multiplierOf(thesis)}
              <span class="detail">pays {formatLoss(thesis.payout)}</span>
            </>
          ),
        },
        {
          name: "User",
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
