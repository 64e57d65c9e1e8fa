import { useSignal } from "@preact/signals";
import type { Thesis } from "@rangemaker/client";
import { type ScaleLinear, scaleLinear, scaleSqrt } from "d3-scale";
import { riskOf } from "../../../../lib/protocol/bet.ts";
import { betsOn, openOf } from "../data/outcome.ts";
import type { PageModel } from "../data/page_model.ts";
import {
  counted,
  formatCents,
  formatLoss,
  formatProfit,
  formatQuotePrice,
  formatRange,
  spanText,
  toNumber,
} from "../parts/format.ts";
import { payoffOf, timeTexts, worstLossOf } from "./exposure.ts";
import { freshPrice } from "./open_bets.tsx";
import { Plot, ProfitPlot } from "../parts/plot.tsx";

interface ExposureProps {
  model: PageModel;
  theses: readonly Thesis[];
  nowMs: number;
}

/** What the open bets of each market may lose, and of one market, at which prices and when. */
export function Exposure({ model, theses, nowMs }: ExposureProps) {
  const chosen = useSignal("");
  const markets = model.markets.list.map((market) => {
    const own = betsOn(theses, market);
    return { symbol: market.symbol, own, most: worstLossOf(own) };
  }).filter(({ most }) => most > 0n);
  const riskiest = markets.toSorted((a, b) => Number(b.most - a.most))[0];
  const market = markets.find(({ symbol }) => symbol === chosen.value) ?? riskiest;
  if (market === undefined) return null;
  const { symbol: shown, own } = market;
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
            {symbol} <span class="detail">{formatCents(-most)}</span>
          </button>
        ))}
      </div>
      <PayoffChart model={model} theses={own} nowMs={nowMs} symbol={shown} />
    </>
  );
}

/** The bets of one market by price, and when each price matters. */
function PayoffChart({ model, theses, nowMs, symbol }: ExposureProps & { symbol: string }) {
  const payoff = payoffOf(theses, nowMs);
  if (payoff === undefined) return null;
  const { outside, steps, worst } = payoff;
  const price = freshPrice(model, symbol);
  const prices = steps.map((step) => step.price);
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  const shown = price === undefined ? [] : [price];
  // Space beside the boxes, where users lose all bets.
  const toX = scaleLinear([Math.min(low, ...shown), Math.max(high, ...shown)], [8, 92]);
  const range = [...new Set([worst.low, worst.high].map(formatQuotePrice))].join(" – ");
  const text = `at worst ${formatProfit(worst.profit)} USDC, at ${range}`;
  return (
    <figure class="part">
      <figcaption>
        Profit if {symbol} moves now and stays: {text}. {price === undefined
          ? "The current price is missing."
          : `Dashed: its price, ${formatQuotePrice(price)}.`}
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
        nameAt={(at) => formatQuotePrice(toX.invert(at))}
      />
      <HeatMap theses={theses} nowMs={nowMs} toX={toX} />
    </figure>
  );
}

interface HeatMapProps {
  theses: readonly Thesis[];
  nowMs: number;
  /** Percent of the width at a price. */
  toX: ScaleLinear<number, number>;
}

/**
 * The boxes of the open bets over price and time, darker where more is lost. Near times take more
 * space.
 */
function HeatMap({ theses, nowMs, toX }: HeatMapProps) {
  const bets = openOf(theses).filter(({ endTime }) => endTime > nowMs);
  const lastMs = Math.max(...bets.map(({ endTime }) => endTime)) - nowMs;
  const toY = scaleSqrt([0, lastMs], [0, 100]);
  const most = bets.map(riskOf).reduce((a, b) => a > b ? a : b, 1n);
  const readAt = (at: number) => {
    const price = toX.invert(at);
    const here = bets.filter(({ lowerPrice, upperPrice }) =>
      toNumber(lowerPrice) <= price && price <= toNumber(upperPrice)
    );
    const endMs = Math.max(nowMs, ...here.map(({ endTime }) => endTime));
    return `${formatQuotePrice(price)}: ${counted(here.length, "open bet")}` +
      (here.length > 0
        ? `, ${formatLoss(worstLossOf(here))} until ${spanText(endMs - nowMs)}`
        : "");
  };
  return (
    <>
      <p>
        When: a stronger colour where more may be lost, at most {formatLoss(most)}{" "}
        on one bet. Near times take more space.
      </p>
      <Plot
        label={`${counted(bets.length, "open bet")} over price and time, the last until ${
          spanText(lastMs)
        } from now`}
        yTicks={[0, 0.25, 1].map((share) => ({
          at: 100 * Math.sqrt(share),
          text: share === 0 ? "now" : spanText(lastMs * share),
        }))}
        readAt={readAt}
      >
        {bets.map((bet) => {
          const left = toX(toNumber(bet.lowerPrice));
          const top = toY(Math.max(0, bet.startTime - nowMs));
          return (
            <rect
              key={bet.id}
              class="heat"
              x={left}
              y={top}
              width={toX(toNumber(bet.upperPrice)) - left}
              height={toY(bet.endTime - nowMs) - top}
              fill-opacity={0.05 + 0.55 * Number(riskOf(bet)) / Number(most)}
            >
              <title>
                {`Bet ${bet.id}, ${formatRange(bet)}, ${timeTexts(bet, nowMs)[1]}: ${
                  formatProfit(bet.betAmount - bet.payout)
                }`}
              </title>
            </rect>
          );
        })}
      </Plot>
    </>
  );
}
