import { useSignal } from "@preact/signals";
import type { Thesis } from "@rangemaker/client";
import { scaleLinear } from "d3-scale";
import { useRef } from "preact/hooks";
import type { PageModel } from "../data/page_model.ts";
import { formatChange, formatGain, formatQuotePrice, fromNumber, toNumber } from "../format.ts";
import { Plot } from "../plot.tsx";
import { Table } from "../table.tsx";
import { labelOf } from "../trade/chart_spans.ts";
import {
  boundOf,
  COLUMNS,
  type ExposureGrid,
  exposureGrid,
  MOVES,
  placeOf,
  profitAfter,
  ROWS,
  stepOf,
  STEPS,
  timeTicksOf,
  waitingText,
} from "./exposure.ts";
import { Folded } from "./folded.tsx";

const usdc = (amount: number) => formatGain(fromNumber(amount));

/** A market that has open bets. */
interface OpenMarket {
  symbol: string;
  /** Undefined while it is unknown. */
  price: number | undefined;
  own: readonly Thesis[];
  grid: ExposureGrid;
}

/** Losses on the open bets of a market by price and time, and the result of a move of the price. */
export function Exposure({ model, theses }: { model: PageModel; theses: readonly Thesis[] }) {
  const chosen = useSignal("");
  const first = useRef("");
  const nowMs = model.serverClock.now();
  const prices = model.feed.latest.peek(); // not subscribed: read when the bets change
  const markets = model.markets.list.flatMap(({ symbol, base, quote }): OpenMarket[] => {
    const own = theses.filter((thesis) => thesis.base === base && thesis.quote === quote);
    const known = prices[symbol];
    const price = known?.state === "fresh" ? toNumber(known.price) : undefined;
    const grid = exposureGrid(own, nowMs);
    return grid === undefined ? [] : [{ symbol, price, own, grid }];
  });
  const named = (symbol: string | undefined) => markets.find((market) => market.symbol === symbol);
  const worst = markets.toSorted((a, b) => b.grid.worst.loss - a.grid.worst.loss)[0];
  const market = named(chosen.value) ?? named(first.current) ?? worst;
  first.current = market?.symbol ?? "";
  const waiting = waitingText(theses, nowMs);
  const note = waiting && <p class="warned">{waiting}</p>;
  if (market === undefined) return note;
  return (
    <>
      {note}
      <div class="row choice" role="group" aria-label="Market">
        {markets.map(({ symbol, grid }) => (
          <button
            key={symbol}
            type="button"
            aria-pressed={symbol === market.symbol}
            onClick={() => chosen.value = symbol}
          >
            {symbol} <span class="detail">{usdc(-grid.worst.loss)}</span>
          </button>
        ))}
      </div>
      <div class="columns">
        <HeatMap key={market.symbol} {...market} nowMs={nowMs} />
        <Moves market={market} markets={markets} nowMs={nowMs} />
      </div>
    </>
  );
}

interface MovesProps {
  market: OpenMarket;
  markets: readonly OpenMarket[];
  nowMs: number;
}

/** Profit and loss on the open bets if prices move. */
function Moves({ market, markets, nowMs }: MovesProps) {
  const gainOf = (of: readonly OpenMarket[], move: number) => {
    if (of.some(({ price }) => price === undefined)) return "–";
    const gain = of.reduce(
      (sum, { price = NaN, own }) => sum + profitAfter(own, price, move, nowMs),
      0,
    );
    return <span class={gain < 0 ? "lost" : undefined}>{usdc(gain)}</span>;
  };
  const { symbol, price } = market;
  return (
    <Folded title="If prices move at once and then stay">
      <Table
        of="moves of the price"
        rows={MOVES}
        keyOf={(move) => move}
        columns={[
          { name: "Move", text: formatChange },
          {
            name: "Price",
            number: (move) => price === undefined ? "–" : formatQuotePrice(price * (1 + move)),
          },
          { name: symbol, number: (move) => gainOf([market], move) },
          ...(markets.length > 1
            ? [{ name: "All", number: (move: number) => gainOf(markets, move) }]
            : []),
        ]}
      />
    </Folded>
  );
}

/** Ticks closer than this to an end of the axis have no space for a label. */
const EDGE = 6;

/** Percent of the map's height above and below all boxes, so that their edges are visible. */
const HEADROOM = 8;

interface HeatMapProps extends OpenMarket {
  nowMs: number;
}

/** A cell of the map, in percent. */
const place = (y: number, x: number) => ({
  ...{ x: 100 * x / COLUMNS, y: 100 * y / ROWS, width: 100 / COLUMNS, height: 100 / ROWS },
});

function HeatMap({ symbol, grid, price, nowMs }: HeatMapProps) {
  const { cells, low, high, worst } = grid;
  const pointed = useSignal<[row: number, column: number] | undefined>(undefined);
  const toY = scaleLinear([low, high], [100 - HEADROOM, HEADROOM]);
  const describe = (cell?: [row: number, column: number]) => {
    const { loss, low, high, fromMs } = cell ? placeOf(grid, cell) : worst;
    const time = fromMs <= nowMs ? "now" : `in ${labelOf(fromMs - nowMs)}`;
    const prices = `${formatQuotePrice(low)} – ${formatQuotePrice(high)}`;
    return `${usdc(-loss)} ${cell ? "at most, within" : "at"} ${prices}, ${time}`;
  };
  return (
    <figure class="part">
      <figcaption>
        {pointed.value
          ? <strong>Here: {describe(pointed.value)}</strong>
          : <>Most: {describe()}{price === undefined && "; the price of now is missing"}</>}
      </figcaption>
      <Plot
        label={`${symbol}, loss by price and time. Most: ${describe()}`}
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
                class="heat"
                {...place(y, x)}
                style={{ "--step": loss > 0 ? stepOf(loss, worst.loss) : 0 }}
                onPointerEnter={() => pointed.value = [y, x]}
              />
            ))
          )}
          {pointed.value && <rect class="pointed" {...place(...pointed.value)} />}
        </g>
        {price !== undefined && <path class="mark" d={`M0 ${toY(price)} H100`} />}
      </Plot>
      <p class="note heat-key">
        {STEPS.map((step) => (
          <span key={step} class="heat" style={{ "--step": step }}>
            {usdc(-boundOf(step, worst.loss))}
          </span>
        ))}
      </p>
      <p class="note">Losses in USDC. The near future is drawn wider than the far one.</p>
    </figure>
  );
}
