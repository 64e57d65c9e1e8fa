import { useSignal } from "@preact/signals";
import type { Thesis } from "@rangemaker/client";
import { scaleLinear } from "d3-scale";
import type { PageModel } from "../data/page_model.ts";
import { formatAmount, formatGain, formatQuotePrice } from "../format.ts";
import { type Payoff, payoffOf, worstLossOf } from "./exposure.ts";
import { freshPrice } from "./open_bets.tsx";
import { ProfitPlot } from "./profit_plot.tsx";

interface ExposureProps {
  model: PageModel;
  theses: readonly Thesis[];
  nowMs: number;
}

/** What the open bets of each market may lose, and what those of one market bring at each price. */
export function Exposure({ model, theses, nowMs }: ExposureProps) {
  const chosen = useSignal("");
  const markets = model.markets.list.map(({ symbol, base, quote }) => {
    const own = theses.filter((thesis) => thesis.base === base && thesis.quote === quote);
    return { symbol, own, most: worstLossOf(own) };
  }).filter(({ most }) => most > 0n);
  const riskiest = markets.toSorted((a, b) => Number(b.most - a.most))[0];
  const market = markets.find(({ symbol }) => symbol === chosen.value) ?? riskiest;
  if (market === undefined) return null;
  const { symbol: shown, own } = market;
  const payoff = payoffOf(own, nowMs);
  return (
    <>
      <div class="row choice" role="group" aria-label="Market">
        {markets.map(({ symbol, most }) => (
          <button
            key={symbol}
            type="button"
            aria-pressed={symbol === shown}
            onClick={() => chosen.value = symbol}
          >
            {symbol} <span class="detail">{formatAmount(-most)}</span>
          </button>
        ))}
      </div>
      {payoff && <PayoffChart symbol={shown} payoff={payoff} price={freshPrice(model, shown)} />}
    </>
  );
}

interface PayoffProps {
  symbol: string;
  payoff: Payoff;
  /** Undefined while it is unknown. */
  price: number | undefined;
}

function PayoffChart({ symbol, payoff: { outside, steps, worst }, price }: PayoffProps) {
  const prices = steps.map((step) => step.price);
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  const shown = price === undefined ? [] : [price];
  // Space beside the boxes, where users lose all bets.
  const toX = scaleLinear([Math.min(low, ...shown), Math.max(high, ...shown)], [8, 92]);
  const range = [...new Set([worst.low, worst.high].map(formatQuotePrice))].join(" – ");
  const text = `at worst ${formatGain(worst.profit)} USDC, at ${range}`;
  return (
    <figure class="part">
      <figcaption>
        Profit if {symbol} moves now and stays: {text}.{" "}
        {price === undefined ? "The price of now is missing." : "Dashed: its price."}
      </figcaption>
      <ProfitPlot
        label={`${symbol}, profit by price: ${text}`}
        start={outside}
        steps={steps.map(({ price, profit }) => ({ at: toX(price), profit }))}
        ticks={[low, (low + high) / 2, high].map((tick) => ({
          at: toX(tick),
          text: formatQuotePrice(tick),
        }))}
        mark={price && toX(price)}
      />
    </figure>
  );
}
