import { useSignal } from "@preact/signals";
import type { Thesis } from "@rangemaker/client";
import { scaleLinear } from "d3-scale";
import { useRef } from "preact/hooks";
import type { PageModel } from "../data/page_model.ts";
import { formatAmount, formatQuotePrice, fromNumber } from "../format.ts";
import { Plot } from "../plot.tsx";
import { labelOf } from "../trade/chart_spans.ts";
import {
  type ExposureGrid,
  exposureGrid,
  placeOf,
  ROWS,
  timeTicksOf,
  worstLossOf,
} from "./exposure.ts";
import { freshPrice } from "./open_bets.tsx";

const lossText = (usdc: number) => formatAmount(-fromNumber(usdc));

interface ExposureProps {
  model: PageModel;
  theses: readonly Thesis[];
  nowMs: number;
}

/** What the open bets of each market may lose, and of one market at each price and time. */
export function Exposure({ model, theses, nowMs }: ExposureProps) {
  const chosen = useSignal("");
  const first = useRef("");
  const markets = model.markets.list.map(({ symbol, base, quote }) => {
    const own = theses.filter((thesis) => thesis.base === base && thesis.quote === quote);
    return { symbol, own, most: worstLossOf(own) };
  }).filter(({ most }) => most > 0n);
  const named = (symbol: string) => markets.find((market) => market.symbol === symbol);
  const riskiest = markets.toSorted((a, b) => Number(b.most - a.most))[0];
  const market = named(chosen.value) ?? named(first.current) ?? riskiest;
  if (market === undefined) return null;
  const { symbol: shown, own } = market;
  first.current = shown;
  const grid = exposureGrid(own, nowMs);
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
      {grid && (
        <HeatMap
          key={shown}
          symbol={shown}
          grid={grid}
          price={freshPrice(model, shown)}
          nowMs={nowMs}
        />
      )}
    </>
  );
}

/** Ticks closer than this to an end of the axis have no space for a label. */
const EDGE = 6;

/** Percent of the map's height above and below all boxes, so that their edges are visible. */
const HEADROOM = 8;

interface HeatMapProps {
  symbol: string;
  grid: ExposureGrid;
  /** Undefined while it is unknown. */
  price: number | undefined;
  nowMs: number;
}

function HeatMap({ symbol, grid, price, nowMs }: HeatMapProps) {
  const { cells, low, high, worst, timesMs } = grid;
  const pointed = useSignal<[row: number, column: number] | undefined>(undefined);
  const toY = scaleLinear([low, high], [100 - HEADROOM, HEADROOM]);
  const width = 100 / (timesMs.length - 1);
  const describe = (cell?: [row: number, column: number]) => {
    const { loss, low, high, fromMs } = cell ? placeOf(grid, cell) : worst;
    const time = fromMs <= nowMs ? "now" : `in ${labelOf(fromMs - nowMs)}`;
    const prices = `${formatQuotePrice(low)} – ${formatQuotePrice(high)}`;
    return `${lossText(loss)} ${cell ? "at most, within" : "at"} ${prices}, ${time}`;
  };
  /** A cell of the map, in percent. */
  const place = (y: number, x: number) => ({
    ...{ x: width * x, y: 100 * y / ROWS, width, height: 100 / ROWS },
  });
  return (
    <figure class="part">
      <figcaption>
        {pointed.value ? <strong>Here: {describe(pointed.value)}</strong> : (
          <>
            Most at one moment: {describe()}
            {price === undefined && "; the price of now is missing"}
          </>
        )}
      </figcaption>
      <Plot
        label={`${symbol}, loss by price and time. Most at one moment: ${describe()}`}
        shape-rendering="crispEdges"
        onPointerLeave={() => pointed.value = undefined}
        xTicks={[
          { at: 0, text: "now" },
          ...timeTicksOf(grid).map(({ at, afterMs }) => ({ at, text: labelOf(afterMs) })),
        ]}
        yTicks={toY.ticks(3).map((tick) => ({ at: toY(tick), text: formatQuotePrice(tick) }))
          .filter(({ at }) => at > EDGE && at < 100 - EDGE)}
      >
        <g transform={`translate(0 ${HEADROOM}) scale(1 ${1 - HEADROOM / 50})`}>
          {cells.flatMap((losses, y) =>
            losses.map((loss, x) => (
              <rect
                key={`${x} ${y}`}
                class={loss > 0 ? "heat" : "cold"}
                {...place(y, x)}
                style={{ "--share": loss / worst.loss }}
                onPointerEnter={() => pointed.value = [y, x]}
              />
            ))
          )}
          {pointed.value && <rect class="pointed" {...place(...pointed.value)} />}
        </g>
        {price !== undefined && <path class="mark" d={`M0 ${toY(price)} H100`} />}
      </Plot>
      <p class="note heat-key">
        0 <span /> {lossText(worst.loss)} USDC. A column ends when bets start or end.
      </p>
    </figure>
  );
}
